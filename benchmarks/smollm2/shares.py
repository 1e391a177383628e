"""Shares and means with 95 % intervals, where values of one topic or question are drawn together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import numpy as np

from eirene.eval.metrics.bootstrap import Estimate, Resamples, cluster_means

RESAMPLES = Resamples(draws=2000)


def mean(values: Iterable[tuple[Hashable, float]]) -> Estimate:
    """The mean of values, each with what it belongs to."""
    held = list(values)
    if not held:
        return Estimate(None, unscored="no value")
    clusters = [cluster for cluster, _ in held]
    count, metric = cluster_means(np.array([value for _, value in held]), clusters)
    return RESAMPLES.estimate(count, metric, n=len(held))[0].of_clusters(count)


def cell(found: Estimate, *, digits: int = 3) -> str:
    """A figure for a table, with its interval."""
    if found.value is None:
        return "-"
    if found.low is None or found.high is None:
        return f"{found.value:.{digits}f}"
    return f"{found.value:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
