"""Are two detectors' areas under the ROC curve on the same things different? Tests for correlated areas.

DeLong, DeLong and Clarke-Pearson (1988), with Obuchowski's (1997) form for things that come in clusters; and Hanley and
McNeil (1983), which the NPOV paper uses. All are two-sided and normal; clusters must be many for the first two.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.core.errors import InputError
from eirene.core.scores import Unscored
from eirene.eval.statistics.bootstrap import Array, clusters_of
from eirene.eval.statistics.roc import checked, roc_auc


@dataclass(frozen=True, slots=True)
class AucTest:
    """Two areas, their difference (a - b) with its standard error, and the p-value of there being none.

    The p-value is unscored where the standard error is 0 or not defined and the areas differ.
    """

    auc_a: float
    auc_b: float
    se: float
    p: float | Unscored

    @property
    def difference(self) -> float:
        """`auc_a` - `auc_b`."""
        return self.auc_a - self.auc_b

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        p = {"unscored": self.p.unscored} if isinstance(self.p, Unscored) else self.p
        return {"difference": self.difference, "se": self.se, "p": p}


def delong(
    labels: Sequence[bool], a: Sequence[float], b: Sequence[float], *, clusters: Sequence[Hashable] | None = None
) -> AucTest:
    """DeLong's test of two scores of the same things, in n log n steps (Sun and Xu 2014).

    With `clusters`, the components are summed within each before their covariance is taken (Obuchowski 1997, section
    2); with every thing its own cluster that is DeLong's own variance. Needs two of each class.
    """
    flags, first = checked(labels, a)
    _, second = checked(labels, b)
    if min(flags.sum(), (~flags).sum()) < 2:
        raise InputError("needs at least two errors and two others", field="labels")
    components = [_components(scores[flags], scores[~flags]) for scores in (first, second)]
    areas = [float(of_errors.mean()) for of_errors, _ in components]
    labels_of = range(len(flags)) if clusters is None else clusters
    if len(labels_of) != len(flags):
        raise InputError(f"clusters must be of the length of labels, got {len(labels_of)} and {len(flags)}")
    count, numbers = clusters_of(labels_of)
    sums = []
    for k, side in enumerate((flags, ~flags)):
        centred = [c[k] - area for c, area in zip(components, areas, strict=True)]
        sums.append(np.stack([np.bincount(numbers[side], values, minlength=count) for values in centred]))
    n_errors, n_others = int(flags.sum()), int((~flags).sum())
    with_errors, with_others = (len(np.unique(numbers[side])) for side in (flags, ~flags))
    if min(with_errors, with_others, count) < 2:
        why = Unscored(unscored="all errors, or all others, are of one cluster")
        return AucTest(areas[0], areas[1], 0.0, 1.0 if areas[0] == areas[1] else why)
    errors, others = sums
    covariance = (
        errors @ errors.T * (with_errors / (with_errors - 1)) / n_errors**2
        + others @ others.T * (with_others / (with_others - 1)) / n_others**2
        + (errors @ others.T + others @ errors.T) * (count / (count - 1)) / (n_errors * n_others)
    )
    contrast = np.array([1.0, -1.0])
    return _tested(areas[0], areas[1], float(contrast @ covariance @ contrast))


def hanley_mcneil(labels: Sequence[bool], a: Sequence[float], b: Sequence[float]) -> AucTest:
    """Hanley and McNeil's test: standard errors by their formula of 1982, the correlation of the areas as in 1983.

    The correlation of the areas follows from the mean of the scores' Pearson correlations among errors and among
    others, and from the mean area. They give a table, made for two normal scores; here it is computed (see
    `area_correlation`). A score that does not vary in a class correlates with nothing there.
    """
    flags, first = checked(labels, a)
    _, second = checked(labels, b)
    area_a, area_b = roc_auc(flags, first), roc_auc(flags, second)
    both = [_pearson(first[side], second[side]) for side in (flags, ~flags)]
    r = area_correlation(sum(both) / 2, (area_a + area_b) / 2)
    se_a, se_b = (area_se(area, int(flags.sum()), int((~flags).sum())) for area in (area_a, area_b))
    return _tested(area_a, area_b, se_a**2 + se_b**2 - 2 * r * se_a * se_b)


def area_se(area: float, n_errors: int, n_others: int) -> float:
    """The standard error of an area (Hanley and McNeil 1982, equation 1, with their exponential approximation)."""
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (n_errors - 1) * (q1 - area**2) + (n_others - 1) * (q2 - area**2)
    return math.sqrt(max(variance, 0.0) / (n_errors * n_others))


def area_correlation(correlation: float, area: float) -> float:
    """The correlation of two areas estimated on the same things, from that of the scores and the mean area.

    For two normal scores of one spread with correlation c in both classes and area A each, the components of the
    Wilcoxon statistic have the covariance P(X < h, Y < h) - A^2, with X and Y standard normal with correlation c / 2
    and h the A-quantile; divided by the variance (c = 1) that is the correlation of the areas in large samples. It
    agrees with table I of Hanley and McNeil (1983) to about 0.01. Areas below one half count by their distance from it.
    """
    area = min(max(area, 1 - area), 1 - 1e-9)
    squared = _quantile(area) ** 2
    return _orthant(correlation / 2, squared) / _orthant(0.5, squared)


def _orthant(correlation: float, squared: float) -> float:
    """P(X < h, Y < h) - P(X < h)^2 for standard normals with this correlation, h squared given (Plackett 1954)."""
    upper = math.asin(correlation)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    angles = (nodes + 1) * (upper / 2)
    return float((weights * np.exp(-squared / (1 + np.sin(angles)))).sum() * upper / (4 * math.pi))


def _quantile(probability: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(probability)


def _pearson(a: Array, b: Array) -> float:
    da, db = a - a.mean(), b - b.mean()
    spread = math.sqrt(float((da**2).sum()) * float((db**2).sum()))
    return max(-1.0, min(1.0, float((da * db).sum()) / spread)) if spread > 1e-15 else 0.0


def _components(errors: Array, others: Array) -> tuple[Array, Array]:
    """For each error the share of the others below it, for each other the share of the errors above it; ties half."""
    together = _midranks(np.concatenate([errors, others]))
    n_errors, n_others = len(errors), len(others)
    of_errors: Array = (together[:n_errors] - _midranks(errors)) / n_others
    of_others: Array = 1.0 - (together[n_errors:] - _midranks(others)) / n_errors
    return of_errors, of_others


def _midranks(values: Array) -> Array:
    """Ranks from 1, the mean rank for equal values."""
    ordered = np.sort(values)
    found: Array = (np.searchsorted(ordered, values, "left") + np.searchsorted(ordered, values, "right") + 1) / 2
    return found


def _tested(area_a: float, area_b: float, variance: float) -> AucTest:
    se = math.sqrt(max(variance, 0.0))
    if math.isclose(area_a, area_b, abs_tol=1e-15):
        return AucTest(area_a, area_b, se, 1.0)
    if se < 1e-12:
        return AucTest(area_a, area_b, se, Unscored(unscored="the difference has no variance"))
    return AucTest(area_a, area_b, se, math.erfc(abs(area_a - area_b) / se / math.sqrt(2)))
