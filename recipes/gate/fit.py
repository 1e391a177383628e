"""Fit of the comparison: a logistic regression on the readings' differences, without an intercept, each weight's sign
given.

Without an intercept, exchanging the texts gives 1 - P. A sign that is given keeps a weight from making up for another
one: no contradiction counts for a text.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from eirene.gate.readings import PASSAGE_READINGS

AGAINST = frozenset({"contradiction", "values not given", "said again", "alike sentences", "length"})
"""Readings of which more is worse."""
STRENGTH = 0.5
"""How far weights may go: the inverse of the ridge penalty, over standardised readings."""
FOLDS = 5
MOST = 3.0

Array = NDArray[np.float64]


def signs(names: Sequence[str] = PASSAGE_READINGS) -> Array:
    """1 for a reading of which more is better, -1 for the others; for all changes and for narrow ones."""
    return np.array([-1.0 if name in AGAINST else 1.0 for name in names] * 2)


def limits_of(differences: Array) -> Array:
    """How much of each difference counts: three times its root mean square. One long list of names is no proof."""
    return np.asarray(MOST * np.sqrt((differences**2).mean(axis=0)) + 1e-9)


def rows_of(differences: Array, narrowness: Array, limits: Array) -> Array:
    """What the regression reads: the differences within their limits, and the same times the narrowness."""
    own = np.clip(differences, -limits, limits)
    return np.hstack([own, own * narrowness[:, None]])


def fitted(differences: Array, weights: Array, sign: Array) -> Array:
    """The weights of differences of which each is for the better text, [readings]."""
    scale = np.sqrt((differences**2).mean(axis=0)) + 1e-9
    rows = differences / scale * sign

    def loss(free: Array) -> tuple[float, Array]:
        z = rows @ free
        wrong = weights / (1.0 + np.exp(z))
        penalty = free @ free / (2 * STRENGTH)
        return float(weights @ np.logaddexp(0.0, -z) + penalty), -(rows.T @ wrong) + free / STRENGTH

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", bounds=[(0, None)] * rows.shape[1])
    return np.asarray(found.x * sign / scale)


def held_out(differences: Array, weights: Array, sign: Array, parts: Sequence[int]) -> Array:
    """The log-odds of each row by weights that were fitted without its part."""
    part, found = np.array(parts), np.zeros(len(differences))
    for n in range(FOLDS):
        own = part == n
        found[own] = differences[own] @ fitted(differences[~own], weights[~own], sign)
    return found
