"""Whether what a process holds grows: its slope after the warm-up with an interval, and a verdict by a stated rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from harness import RESAMPLES

from eirene.eval.metrics.bootstrap import cluster_sums

BOUNDS = {"memory": (0.5, 0.03), "handles": (0.5, 0.0), "threads": (0.5, 0.0), "children": (0.5, 0.0)}
"""By measure: the growth per 1,000 items that must lie above the interval, and the rise allowed between the quarters
as a share; one handle, thread or child more is allowed as well, and of memory one MiB."""
BLOCKS = 12
"""Stretches of looks that the bootstrap draws: neighbouring looks hang together."""


@dataclass(frozen=True)
class Trend:
    """One measure of one process: medians of the second and the last quarter of its looks, slope per 1,000 items."""

    second: float
    last: float
    slope: float
    low: float
    high: float
    is_flat: bool


def trend(looks: Sequence[Mapping[str, Any]], measure: str) -> Trend:
    """The first quarter is the warm-up. The slope is that of least squares over the rest, its interval of 95 %."""
    items = np.array([look["items"] for look in looks], float) / 1000
    values = np.array([look[measure] for look in looks], float)
    quarter, (growth, rise) = len(looks) // 4, BOUNDS[measure]
    second, last = (float(np.median(part)) for part in (values[quarter : 2 * quarter], values[-quarter:]))
    x, y = items[quarter:] - items[quarter:].mean(), values[quarter:] - values[quarter:].mean()
    count = min(BLOCKS, len(x))
    blocks = np.arange(len(x)) * count // len(x)
    sums = cluster_sums(np.stack([np.ones_like(x), x, y, x * x, x * y], axis=1), count, blocks)
    (found,) = RESAMPLES.estimate(count, lambda weights: _slope(weights @ sums), n=len(x))
    assert found.value is not None and found.low is not None and found.high is not None
    is_flat = found.high < growth and last <= second * (1 + rise) + 1
    return Trend(second, last, found.value, found.low, found.high, is_flat)


def _slope(sums: Any) -> Any:
    n, x, y, xx, xy = np.moveaxis(sums, -1, 0)
    return (n * xy - x * y) / (n * xx - x * x)
