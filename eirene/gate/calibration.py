"""Calibration of the gate: the threshold that keeps a risk, from rewrites that people hold for better or worse."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from eirene.core.records import PASSAGES, RewriteComparison
from eirene.core.scores import probability
from eirene.core.signature import digest
from eirene.core.validation import FrozenModel
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
        at = np.unique(np.maximum([0.0, *better, *worse], 0.0))
        wrong = len(worse) - np.searchsorted(worse, at)
        accepted = wrong + len(better) - np.searchsorted(better, at)
        kept = np.flatnonzero(1 + wrong <= risk * accepted)
        return probability(float(at[kept[0]])) if len(kept) else None

    @cached_property
    def digest(self) -> str:
        """8 hex digits that change with the fit, and with what thresholds stand on."""
        return digest(self.model_dump(mode="json"))[:8]

    def recorded(self, log_odds: float, risk: float) -> RewriteComparison:
        """What a record says of a comparison: P, the threshold of the risk, and what it stands on."""
        at = self.threshold_for(risk)
        return RewriteComparison(better=probability(log_odds), threshold=at, risk=risk, calibration=self.name)


class JudgedRewrite(FrozenModel):
    """A rewrite with passages, and whether a person holds it for better; other fields of a row are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    question: Text
    context: Annotated[Annotated[tuple[Text, ...], Field(min_length=1)], PASSAGES]
    before: Text
    after: Text
    better: Annotated[bool, Field(strict=True)]
