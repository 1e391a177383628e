"""Losses of calls (faulty or not) against labels: what a threshold is chosen by, with bootstrap intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from eirene.eval.calibration.file import Criterion
from eirene.eval.statistics.bootstrap import Array, Estimate, Metric, Resamples, cluster_sums, ratio
from eirene.eval.statistics.ranking import Clusters, Flags

SAID: dict[Criterion, str] = {
    "balanced": "mean of the share of errors that are missed and the share of others that are called errors",
    "error": "share of answers that are called wrongly",
    "f1": "1 - F1 of the errors",
}


def loss_of(counts: Array, criterion: Criterion) -> Array:
    """The loss (...) of counts (..., 4) of hits, false alarms, misses and rightly passed; NaN where undefined."""
    hit, alarm, missed, passed = np.moveaxis(counts, -1, 0)
    if criterion == "error":
        return ratio(alarm + missed, hit + alarm + missed + passed)
    if criterion == "balanced":
        return (ratio(missed, hit + missed) + ratio(alarm, alarm + passed)) / 2
    return 1 - ratio(2 * hit, 2 * hit + alarm + missed)


def counts_of(called: Flags, labels: Flags) -> Array:
    """For each answer a row (4) with a 1 under hit, false alarm, missed or rightly passed."""
    return np.stack([called & labels, called & ~labels, ~called & labels, ~called & ~labels], axis=1).astype(np.float64)


def best_cut(values: Array, labels: Flags, criterion: Criterion) -> float:
    """The log odds from which to call an answer faulty for the least loss; of equal ones the nearest to even odds.

    It lies halfway between two neighbouring values, or beyond all of them.
    """
    levels = np.unique(values)
    cuts = np.concatenate([[levels[0] - 1.0], (levels[1:] + levels[:-1]) / 2, [levels[-1] + 1.0]])
    errors, others = np.sort(values[labels]), np.sort(values[~labels])
    missed = np.searchsorted(errors, cuts, side="left").astype(np.float64)
    passed = np.searchsorted(others, cuts, side="left").astype(np.float64)
    counts = np.stack([len(errors) - missed, len(others) - passed, missed, passed], axis=1)
    losses = np.nan_to_num(loss_of(counts, criterion), nan=1.0)
    best = np.flatnonzero(losses <= losses.min() + 1e-12)
    return float(cuts[best[np.argmin(np.abs(cuts[best]))]])


def measure(
    called: Flags, labels: Flags, clusters: Clusters, criterion: Criterion, resamples: Resamples
) -> tuple[Estimate, Estimate]:
    """The loss by the criterion and the share called wrongly, each with its interval over clusters."""
    count, numbers = _renumbered(clusters)
    table = cluster_sums(counts_of(called, labels), count, numbers)

    def metric(weights: Array) -> Array:
        counts = weights @ table
        return np.stack([loss_of(counts, criterion), loss_of(counts, "error")], axis=1)

    loss, wrong = resamples.estimate(count, metric, n=len(labels))
    return loss.of_clusters(count), wrong.of_clusters(count)


def difference(
    calls: tuple[Flags, Flags], labels: Flags, clusters: Clusters, criterion: Criterion, resamples: Resamples
) -> Estimate:
    """The loss of the first calls minus that of the second on the same answers, paired in every resample."""
    count, numbers = _renumbered(clusters)
    tables = [cluster_sums(counts_of(called, labels), count, numbers) for called in calls]

    def metric(weights: Array) -> Array:
        a, b = (loss_of(weights @ table, criterion) for table in tables)
        return (a - b)[:, None]

    paired: Metric = metric
    return resamples.estimate(count, paired, n=len(labels))[0].of_clusters(count)


def _renumbered(clusters: Clusters) -> tuple[int, np.ndarray[Any, np.dtype[np.int64]]]:
    """The clusters that are there, numbered from 0 without gaps."""
    names, numbers = np.unique(clusters[1], return_inverse=True)
    return len(names), numbers.astype(np.int64)
