"""Calibration of the gate: the threshold that keeps a risk, from rewrites that people hold for better or worse."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from eirene.core.errors import InputError
from eirene.core.records import PASSAGES, RewriteComparison
from eirene.core.validation import FrozenModel, validated
from eirene.text.unicode import Text

FORMAT = "eirene gate calibration"
Numbers = tuple[Annotated[float, Field(allow_inf_nan=False)], ...]


class GateCalibration(FrozenModel):
    """Log-odds, by the fit of a digest, of rewrites that people hold for better or for worse.

    The promise of a threshold holds for rewrites like these, good and bad ones as often as here. `name` says what they
    are.
    """

    format: Literal["eirene gate calibration"] = "eirene gate calibration"
    fit: str
    name: str
    better: Numbers
    worse: Numbers

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

    def recorded(self, log_odds: float, risk: float) -> RewriteComparison:
        """What a record says of a comparison: P, the threshold of the risk, and what it stands on."""
        at = self.threshold_for(risk)
        return RewriteComparison(better=probability(log_odds), threshold=at, risk=risk, calibration=self.name)

    def accepted(self, probability_from: float) -> tuple[int, int]:
        """How many of the better and of the worse ones are accepted from a probability on."""
        found = [sum(probability(z) >= probability_from for z in part) for part in (self.better, self.worse)]
        return found[0], found[1]


class JudgedRewrite(FrozenModel):
    """A rewrite with passages, and whether a person holds it for better than the answer before."""

    question: Text
    context: Annotated[Annotated[tuple[Text, ...], Field(min_length=1)], PASSAGES]
    before: Text
    after: Text
    better: Annotated[bool, Field(strict=True)]


def judged_rewrites(rows: Iterable[tuple[str, Any]]) -> Iterator[JudgedRewrite]:
    """Rows, each with its place, without other fields; raises `InputError` that names the place and the field."""
    names = set(JudgedRewrite.model_fields)
    for where, row in rows:
        if not isinstance(row, dict):
            raise InputError("a row must be an object with question, context, before, after and better", where=where)
        yield validated(JudgedRewrite, {key: value for key, value in row.items() if key in names}, where=where)


def calibrated(odds: Iterable[tuple[bool, float]], *, fit: str, name: str) -> GateCalibration:
    """The calibration of rewrites of which a person said whether they are better, with their log-odds."""
    found = [(is_better, round(z, 3)) for is_better, z in odds]
    better, worse = (tuple(z for is_better, z in found if is_better is kind) for kind in (True, False))
    return GateCalibration(
        fit=fit, name=f"{name} ({len(better)} better, {len(worse)} worse)", better=better, worse=worse
    )


def probability(log_odds: float) -> float:
    """The probability of log-odds."""
    return 1.0 / (1.0 + math.exp(-log_odds))
