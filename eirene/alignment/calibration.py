"""Calibration: from similarity features to probabilities, with constants fitted on training data.

`constants.json` is written by `benchmarks/fit_alignment.py` and names the encoder that it was fitted for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.alignment import features
from eirene.alignment.features import Blend
from eirene.core.errors import EncoderError
from eirene.core.signature import digest

SCORING = 4
"""Counted up whenever the same files give the same text other scores, if only in the last bit: in how vectors are
computed and summed, or in how sentences and arguments are compared. Belongs in the signature of what was
made with it, as `Constants.digest` does."""

_FILE = "constants.json"


@dataclass(frozen=True, slots=True)
class Logistic:
    """sigmoid(bias + weights . features) over the last axis."""

    weights: tuple[float, ...]
    bias: float

    def __call__(self, measures: NDArray[np.float32]) -> NDArray[np.float64]:
        """Probabilities in (0, 1), of the shape of `measures` without its last axis."""
        total = np.clip(measures.astype(np.float64) @ np.array(self.weights) + self.bias, -50.0, 50.0)
        return np.asarray(1.0 / (1.0 + np.exp(-total)), np.float64)

    @classmethod
    def read(cls, data: Mapping[str, Any], key: str, names: Sequence[str], *, file: str) -> Logistic:
        """The function that a constants file holds under `key`, for these features in this order.

        Raises `EncoderError` that names the `file` where there is none, or one for other features.
        """
        entry = data.get(key)
        weights = entry.get("weights") if isinstance(entry, Mapping) else None
        if entry is None or not isinstance(weights, Mapping) or tuple(weights) != tuple(names):
            raise EncoderError(f"{file}: {key!r} must have the weights {list(names)}; fit it again for this version")
        return cls(tuple(real(weights, name, file=file) for name in names), real(entry, "bias", file=file))


@dataclass(frozen=True, slots=True)
class Constants:
    """All that was fitted. `encoder` is the digest of the encoder it was fitted for; another one works less well.

    `digest` (8 hex digits) changes with anything in the file, and belongs in the signature of what was made with it.
    """

    digest: str
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
    return parse_constants(read_json("eirene.alignment", _FILE))


def parse_constants(data: Mapping[str, Any]) -> Constants:
    """Constants from the content of a constants file; raises `EncoderError` where it does not fit this version."""
    return Constants(
        encoder=str(data.get("encoder")),
        blend=Blend(words=real(data, "words", file=_FILE), temperature=real(data, "temperature", file=_FILE)),
        bearing=real(data, "bearing", file=_FILE),
        says=Logistic.read(data, "says", features.SAYS, file=_FILE),
        missing=Logistic.read(data, "missing", features.MISSING, file=_FILE),
        unsupported=Logistic.read(data, "unsupported", features.UNSUPPORTED, file=_FILE),
        claimless=Logistic.read(data, "claimless", features.CLAIMLESS, file=_FILE),
        digest=digest_of(data),
    )


def read_json(package: str, file: str) -> Any:
    """The object in a JSON file that ships in a package; raises `EncoderError` where the file is missing or damaged."""
    try:
        found = json.loads(files(package).joinpath(file).read_text("utf-8"), parse_constant=_no_number)
    except (OSError, ValueError) as error:
        raise EncoderError(f"{file}: cannot be read ({error}); reinstall eirene") from error
    if not isinstance(found, dict):
        raise EncoderError(f"{file}: must hold a JSON object; reinstall eirene")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def digest_of(data: Mapping[str, Any]) -> str:
    """8 hex digits that stand for the content of a constants file."""
    return digest(dict(data))[:8]


def real(data: Mapping[str, Any], key: str, *, file: str) -> float:
    """The number under `key`; raises `EncoderError` that names the `file` where there is none, NaN or infinity."""
    value = data.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise EncoderError(f"{file}: {key!r} must be a number, got {value!r}")
    return float(value)
