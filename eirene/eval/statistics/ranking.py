"""Ranking metrics as functions of row weights, so that `bootstrap` can resample them: ROC AUC, AP, F1, Spearman.

Each takes data once and returns a `Metric`. Rows are what is resampled (answers); the scored things in them (sentences)
come with the number of their row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eirene.eval.statistics.bootstrap import Array, Metric, ratio

_GATHERED = 64
"""Entries of a table that are multiplied in the time in which one thing's weight is looked up, about."""
Ints = np.ndarray[Any, np.dtype[np.int64]]


def auc_and_ap(rows: int, row_of: Sequence[int], scores: Sequence[float], labels: Sequence[bool]) -> Metric:
    """(weights) -> (resamples, 2): ROC AUC with ties at one half, and average precision as scikit-learn defines it.

    Thing i stands in row `row_of[i]` and is as heavy as its row. NaN where one of the classes is absent.
    """
    counted = _by_score(rows, np.asarray(row_of, dtype=np.int64), -np.asarray(scores), np.asarray(labels, dtype=bool))

    def metric(weights: Array) -> Array:
        hits, misses = counted(weights)
        found = hits.cumsum(axis=1)
        all_hits, all_misses = hits.sum(axis=1), misses.sum(axis=1)
        area = (misses * (found - hits / 2)).sum(axis=1)
        both = np.where(all_misses > 0, all_hits, 0.0)
        precision = np.nan_to_num(ratio(found, found + misses.cumsum(axis=1)))
        gained = (hits * precision).sum(axis=1)
        return np.stack([ratio(area, all_misses * all_hits), ratio(gained, both)], axis=1)

    return metric


def _by_score(
    rows: int, row_of: Ints, falling: Array, flags: np.ndarray[Any, np.dtype[np.bool_]]
) -> Callable[[Array], tuple[Array, Array]]:
    """(weights) -> positives and negatives at each different score, (resamples, scores) each, highest score first.

    By a table of rows and scores, or, where that is the larger work, by the weights of the things in their order.
    """
    levels, group = np.unique(falling, return_inverse=True)
    if _GATHERED * len(flags) < rows * len(levels):
        order = np.argsort(group, kind="stable")
        starts = np.searchsorted(group[order], np.arange(len(levels)))

        def gathered(weights: Array) -> tuple[Array, Array]:
            things = weights[:, row_of[order]]
            hits = np.add.reduceat(things * flags[order], starts, axis=1)
            return hits, np.add.reduceat(things, starts, axis=1) - hits

        return gathered
    positive, negative = (np.zeros((rows, len(levels))) for _ in range(2))
    np.add.at(positive, (row_of[flags], group[flags]), 1.0)
    np.add.at(negative, (row_of[~flags], group[~flags]), 1.0)
    return lambda weights: (weights @ positive, weights @ negative)


def f1_precision_recall(counts: Array) -> Metric:
    """(weights) -> (resamples, 3): F1, precision, recall from each row's true positives, false positives, misses.

    F1 is NaN where there is neither a positive nor a prediction of one.
    """

    def metric(weights: Array) -> Array:
        hit, wrong, missed = (weights @ counts).T
        return np.stack(
            [ratio(2 * hit, 2 * hit + wrong + missed), ratio(hit, hit + wrong), ratio(hit, hit + missed)], 1
        )

    return metric


def spearman(x: Array, y: Array, given: Array | None = None) -> Metric:
    """(weights) -> (resamples, 1): rank correlation with mean ranks for ties; with `given`, the partial one.

    The ranks are those within the resample. NaN where one of the variables does not vary.
    """
    rank_x, rank_y = _ranks(x), _ranks(y)
    rank_z = None if given is None else _ranks(given)

    def metric(weights: Array) -> Array:
        a, b = rank_x(weights), rank_y(weights)
        r = _correlation(a, b, weights)
        if rank_z is not None:
            c = rank_z(weights)
            ac, bc = _correlation(a, c, weights), _correlation(b, c, weights)
            # Where `given` does not vary there is nothing to take out.
            ac, bc = (np.where(np.isnan(v), 0.0, v) for v in (ac, bc))
            r = ratio(r - ac * bc, np.sqrt(np.maximum((1 - ac**2) * (1 - bc**2), 0.0)))
        return r[:, None]

    return metric


def _ranks(values: Array) -> Metric:
    """(weights) -> (resamples, rows): the mean rank of each row's value among all that were drawn."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    first = np.searchsorted(ordered, values, side="left")
    after = np.searchsorted(ordered, values, side="right")

    def metric(weights: Array) -> Array:
        up_to = np.zeros((len(weights), len(values) + 1))
        np.cumsum(weights[:, order], axis=1, out=up_to[:, 1:])
        return (up_to[:, first] + up_to[:, after] + 1.0) / 2.0

    return metric


def _correlation(a: Array, b: Array, weights: Array) -> Array:
    total = weights.sum(axis=1, keepdims=True)
    da = a - (weights * a).sum(axis=1, keepdims=True) / total
    db = b - (weights * b).sum(axis=1, keepdims=True) / total
    spread = np.sqrt((weights * da**2).sum(axis=1) * (weights * db**2).sum(axis=1))
    # Ranks are multiples of one half: a spread this small is rounding.
    return ratio((weights * da * db).sum(axis=1), np.where(spread < 1e-9, 0.0, spread))
