"""Krippendorff's alpha: how far raters agree beyond chance, whatever their number and with ratings missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from eirene.core.errors import InputError
from eirene.core.scores import Unscored
from eirene.eval.statistics.bootstrap import Array

Level = Literal["nominal", "ordinal", "interval", "ratio"]
Rating = float | str | bool | None


def krippendorff_alpha(ratings: Sequence[Sequence[Rating]], *, level: Level = "nominal") -> float | Unscored:
    """Alpha of `ratings` (raters, units), None where a rater gave none: 1 is perfect agreement, 0 is chance.

    1 - observed / expected disagreement over the coincidence matrix (Krippendorff 2011, "Computing Krippendorff's
    Alpha-Reliability"). Units with fewer than two ratings say nothing and are left out. Unscored where no unit has
    two, or where all ratings are the same value: agreement beyond chance is then undefined. Levels above nominal need
    numbers.
    """
    if len({len(row) for row in ratings}) > 1:
        raise InputError("every rater needs an entry for each unit (None where there is no rating)", field="ratings")
    units = [[r for r in column if r is not None] for column in zip(*ratings, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    if not units:
        return Unscored(unscored="no unit has two ratings")
    values = _values(units, level)
    if len(values) < 2:
        return Unscored(unscored="all ratings are the same value")
    at = {value: i for i, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in units:
        counts = np.bincount([at[r] for r in unit], minlength=len(values)).astype(np.float64)
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=0)
    n = totals.sum()
    distance = _distances(values, totals, level)
    observed = (coincidences * distance).sum() / n
    expected = (np.outer(totals, totals) * distance).sum() / (n * (n - 1))
    return float(1 - observed / expected)


def _values(units: Sequence[Sequence[float | str | bool]], level: Level) -> list[float | str | bool]:
    found = {r for unit in units for r in unit}
    if level == "nominal":
        return sorted(found, key=lambda v: (str(type(v)), str(v)))
    texts = sorted(v for v in found if isinstance(v, str))
    if texts:
        raise InputError(f"level {level!r} needs numbers, got the text {texts[0]!r}", field="ratings")
    return sorted(found)


def _distances(values: Sequence[float | str | bool], totals: Array, level: Level) -> Array:
    """The squared difference of each two values at a level of measurement."""
    if level == "nominal":
        different: Array = 1.0 - np.eye(len(values))
        return different
    if level == "ordinal":
        # The squared number of ratings from one value to the other, half of both ends.
        upto = totals.cumsum() - totals / 2
        ordinal: Array = (upto[:, None] - upto[None, :]) ** 2
        return ordinal
    numbers = np.array([float(v) for v in values])
    difference = (numbers[:, None] - numbers[None, :]) ** 2
    if level == "interval":
        squared: Array = difference
        return squared
    total = numbers[:, None] + numbers[None, :]
    relative: Array = np.divide(difference, total**2, out=np.zeros_like(difference), where=total != 0)
    return relative
