"""The encoder that ships, loaded once a process, whoever asks for it first."""

from __future__ import annotations

from eirene.core.memo import once
from eirene.models.encoder.runtime import Encoder, load_encoder


@once
def shipped_encoder() -> Encoder:
    """The shipped encoder. Threads that ask while it is being loaded wait for it."""
    return load_encoder()
