"""Comparison: the probability that one answer is better than another one, by a fit on what people made of answers.

P = sigmoid((weights + narrowness * weights of narrow changes) . differences) over the readings (`eirene.gate.readings`),
without an intercept: exchanging the two texts gives 1 - P, and a text beside itself 0.5. `passages.json` has the
weights, and the log-odds of pairs that the fit had not seen; from these the threshold of a wanted risk follows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import digest_of, read_json, real
from eirene.core.errors import EncoderError
from eirene.core.records import RewriteComparison
from eirene.gate.readings import PASSAGE_READINGS, PassageReadings

_FILE = "passages.json"
_LIMIT = 50.0


@dataclass(frozen=True, slots=True)
class GateCalibration:
    """What a threshold stands on: log-odds of rewrites by whether people held them for better or for worse.

    The promise holds for rewrites like these, good and bad ones as often as here. `name` says what they are.
    """

    name: str
    better: tuple[float, ...]
    worse: tuple[float, ...]

    def threshold_for(self, risk: float) -> float | None:
        """The lowest probability from which at most `risk` (0 to 1) of the accepted rewrites are worse; None where no
        threshold does it.

        Of n rewrites at or above it w are worse: (1 + w) / n <= risk. The one that is added makes it a bound for the
        next rewrite and not only for these (Barber and Candes 2015, "Controlling the false discovery rate via
        knockoffs", equation 1.9).
        """
        better, worse = np.sort(self.better), np.sort(self.worse)
        for at in sorted({0.0, *(z for z in (*self.better, *self.worse) if z > 0)}):
            wrong = len(worse) - np.searchsorted(worse, at)
            accepted = wrong + len(better) - np.searchsorted(better, at)
            if 1 + wrong <= risk * accepted:
                return probability(at)
        return None


@dataclass(frozen=True, slots=True)
class ComparisonFit:
    """The weights of the readings and what they add for narrow changes, [2, readings], how much of a difference counts,
    [readings], and what was calibrated on. `digest` (8 hex digits) changes with any of it.
    """

    digest: str
    weights: NDArray[np.float64]
    limits: NDArray[np.float64]
    calibration: GateCalibration

    def log_odds(self, differences: NDArray[np.float64], narrowness: float) -> float:
        """The log-odds that the second text is the better one, within +-50."""
        weights = self.weights[0] + narrowness * self.weights[1]
        return float(np.clip(weights @ np.clip(differences, -self.limits, self.limits), -_LIMIT, _LIMIT))


def better(before: str, after: str, readings: PassageReadings, fit: ComparisonFit | None = None) -> float:
    """P that `after` is a better answer than `before`, in (0, 1); 0.5 for the same text. `fit`: by default the shipped.

    Raises `ValueError` for texts that differ in more sentences than are read (`readings.MOST_SENTENCES`).
    """
    return probability((fit or shipped_fit()).log_odds(*readings.differences(before, after)))


def probability(log_odds: float) -> float:
    """The probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-log_odds))


@lru_cache(maxsize=1)
def shipped_fit() -> ComparisonFit:
    """The fit that ships."""
    return parse_fit(read_json("eirene.gate", _FILE))


def parse_fit(data: Mapping[str, Any]) -> ComparisonFit:
    """A fit from the content of its file; raises `EncoderError` where it does not fit this version."""
    parts = [data.get(key) for key in ("weights", "narrow", "limits")]
    if any(not isinstance(part, Mapping) or tuple(part) != PASSAGE_READINGS for part in parts):
        raise EncoderError(f"{_FILE}: 'weights', 'narrow' and 'limits' must have {list(PASSAGE_READINGS)}; fit it anew")
    numbers = np.array([[real(part, name, file=_FILE) for name in PASSAGE_READINGS] for part in parts if part])
    return ComparisonFit(digest_of(data), numbers[:2], numbers[2], calibration_of(data["calibration"]))


def calibration_of(data: Mapping[str, Any]) -> GateCalibration:
    """A calibration from its JSON form."""
    return GateCalibration(str(data["name"]), _numbers(data["better"]), _numbers(data["worse"]))


def _numbers(values: Sequence[float]) -> tuple[float, ...]:
    return tuple(map(float, values))


def as_recorded(log_odds: float, calibration: GateCalibration, risk: float) -> RewriteComparison:
    """What a record says of a comparison: P, the threshold of the risk, and what it stands on."""
    at = calibration.threshold_for(risk)
    return RewriteComparison(better=probability(log_odds), threshold=at, risk=risk, calibration=calibration.name)
