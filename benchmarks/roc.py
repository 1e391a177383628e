"""ROC AUC, its interval by drawing whole groups, the interval of a difference, and recall at fixed false alarms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Error scores (higher is worse), whether the error is there, and the group (claim) of each row."""

    score: Floats
    error: NDArray[np.bool_]
    group: NDArray[np.int64]


def rows_of(values: list[tuple[float, bool, int]]) -> Rows:
    """Rows from (score, error, group)."""
    score, error, group = zip(*values, strict=True)
    return Rows(np.array(score, np.float64), np.array(error, np.bool_), np.array(group, np.int64))


def auc(score: Floats, error: NDArray[np.bool_], weight: Floats) -> float:
    """Chance that a row with the error scores above one without, ties one half; `weight` repeats rows."""
    order = np.argsort(score, kind="stable")
    _, starts = np.unique(score[order], return_index=True)
    good = np.add.reduceat(np.where(error, 0.0, weight)[order], starts)
    bad = np.add.reduceat(np.where(error, weight, 0.0)[order], starts)
    return float((bad * (np.cumsum(good) - good / 2)).sum() / (bad.sum() * good.sum()))


def plain_auc(rows: Rows) -> float:
    """The AUC of the rows as they are."""
    return auc(rows.score, rows.error, np.ones(len(rows.score)))


def interval(rows: Rows, *, minus: Rows | None = None, draws: int = 1000, seed: int = 0) -> tuple[float, float]:
    """95 % interval of the AUC, or of its gain over `minus` (the same rows scored otherwise), by drawing groups."""
    rng = np.random.default_rng(seed)
    _, codes = np.unique(rows.group, return_inverse=True)
    n = int(codes.max()) + 1
    found = []
    while len(found) < draws:
        weight = rng.multinomial(n, np.full(n, 1.0 / n))[codes].astype(np.float64)
        if weight[rows.error].any() and weight[~rows.error].any():
            value = auc(rows.score, rows.error, weight)
            found.append(value - auc(minus.score, minus.error, weight) if minus is not None else value)
    low, high = np.quantile(found, [0.025, 0.975])
    return float(low), float(high)


def recall_at(rows: Rows, false_alarms: float) -> float:
    """Share of the errors that score above a threshold which at most `false_alarms` of the other rows exceed."""
    threshold = np.quantile(rows.score[~rows.error], 1.0 - false_alarms, method="higher")
    return float((rows.score[rows.error] > threshold).mean())
