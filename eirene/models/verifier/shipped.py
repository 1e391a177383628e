"""The verifier that ships, on the shipped encoder, loaded once a process."""

from __future__ import annotations

from eirene.core.memo import once
from eirene.models.encoder.shipped import shipped_encoder
from eirene.models.verifier.runtime import Verifier, load_verifier


@once
def shipped_verifier() -> Verifier:
    """The shipped verifier. Threads that ask while it is being loaded wait for it."""
    return load_verifier(shipped_encoder())
