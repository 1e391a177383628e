"""Bootstrap, vectorised: a resample is a row of weights, and a metric maps many rows of weights to values.

Rows of the data are drawn with replacement; how often each was drawn are its weights. A metric that takes weights
needs no loop over resamples, and metrics that are given together share their resamples.

Paired comparisons: differences with bootstrap intervals, exact and randomization tests, corrections for many tests.

Everything is a function of rows. A value that is not there is NaN in an array and is left out together with its
partner: two ways of working are compared on the rows that both of them have, and on no others.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from eirene.core.errors import InputError

Array = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]
Metric = Callable[[Array], Array]
"""(resamples, rows) weights -> (resamples,) or (resamples, metrics) values, NaN where a resample defines none."""

DRAWS = 10_000
LEVEL = 0.95
_CHUNK_WEIGHTS = 100_000  # weights at once: 0.8 MB, which a core's cache holds
_KEPT_WEIGHTS = 50_000_000  # weights of one row count that are kept for the next metric: 100 MB


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval, `n` rows it was taken over, and, where there is none, the reason in `unscored`.

    `undefined_draws`: resamples that did not define the metric (one class only); they are left out of the interval.
    `clusters`: how many independent groups (items) the rows make up, where that is known. One alone has no interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    undefined_draws: int = 0
    unscored: str | None = None
    clusters: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; an absent figure is named, never NaN."""
        if self.value is None:
            return {"unscored": self.unscored or "undefined", "n": self.n}
        shown: dict[str, Any] = {"value": self.value}
        shown |= {} if self.low is None else {"low": self.low, "high": self.high}
        shown |= {"n": self.n} | ({} if self.clusters is None else {"clusters": self.clusters})
        return {**shown, "undefined_draws": self.undefined_draws} if self.undefined_draws else shown

    def of_clusters(self, clusters: int) -> Estimate:
        """The same with its number of clusters; drawing one cluster again and again gives no interval."""
        known = replace(self, clusters=clusters)
        return known if clusters > 1 else replace(known, low=None, high=None, undefined_draws=0)


class Resamples:
    """A report's resamples: `draws` of them by one seed, the same for every metric over equally many rows."""

    def __init__(self, *, draws: int = DRAWS, seed: int = 0) -> None:
        if draws < 1:
            raise InputError(f"draws must be at least 1, got {draws}", field="draws")
        self.draws = draws
        self.seed = seed
        self._kept: dict[int, list[np.ndarray[Any, np.dtype[np.uint16]]]] = {}

    def weights(self, rows: int) -> Iterator[Array]:
        """How often each of `rows` rows was drawn, (resamples, rows), in chunks that together are `draws` long."""
        if rows not in self._kept and rows * self.draws <= _KEPT_WEIGHTS:
            # A row is drawn some five times at most, and never more often than there are rows.
            self._kept[rows] = [chunk.astype(np.uint16) for chunk in self._drawn(rows)]
        if rows in self._kept:
            return (chunk.astype(np.float64) for chunk in self._kept[rows])
        return self._drawn(rows)

    def values(self, rows: int, metric: Metric) -> Array:
        """The metric on each resample, (draws,) or (draws, metrics)."""
        if rows < 1:
            raise InputError(f"rows must be at least 1, got {rows}", field="rows")
        return np.concatenate([metric(weights) for weights in self.weights(rows)])

    def estimate(self, rows: int, metric: Metric, *, n: int | None = None) -> list[Estimate]:
        """One `Estimate` for each of the metric's values: on the rows as they are, with a percentile interval.

        `n` is reported where the metric looks at other things than rows. No row, or a value that the rows do not
        define, gives an unscored estimate.
        """
        if rows < 1:
            return [Estimate(None, unscored="no rows")]
        whole = metric(np.ones((1, rows))).reshape(-1)
        drawn = self.values(rows, metric).reshape(self.draws, -1)
        count = rows if n is None else n
        return [interval(float(value), column, n=count) for value, column in zip(whole, drawn.T, strict=True)]

    def _drawn(self, rows: int) -> Iterator[Array]:
        rng = np.random.default_rng(self.seed)
        chunk = min(self.draws, max(1, _CHUNK_WEIGHTS // rows))
        for at in range(0, self.draws, chunk):
            now = min(chunk, self.draws - at)
            drawn = rng.integers(0, rows, size=(now, rows))
            drawn += np.arange(now)[:, None] * rows
            yield np.bincount(drawn.ravel(), minlength=now * rows).reshape(now, rows).astype(np.float64)


def interval(value: float, draws: Array, *, n: int, alone: bool = False) -> Estimate:
    """A figure with the percentile interval of its draws; NaN draws do not define it and are left out.

    `alone`: everything is of one cluster, and drawing that again and again gives no interval.
    """
    if alone:
        return Estimate(value, n=n)
    defined = draws[~np.isnan(draws)]
    if np.isnan(value) or not len(defined):
        return Estimate(None, n=n, unscored="undefined on these rows")
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Estimate(value, float(low), float(high), n, len(draws) - len(defined))


def means(values: Array) -> Metric:
    """The weighted mean of each column of `values` (rows, metrics); NaN entries are not there and do not count."""
    return cluster_means(values, range(len(values)))[1]


def ratio(above: Array, below: Array) -> Array:
    """above / below, NaN where below is 0."""
    found: Array = np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)
    return found


def clusters_of(labels: Sequence[Hashable]) -> tuple[int, Ints]:
    """How many distinct labels there are, and for each row the number of its own, by first appearance."""
    known: dict[Hashable, int] = {}
    numbers = [known.setdefault(label, len(known)) for label in labels]
    return len(known), np.array(numbers, dtype=np.int64)


def cluster_sums(table: Array, count: int, numbers: Ints) -> Array:
    """The sums of `table` (rows, ...) over clusters, (count, ...); `numbers` are the clusters of the rows."""
    found = np.zeros((count, *table.shape[1:]))
    np.add.at(found, numbers, table)
    return found


def cluster_means(values: Array, clusters: Sequence[Hashable]) -> tuple[int, Metric]:
    """The number of clusters, and the mean of each column of `values` (rows, metrics) as a metric of cluster weights.

    Clusters (items with a row for each seed) are what is resampled; within one, all rows weigh the same. NaN entries
    are not there and do not count.
    """
    table = values if values.ndim == 2 else values[:, None]
    count, numbers = clusters_of(clusters)
    there = ~np.isnan(table)
    sums = cluster_sums(np.where(there, table, 0.0), count, numbers)
    counts = cluster_sums(there.astype(np.float64), count, numbers)

    def metric(weights: Array) -> Array:
        return ratio(weights @ sums, weights @ counts)

    return count, metric


def paired_differences(a: Array, b: Array, clusters: Sequence[Hashable], resamples: Resamples) -> list[Estimate]:
    """mean(a - b) of each column, with a percentile interval over clusters; `n` is the rows that both have.

    `a` and `b` are (rows, metrics), row by row of the same item and seed. A column without a common row is unscored;
    one whose common rows are all of one cluster has no interval.
    """
    if a.shape != b.shape or len(a) != len(clusters):
        raise InputError(f"pairs must be of one shape, got {a.shape}, {b.shape} and {len(clusters)} clusters")
    difference = a - b
    difference = difference if difference.ndim == 2 else difference[:, None]
    # All columns share each draw of clusters; what a column does not have counts for nothing in it.
    count, metric = cluster_means(difference, clusters)
    found = resamples.estimate(count, metric)
    if not count:
        found = found * difference.shape[1]
    there = ~np.isnan(difference)
    named = [len({label for label, is_there in zip(clusters, column, strict=True) if is_there}) for column in there.T]
    return [
        replace(estimate, n=int(n)).of_clusters(k) if n else Estimate(None, unscored="no row is scored in both")
        for estimate, n, k in zip(found, there.sum(axis=0), named, strict=True)
    ]


def two_sided_p(draws: Array) -> float:
    """The two-sided bootstrap p-value of no difference: twice the share of the draws on the rarer side of 0.

    NaN draws are left out. With n draws it is at least 2 / (n + 1): no resample on that side does not make it 0.
    """
    defined = draws[~np.isnan(draws)]
    rarer = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return min(1.0, 2 * (rarer + 1) / (len(defined) + 1))


def mcnemar_exact(only_a: int, only_b: int) -> float:
    """The two-sided exact p-value: twice the smaller tail of a fair coin thrown `only_a + only_b` times, at most 1.

    McNemar 1947 in its exact, binomial form. Computed in whole numbers, so that no sum rounds.
    """
    if only_a < 0 or only_b < 0:
        raise InputError(f"counts must be at least 0, got {only_a} and {only_b}")
    n, smaller = only_a + only_b, min(only_a, only_b)
    term = tail = 1
    for k in range(1, smaller + 1):
        term = term * (n - k + 1) // k
        tail += term
    return min(1.0, 2 * tail / (1 << n)) if n else 1.0


def sign_flip_p(a: Array, b: Array, clusters: Sequence[Hashable], resamples: Resamples) -> list[float]:
    """The two-sided p-value of no difference for each column of `a` - `b`: a randomization test over clusters.

    If the two do not differ, a cluster's difference is as likely of either sign: p is the share of sign patterns whose
    sum is as far from 0. All patterns where they are no more than the draws, else as many at random (Noreen 1989;
    Dror et al. 2018, section 3.3). Of yes and no with one row a cluster it is McNemar's exact test.
    """
    count, numbers = clusters_of(clusters)
    sums = cluster_sums(np.nan_to_num(a - b), count, numbers)
    is_all = count < 31 and 1 << count <= resamples.draws
    patterns = 1 << count if is_all else resamples.draws
    rng = np.random.default_rng(resamples.seed)
    least, far = np.abs(sums.sum(axis=0)) * (1 - 1e-9), np.zeros(sums.shape[1])
    step = max(1, _CHUNK_WEIGHTS // max(1, count))
    for at in range(0, patterns, step):
        now = np.arange(at, min(patterns, at + step))
        bits = now[:, None] >> np.arange(count) & 1 if is_all else rng.integers(0, 2, size=(len(now), count))
        far += (np.abs((2.0 * bits - 1.0) @ sums) >= least).sum(axis=0)
    extra = 0 if is_all else 1  # the pattern that was found
    return [float(p) for p in (far + extra) / (patterns + extra)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (Holm 1979), in the order given; rejecting all up to alpha, the family errs at alpha."""
    if any(not 0 <= p <= 1 or math.isnan(p) for p in p_values):
        raise InputError(f"p-values must lie in [0, 1], got {list(p_values)}")
    adjusted, highest = [0.0] * len(p_values), 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


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


@dataclass(frozen=True, slots=True)
class ErrorCorrection:
    """What became of errors. corrected: before and not after; introduced: after and not before; left: both.

    precision = corrected / (corrected + introduced), recall = corrected / (corrected + left), F1 their harmonic mean
    (2 corrected / (2 corrected + introduced + left), which is defined where one of the two is not). A figure whose
    denominator is 0 is unscored and says so.
    """

    corrected: int
    introduced: int
    left: int
    clean: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


def error_correction(
    before: ArrayLike, after: ArrayLike, *, clusters: Sequence[Hashable], resamples: Resamples
) -> ErrorCorrection:
    """Error correction over answers, with intervals by bootstrap over clusters."""
    had, has = np.asarray(before, dtype=bool), np.asarray(after, dtype=bool)
    table = np.stack([had & ~has, ~had & has, had & has], axis=1).astype(np.float64).reshape(-1, 3)
    count, numbers = clusters_of(clusters)
    found = resamples.estimate(count, f1_precision_recall(cluster_sums(table, count, numbers)), n=len(had))
    whys = (
        "no answer had an error, before or after", "no error was corrected or introduced",
        "no answer had an error before",
    )  # fmt: skip
    f1, precision, recall = (
        Estimate(None, n=one.n, unscored=why) if one.value is None else one.of_clusters(count)
        for one, why in zip(found if count else found * 3, whys, strict=True)
    )
    corrected, introduced, left = (int(n) for n in table.sum(axis=0))
    return ErrorCorrection(corrected, introduced, left, int((~had & ~has).sum()), precision, recall, f1)
