"""Calibration of the embedded critic: logistic functions from measures to probabilities, and the thresholds.

`critic.json` is written by `benchmarks/fit_critic.py`, on training claims that the encoder had not seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

from eirene.alignment.align import Logistic, digest_of, read_json, real
from eirene.core.errors import EncoderError
from eirene.feedback_model.embedded import evidence

_FILE = "critic.json"


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """From which calibrated probability each kind of fault is named, and how much single critiques differ.

    A threshold t says that naming a fault wrongly costs t / (1 - t) times as much as passing over one. `restated` is
    the one for arguments that only a part says which is to go; those that begin with `passage` hold against passages.

    `temperature` scales the noise of a draw in log odds (0: all draws are one); `coherence` in [0, 1] is the share of
    the noise that all sentences of a draw have in common: strict and lenient readers.
    """

    missing: float
    restated: float
    unsupported: float
    repeated: float
    misplaced: float
    passage_missing: float
    passage_unsupported: float
    temperature: float
    coherence: float


@dataclass(frozen=True, slots=True)
class Critic:
    """Logistic functions of the measures in `eirene.feedback_model.embedded.evidence`, and the operating point.

    `digest` (8 hex digits) changes with anything in the file, and belongs in the signature of what was made with it.
    """

    digest: str
    missing: Logistic
    unsupported: Logistic
    claimless: Logistic
    passage_missing: Logistic
    passage_unsupported: Logistic
    point: OperatingPoint


@lru_cache(maxsize=1)
def load_critic() -> Critic:
    """The shipped constants."""
    return parse_critic(read_json("eirene.feedback_model.embedded", _FILE))


def parse_critic(data: Mapping[str, Any]) -> Critic:
    """A critic from the content of its file; raises `EncoderError` where that does not fit this version."""
    point = data.get("operating_point")
    names = [f.name for f in fields(OperatingPoint)]
    if not isinstance(point, Mapping) or sorted(point) != sorted(names):
        raise EncoderError(f"{_FILE}: the operating point must have {names}, got {point!r}")
    return Critic(
        missing=Logistic.read(data, "missing", evidence.MISSING, file=_FILE),
        unsupported=Logistic.read(data, "unsupported", evidence.UNSUPPORTED, file=_FILE),
        claimless=Logistic.read(data, "claimless", evidence.CLAIMLESS, file=_FILE),
        passage_missing=Logistic.read(data, "passage_missing", evidence.PASSAGE_MISSING, file=_FILE),
        passage_unsupported=Logistic.read(data, "passage_unsupported", evidence.PASSAGE_UNSUPPORTED, file=_FILE),
        point=OperatingPoint(**{name: real(point, name, file=_FILE) for name in names}),
        digest=digest_of(data),
    )
