"""Percentile bootstrap, vectorised: a resample is a row of weights, and a metric maps many such rows at once to values.

Rows of the data are drawn with replacement; how often each was drawn are its weights. A metric that takes weights
needs no loop over resamples, and metrics that are given together share their resamples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.errors import InputError

Array = np.ndarray[Any, np.dtype[np.float64]]
Metric = Callable[[Array], Array]
"""(resamples, rows) weights -> (resamples,) or (resamples, metrics) values, NaN where a resample defines none."""

DRAWS = 10_000
LEVEL = 0.95
_CHUNK_WEIGHTS = 250_000  # weights at once: 2 MB, which a core's cache holds


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval, `n` rows it was taken over, and, where there is none, the reason in `unscored`.

    `undefined_draws`: resamples that did not define the metric (one class only); they are left out of the interval.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    undefined_draws: int = 0
    unscored: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; an absent figure is named, never NaN."""
        if self.value is None:
            return {"unscored": self.unscored or "undefined", "n": self.n}
        shown: dict[str, Any] = {"value": self.value, "low": self.low, "high": self.high, "n": self.n}
        return {**shown, "undefined_draws": self.undefined_draws} if self.undefined_draws else shown


def resample(rows: int, metric: Metric, *, draws: int = DRAWS, seed: int = 0) -> Array:
    """The metric on `draws` resamples of `rows` rows, (draws,) or (draws, metrics). The same seed, the same values."""
    if rows < 1 or draws < 1:
        name, value = ("rows", rows) if rows < 1 else ("draws", draws)
        raise InputError(f"{name} must be at least 1, got {value}", field=name)
    rng = np.random.default_rng(seed)
    chunk = min(draws, max(1, _CHUNK_WEIGHTS // rows))
    weights = np.empty((chunk, rows))  # one buffer for all: fresh memory would cost more than the drawing
    found = []
    for at in range(0, draws, chunk):
        now = min(chunk, draws - at)
        for row in range(now):
            weights[row] = np.bincount(rng.integers(0, rows, size=rows), minlength=rows)
        found.append(np.array(metric(weights[:now])))
    return np.concatenate(found)


def estimate(
    rows: int, metric: Metric, *, n: int | None = None, draws: int = DRAWS, seed: int = 0, level: float = LEVEL
) -> list[Estimate]:
    """One `Estimate` for each of the metric's values: the value on the rows as they are, and a percentile interval.

    `n` is reported where the metric looks at fewer rows than are drawn. No row, or a value that the rows do not
    define, gives an unscored estimate.
    """
    if rows < 1:
        return [Estimate(None, unscored="no rows")]
    values = np.atleast_2d(metric(np.ones((1, rows))).T).T[0]
    drawn = resample(rows, metric, draws=draws, seed=seed).reshape(draws, -1)
    found = []
    for column, value in enumerate(values):
        defined = drawn[~np.isnan(drawn[:, column]), column]
        count = rows if n is None else n
        if np.isnan(value) or not len(defined):
            found.append(Estimate(None, n=count, unscored="undefined on these rows"))
            continue
        low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
        found.append(Estimate(float(value), float(low), float(high), count, draws - len(defined)))
    return found


def means(values: Array) -> Metric:
    """The weighted mean of each column of `values` (rows, metrics); NaN entries are not there and do not count."""
    table = values if values.ndim == 2 else values[:, None]
    there = ~np.isnan(table)
    filled = np.where(there, table, 0.0)
    counts = there.astype(np.float64)

    def metric(weights: Array) -> Array:
        return ratio(weights @ filled, weights @ counts)

    return metric


def ratio(above: Array, below: Array) -> Array:
    """above / below, NaN where below is 0."""
    found: Array = np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)
    return found
