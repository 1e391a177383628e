"""The critic's constants: from measures to probabilities, and from probabilities to what is named.

`critic.json` is written by `benchmarks/fit_critic.py`, on training claims that the encoder had not seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.resources import files
from typing import Any

from eirene.alignment.calibration import Logistic
from eirene.errors import EncoderError
from eirene.feedback_model import evidence


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
    """Logistic functions of the measures in `eirene.feedback_model.evidence`, and the operating point."""

    missing: Logistic
    unsupported: Logistic
    claimless: Logistic
    passage_missing: Logistic
    passage_unsupported: Logistic
    point: OperatingPoint


@lru_cache(maxsize=1)
def load_critic() -> Critic:
    """The shipped constants."""
    return parse_critic(json.loads(files("eirene.feedback_model").joinpath("critic.json").read_text("utf-8")))


def parse_critic(data: Mapping[str, Any]) -> Critic:
    """A critic from the content of its file; raises `EncoderError` where that does not fit this version."""
    point = data["operating_point"]
    names = [f.name for f in fields(OperatingPoint)]
    if sorted(point) != sorted(names):
        raise EncoderError(f"critic.json: the operating point must have {names}, got {sorted(point)}")
    return Critic(
        missing=_logistic(data, "missing", evidence.MISSING),
        unsupported=_logistic(data, "unsupported", evidence.UNSUPPORTED),
        claimless=_logistic(data, "claimless", evidence.CLAIMLESS),
        passage_missing=_logistic(data, "passage_missing", evidence.PASSAGE_MISSING),
        passage_unsupported=_logistic(data, "passage_unsupported", evidence.PASSAGE_UNSUPPORTED),
        point=OperatingPoint(**{name: float(point[name]) for name in names}),
    )


def _logistic(data: Mapping[str, Any], key: str, names: Sequence[str]) -> Logistic:
    entry = data[key]
    if tuple(entry["weights"]) != tuple(names):
        raise EncoderError(f"critic.json: {key!r} must have the weights {list(names)}; fit it again for this version")
    return Logistic(tuple(float(entry["weights"][name]) for name in names), float(entry["bias"]))
