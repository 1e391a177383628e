"""Agreement of people who judged the same things: Cohen's kappa and Krippendorff's alpha, beyond what chance gives.

1: they agree on everything; 0: as chance would have it; below 0: less than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.eval.metrics.bootstrap import Array, Estimate, Resamples

Ratings = Sequence[Sequence[str | None]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """`n` things that two people or more judged, and both coefficients; the interval of `alpha` is over things."""

    n: int
    kappa: Estimate
    alpha: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; a coefficient that is not defined is unscored, with the reason."""
        return {"n": self.n, "kappa": self.kappa.to_json(), "alpha": self.alpha.to_json()}


def agreement(ratings: Ratings, *, draws: int = 2000, seed: int = 0) -> Agreement:
    """Agreement on a nominal scale: `ratings[i][r]` is what person r said of thing i, None where that is not known.

    `alpha` leaves out no thing that two people judged (Hayes and Krippendorff 2007). `kappa` is Cohen's (1960); of
    more than two people, the mean over the pairs of them (Light 1971). Where all say one and the same word, neither
    is defined. Raises `InputError` where things have different numbers of people; needs the extra `calibrate`.
    """
    if len({len(row) for row in ratings}) > 1:
        raise InputError("every thing needs an entry for every person (None: not judged)", field="ratings")
    judged = [row for row in ratings if sum(said is not None for said in row) > 1]
    words = sorted({said for row in judged for said in row if said is not None})
    if len(words) < 2:
        why = f"all {len(judged)} say {words[0]!r}" if words else "nothing was judged by two people"
        return Agreement(len(judged), *(Estimate(None, n=len(judged), unscored=why) for _ in range(2)))
    counts = np.array([[row.count(word) for word in words] for row in map(list, judged)])
    alpha = Resamples(draws=draws, seed=seed).estimate(
        len(judged), lambda weights: np.array([_alpha(counts.repeat(w, axis=0)) for w in weights.astype(int)])
    )[0]
    return Agreement(len(judged), _kappa(judged), alpha)


def _alpha(counts: Array) -> float:
    """Krippendorff's alpha of how often each thing (row) got each word (column); NaN where one word is all."""
    with importing("krippendorff"):
        from krippendorff import alpha

    said_of = counts.any(axis=0)
    return float(alpha(value_counts=counts, level_of_measurement="nominal")) if said_of.sum() > 1 else np.nan


def _kappa(judged: Ratings) -> Estimate:
    """The mean of Cohen's kappa over the pairs of people for whom it is defined."""
    with importing("sklearn"):
        from sklearn.metrics import cohen_kappa_score

    found = []
    for a, b in combinations(zip(*judged, strict=True), 2):
        both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
        if len({word for pair in both for word in pair}) > 1:
            found.append(float(cohen_kappa_score(*zip(*both, strict=True))))
    if not found:
        return Estimate(None, n=len(judged), unscored="no two people used two words")
    return Estimate(float(np.mean(found)), n=len(judged))
