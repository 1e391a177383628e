"""Comparison: the probability that one answer is better than another one, by a fit on what people made of answers.

P = sigmoid((weights + narrowness * weights of narrow changes) . differences) over the readings
(`eirene.gate.readings`), without an intercept: exchanging the two texts gives 1 - P, and a text beside itself 0.5.
`passages.json` has the weights, and the log-odds of pairs that the fit had not seen; from these the threshold of a
wanted risk follows (`eirene.gate.calibration`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import digest_of, read_json, real
from eirene.core.errors import EncoderError, InputError
from eirene.core.scores import probability
from eirene.core.validation import validated
from eirene.gate.calibration import GateCalibration, JudgedRewrite
from eirene.gate.readings import PASSAGE_READINGS, PassageReadings

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

_FILE = "passages.json"
_LIMIT = 50.0


@dataclass(frozen=True, slots=True)
class ComparisonFit:
    """The weights of the readings and what they add for narrow changes, [2, readings], how much of a difference counts,
    [readings], and what was calibrated on. `digest` (8 hex digits) changes with all but the calibration.
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
    digest = digest_of({key: data[key] for key in ("weights", "narrow", "limits")})
    return ComparisonFit(digest, numbers[:2], numbers[2], GateCalibration(fit=digest, **data["calibration"]))


def calibrate_gate(
    rows: Iterable[tuple[str, JudgedRewrite]],
    verifier: ReadsPairs,
    *,
    name: str,
    on_row: Callable[[JudgedRewrite], object] = lambda _: None,
) -> GateCalibration:
    """The calibration of rewrites that a person judged, each with its place.

    Raises `InputError` for one that differs from the answer in more sentences than are read.
    """
    fit, odds = shipped_fit(), dict[bool, list[float]]({True: [], False: []})
    for where, row in rows:
        readings = PassageReadings(row.question, row.context, verifier)
        try:
            found = fit.log_odds(*readings.differences(row.before, row.after))
        except ValueError as error:
            raise InputError(str(error), where=where) from None
        odds[row.better].append(round(found, 3))
        on_row(row)
    counted = f"{name} ({len(odds[True])} better, {len(odds[False])} worse)"
    return GateCalibration(fit=fit.digest, name=counted, better=tuple(odds[True]), worse=tuple(odds[False]))


def parse_gate_calibration(value: Mapping[str, Any], *, where: str) -> GateCalibration:
    """A calibration from the content of a file of `eirene calibrate gate`.

    Raises `InputError` for a damaged one, and for one that was made with another fit than the one that ships.
    """
    found = validated(GateCalibration, value, where=where)
    if found.fit != shipped_fit().digest:
        raise InputError("was made with another fit of the gate; run `eirene calibrate gate` anew", where=where)
    return found
