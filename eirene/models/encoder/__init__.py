"""The sentence encoder that ships with Eirene.

What belongs here: texts to vectors. What does not: what the vectors are compared with, and what follows from it.
Running needs onnxruntime and tokenizers alone; both are imported at the first `load_encoder`, not before.
"""

from eirene.models.encoder.runtime import Encoder, load_encoder

__all__ = ["Encoder", "load_encoder"]
