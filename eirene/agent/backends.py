"""Turns a backend's name into the models of a run."""

from __future__ import annotations

import functools

from eirene.agent.state import Parts
from eirene.errors import InputError


def resolve_backend(name: str) -> Parts:
    """The parts behind `name`. Today that is `embedded`, which needs no key, no hub and no GPU.

    Other models enter as `Parts`, whose feedback model, refiner and detectors are anything that has the right method.
    Raises `InputError` for a name that stands for nothing.
    """
    if name == "embedded":
        return _embedded()
    raise InputError(
        f"unknown backend {name!r}; known: 'embedded' (from Python, an `eirene.Parts` with models of your own)",
        field="backend",
    )


@functools.cache
def _embedded() -> Parts:
    """Loaded once a process: the encoder's session is safe to share between runs and threads."""
    from eirene.encoder import load_encoder
    from eirene.eval.alignment import AlignmentDetector
    from eirene.eval.rouge import RougeDetector
    from eirene.feedback_model.embedded import EmbeddedFeedback
    from eirene.refiners.embedded import EmbeddedRefiner

    encoder = load_encoder()
    return Parts(
        backend="embedded",
        feedback_model=EmbeddedFeedback(encoder),
        refiner=EmbeddedRefiner(encoder),
        detectors=(RougeDetector(), AlignmentDetector(encoder)),
        version=encoder.digest,
    )
