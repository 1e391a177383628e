"""Ranking metrics: ROC AUC, average precision, F1, Spearman; curves, thresholds, intervals by cluster bootstrap.

A score is higher where an error is likelier; labels are True for an error. A metric of row weights takes data once and
returns a `Metric`. Rows are what is resampled (answers); the scored things in them come with the number of their row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eirene.core.errors import InputError
from eirene.eval.metrics.bootstrap import (
    Array,
    Estimate,
    Ints,
    Metric,
    Resamples,
    cluster_sums,
    f1_precision_recall,
    interval,
    ratio,
)

_GATHERED = 64
"""Entries of a table that are multiplied in the time in which one thing's weight is looked up, about."""


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


Flags = np.ndarray[Any, np.dtype[np.bool_]]

LEVELS = 4096
"""Different scores up to which an interval uses every one; more are put together by rank into this many."""
_CELLS = 2_000_000  # numbers of a resampled table at once: 16 MB


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """What can be reached by calling everything from a score on an error, from the highest score to the lowest.

    `threshold` [k], falling; of the things with at least that score, `hits` [k] are errors and `alarms` [k] are not.
    """

    threshold: Array
    hits: Array
    alarms: Array

    @property
    def fpr(self) -> Array:
        """False positive rates, from 0 (nothing is called an error) to 1: [k + 1]."""
        found: Array = np.concatenate([[0.0], self.alarms]) / self.alarms[-1]
        return found

    @property
    def tpr(self) -> Array:
        """True positive rates beside `fpr`: [k + 1]."""
        found: Array = np.concatenate([[0.0], self.hits]) / self.hits[-1]
        return found

    @property
    def precision(self) -> Array:
        """The share of what is called an error that is one: [k]."""
        found: Array = self.hits / (self.hits + self.alarms)
        return found

    @property
    def recall(self) -> Array:
        """The share of the errors that is called one: [k]."""
        found: Array = self.hits / self.hits[-1]
        return found

    @property
    def f1(self) -> Array:
        """The harmonic mean of precision and recall: [k]."""
        found: Array = 2 * self.hits / (self.hits + self.alarms + self.hits[-1])
        return found


def curve(labels: Sequence[bool] | Flags, scores: Sequence[float] | Array) -> Curve:
    """The curve of scored things. Raises `InputError` where both classes are not there, or for a score that is NaN."""
    flags, values = checked(labels, scores)
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    last = np.flatnonzero(np.append(falling[1:] != falling[:-1], True))
    hits = flags[order].cumsum()[last].astype(np.float64)
    return Curve(falling[last], hits, last + 1.0 - hits)


def checked(labels: Sequence[bool] | Flags, scores: Sequence[float] | Array) -> tuple[Flags, Array]:
    """Labels and scores as arrays; raises `InputError` for what no curve can be drawn of."""
    flags, values = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    if flags.shape != values.shape or flags.ndim != 1:
        raise InputError(f"labels and scores must be of one length, got {flags.shape} and {values.shape}")
    if np.isnan(values).any():
        raise InputError("a score is NaN; leave out what is not scored", field="scores")
    if not flags.any() or flags.all():
        raise InputError(f"needs errors and others, got {int(flags.sum())} errors of {len(flags)}", field="labels")
    return flags, values


def roc_auc(labels: Sequence[bool] | Flags, scores: Sequence[float] | Array) -> float:
    """The area under the ROC curve: how often an error scores higher than another thing, ties at one half."""
    found = curve(labels, scores)
    fpr, tpr = found.fpr, found.tpr
    return float(((fpr[1:] - fpr[:-1]) * (tpr[1:] + tpr[:-1]) / 2).sum())


def average_precision(labels: Sequence[bool] | Flags, scores: Sequence[float] | Array) -> float:
    """The mean precision over the errors, each at its own score: the area under the steps, as scikit-learn has it."""
    found = curve(labels, scores)
    return float((np.diff(found.recall, prepend=0.0) * found.precision).sum())


def best_threshold(labels: Sequence[bool] | Flags, scores: Sequence[float] | Array) -> float:
    """The score from which on to call a thing an error for the highest F1; the highest such score where several do.

    It lies halfway to the next lower score, so that other data need not meet a score exactly.
    """
    found = curve(labels, scores)
    at = int(np.argmax(found.f1))
    reached = float(found.threshold[at])
    below = float(found.threshold[at + 1]) if at + 1 < len(found.threshold) else reached
    middle = (reached + below) / 2
    return middle if middle > below else reached  # two neighbouring numbers have no middle


@dataclass(frozen=True, slots=True, eq=False)
class RankingEstimates:
    """How well scores rank errors first: both figures with intervals by bootstrap over clusters.

    `auc_draws` [draws] is the area in each resample, NaN where a resample has one class only; empty where unscored.
    """

    auc: Estimate
    ap: Estimate
    auc_draws: Array


Clusters = tuple[int, Ints]
"""How many clusters there are, and the number of each thing's own (see `clusters_of`)."""


def ranked(
    labels: Sequence[bool] | Flags, scores: Sequence[float] | Array, clusters: Clusters, resamples: Resamples
) -> RankingEstimates:
    """ROC AUC and average precision of scored things. One class alone leaves them unscored, with the reason.

    What belongs to one cluster (a claim, a question) is drawn together; scores of the same things with the same
    clusters see the same draws. The figures are exact; with more than `LEVELS` different scores the intervals are
    those of the ranks rounded to so many.
    """
    flags, values = np.asarray(labels, dtype=bool), np.asarray(scores, dtype=np.float64)
    n, errors = len(flags), int(flags.sum())
    if not 0 < errors < n:
        why = f"needs errors and others, got {errors} errors of {n}"
        nothing = Estimate(None, n=n, unscored=why)
        return RankingEstimates(nothing, nothing, np.zeros(0))
    count, numbers = clusters
    coarse = _coarse(values)
    metric = auc_and_ap(count, numbers.tolist(), coarse.tolist(), flags.tolist())
    drawn = resamples.values(count, in_parts(metric, max(len(np.unique(coarse)), n)))
    alone = len(np.unique(numbers)) < 2
    areas = ((roc_auc, drawn[:, 0]), (average_precision, drawn[:, 1]))
    auc, ap = (interval(area(flags, values), draws, n=n, alone=alone) for area, draws in areas)
    return RankingEstimates(auc, ap, drawn[:, 0])


def thresholded(
    labels: Sequence[bool] | Flags,
    scores: Sequence[float] | Array,
    clusters: Clusters,
    resamples: Resamples,
    *,
    threshold: float,
) -> Estimate:
    """F1 of calling everything from the threshold on an error, with an interval by bootstrap over clusters."""
    flags = np.asarray(labels, dtype=bool)
    called = np.asarray(scores, dtype=np.float64) >= threshold
    table = np.stack([called & flags, called & ~flags, ~called & flags], axis=1).astype(np.float64).reshape(-1, 3)
    count, numbers = clusters
    metric = f1_precision_recall(cluster_sums(table, count, numbers))
    found = resamples.estimate(count, metric, n=len(flags))[0]
    return found if len(np.unique(numbers)) > 1 else replace(found, low=None, high=None)


def in_parts(metric: Metric, width: int) -> Metric:
    """The same metric, given so few resamples at a time that a table of `width` columns of them stays small."""

    def parts(weights: Array) -> Array:
        pieces = max(1, math.ceil(len(weights) * width / _CELLS))
        return np.concatenate([metric(part) for part in np.array_split(weights, pieces) if len(part)])

    return parts


def _coarse(scores: Array) -> Array:
    """The scores, or, where they are too many, the rank of each rounded to one of `LEVELS`; equal ones stay equal."""
    values, at = np.unique(scores, return_inverse=True)
    if len(values) <= LEVELS:
        return scores
    first = np.searchsorted(np.sort(scores), values)
    level: Array = np.floor(first * (LEVELS / len(scores)))[at]
    return level
