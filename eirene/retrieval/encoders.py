"""The encoder of a corpus: the shipped one, or a sentence-transformers model by name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.errors import EncoderError, MissingExtraError

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

SHIPPED = "embedded"


def encoder_named(name: str = SHIPPED) -> Encodes:
    """The encoder behind a name: `embedded`, or what `sentence_transformers.SentenceTransformer` takes.

    Raises `MissingExtraError` without that package, `EncoderError` for a model that it cannot load.
    """
    if name == SHIPPED:
        from eirene.encoder import load_encoder

        return load_encoder()
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise MissingExtraError("retrieval", "sentence-transformers") from None
    try:
        return _SentenceEncoder(name, SentenceTransformer(name, device="cpu"))
    except Exception as error:  # the library raises whatever its loaders and the hub raise
        raise EncoderError(f"the encoder {name!r} cannot be loaded: {error}") from error


class _SentenceEncoder:
    def __init__(self, name: str, model: Any) -> None:
        self._model = model
        # Two models of one name differ in their weights: the vector of a fixed text tells them apart.
        probe = np.round(self.encode(["What tells two encoders apart?"]), 3).tobytes()
        self._digest = hashlib.sha256(name.encode() + probe).hexdigest()[:12]

    @property
    def digest(self) -> str:
        return self._digest

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, np.float32)
