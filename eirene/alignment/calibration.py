"""From measures to probabilities, with constants frozen on training data.

`constants.json` is written by `benchmarks/fit_alignment.py` and names the encoder that it was fitted for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from eirene.alignment import features
from eirene.alignment.features import Blend
from eirene.errors import EncoderError


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + weights . features) over the last axis."""

    weights: tuple[float, ...]
    bias: float

    def __call__(self, measures: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities in (0, 1), of the shape of `measures` without its last axis."""
        total = np.clip(measures.astype(np.float64) @ np.array(self.weights) + self.bias, -50.0, 50.0)
        return np.asarray(1.0 / (1.0 + np.exp(-total)), np.float64)


@dataclass(frozen=True, slots=True)
class Constants:
    """All that was fitted. `encoder` is the digest of the encoder it was fitted for; another one works less well."""

    encoder: str
    blend: Blend
    bearing: float
    says: Logistic
    missing: Logistic
    unsupported: Logistic
    claimless: Logistic


@lru_cache(maxsize=1)
def load_constants() -> Constants:
    """The shipped constants."""
    return parse_constants(json.loads(files("eirene.alignment").joinpath("constants.json").read_text("utf-8")))


def parse_constants(data: Mapping[str, object]) -> Constants:
    """Constants from the content of a constants file; raises `EncoderError` where it does not fit this version."""
    return Constants(
        encoder=str(data["encoder"]),
        blend=Blend(words=_real(data, "words"), temperature=_real(data, "temperature")),
        bearing=_real(data, "bearing"),
        says=_logistic(data, "says", features.SAYS),
        missing=_logistic(data, "missing", features.MISSING),
        unsupported=_logistic(data, "unsupported", features.UNSUPPORTED),
        claimless=_logistic(data, "claimless", features.CLAIMLESS),
    )


def _logistic(data: Mapping[str, object], key: str, names: Sequence[str]) -> Logistic:
    entry = data.get(key)
    if not isinstance(entry, dict) or tuple(entry["weights"]) != tuple(names):
        raise EncoderError(f"constants: {key!r} must have the weights {list(names)}; fit them again for this version")
    return Logistic(tuple(float(entry["weights"][name]) for name in names), float(entry["bias"]))


def _real(data: Mapping[str, object], key: str) -> float:
    value = data.get(key)
    if not isinstance(value, int | float):
        raise EncoderError(f"constants: {key!r} must be a number, got {value!r}")
    return float(value)
