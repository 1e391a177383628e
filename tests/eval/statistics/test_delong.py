"""Tests for correlated areas: by the definition, against a published table, and under what must change nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.core.scores import Unscored
from eirene.eval.statistics.bootstrap import bonferroni, holm
from eirene.eval.statistics.delong import area_correlation, area_se, delong, hanley_mcneil
from eirene.eval.statistics.roc import roc_auc


def drawn(seed: int, n: int = 80) -> tuple[list[bool], list[float], list[float]]:
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.4
    labels[:4] = True, True, False, False
    common = rng.normal(size=n) + 1.2 * labels
    a, b = (np.round(common + rng.normal(size=n), 1) for _ in range(2))
    return labels.tolist(), a.tolist(), b.tolist()


def by_definition(labels: Sequence[bool], *scores: Sequence[float]) -> tuple[list[float], np.ndarray]:
    """Areas and their covariance as DeLong et al. (1988) write them: the kernel of every pair, equations 4 to 6."""
    errors, others = ([i for i, label in enumerate(labels) if label is want] for want in (True, False))

    def kernel(x: float, y: float) -> float:
        return 1.0 if x > y else 0.5 if x == y else 0.0

    v10 = [[sum(kernel(s[i], s[j]) for j in others) / len(others) for i in errors] for s in scores]
    v01 = [[sum(kernel(s[i], s[j]) for i in errors) / len(errors) for j in others] for s in scores]
    areas = [sum(v) / len(v) for v in v10]
    return areas, np.cov(v10, ddof=1) / len(errors) + np.cov(v01, ddof=1) / len(others)


@pytest.mark.parametrize("seed", range(6))
def test_delong_is_its_definition(seed: int) -> None:
    labels, a, b = drawn(seed)
    areas, covariance = by_definition(labels, a, b)
    se = math.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = delong(labels, a, b)
    assert (found.auc_a, found.auc_b) == pytest.approx(areas, abs=1e-12)
    assert found.se == pytest.approx(se, abs=1e-12)
    assert found.auc_a == pytest.approx(roc_auc(labels, a), abs=1e-12)
    from scipy.stats import norm

    assert found.p == pytest.approx(2 * norm.sf(abs(areas[0] - areas[1]) / se), abs=1e-9)


def test_things_that_come_twice_say_no_more() -> None:
    """Every thing a second time in its own cluster: the same difference with the same standard error."""
    labels, a, b = drawn(0)
    once = delong(labels, a, b)
    twice = delong(labels * 2, a * 2, b * 2, clusters=list(range(len(labels))) * 2)
    taken_apart = delong(labels * 2, a * 2, b * 2)
    assert (twice.difference, twice.se) == pytest.approx((once.difference, once.se))
    assert taken_apart.se < 0.75 * once.se


def test_clustered_errors_are_those_of_resampled_clusters() -> None:
    """Obuchowski's standard error against the spread of the difference over 2,000 resamples of 60 clusters."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(60), 6)
    labels = rng.random(360) < 0.4
    a = rng.normal(size=60)[clusters] + rng.normal(size=360) + labels
    b = rng.normal(size=60)[clusters] + rng.normal(size=360) + 0.5 * labels
    found = delong(labels.tolist(), a.tolist(), b.tolist(), clusters=clusters.tolist())
    differences = []
    for _ in range(2000):
        rows = (rng.integers(0, 60, 60)[:, None] * 6 + np.arange(6)).ravel()
        differences.append(roc_auc(labels[rows], a[rows]) - roc_auc(labels[rows], b[rows]))
    assert found.se == pytest.approx(np.std(differences), rel=0.1)


@pytest.mark.parametrize("test", [delong, hanley_mcneil])
def test_swapping_two_detectors_turns_the_sign_and_nothing_else(test: object) -> None:
    labels, a, b = drawn(1)
    one, other = (test(labels, x, y) for x, y in ((a, b), (b, a)))  # type: ignore[operator]  # one of two functions
    assert (one.difference, one.se, one.p) == pytest.approx((-other.difference, other.se, other.p))
    same = test(labels, a, a)  # type: ignore[operator]
    assert (same.difference, same.p) == (0.0, 1.0)


# Table I of Hanley and McNeil (1983): the correlation of two areas by the mean correlation of the scores and the mean
# area. A cell in each corner and in the middle of each side, and two within.
TABLE = [
    (0.02, 0.700, 0.02), (0.02, 0.975, 0.01), (0.50, 0.700, 0.47), (0.90, 0.700, 0.88), (0.30, 0.700, 0.27),
    (0.30, 0.850, 0.25), (0.50, 0.850, 0.43), (0.50, 0.950, 0.37), (0.70, 0.800, 0.65), (0.90, 0.900, 0.86),
    (0.90, 0.975, 0.82), (0.50, 0.975, 0.32), (0.70, 0.900, 0.62), (0.20, 0.900, 0.15),
]  # fmt: skip


@pytest.mark.parametrize(("correlation", "area", "published"), TABLE)
def test_the_correlation_of_areas_is_the_published_tables(correlation: float, area: float, published: float) -> None:
    assert area_correlation(correlation, area) == pytest.approx(published, abs=0.016)


def test_the_orthant_agrees_with_scipy() -> None:
    from scipy.stats import multivariate_normal, norm

    h = norm.ppf(0.83)

    def covariance(c: float) -> float:
        return float(multivariate_normal.cdf([h, h], cov=[[1, c], [c, 1]])) - 0.83**2

    assert area_correlation(0.6, 0.83) == pytest.approx(covariance(0.3) / covariance(0.5), abs=1e-6)
    assert area_correlation(0.6, 0.17) == area_correlation(0.6, 0.83)
    assert area_correlation(0.0, 0.8) == 0.0
    assert area_correlation(1.0, 0.8) == pytest.approx(1.0)


def test_the_standard_error_of_an_area_by_hand() -> None:
    """0.893, 51 errors, 58 others: Q1 .80668, Q2 .84252; (.09555 + 50 x .00924 + 57 x .04508) / 2958 = .03251^2."""
    assert area_se(0.893, 51, 58) == pytest.approx(0.03251, abs=0.00001)
    assert area_se(1.0, 10, 10) == 0.0


def test_hanley_and_mcneil_by_hand() -> None:
    labels, a, b = drawn(2)
    errors, others = (
        np.array([[x, y] for x, y, label in zip(a, b, labels, strict=True) if label is want]) for want in (True, False)
    )
    mean_r = (np.corrcoef(errors.T)[0, 1] + np.corrcoef(others.T)[0, 1]) / 2
    areas = roc_auc(labels, a), roc_auc(labels, b)
    se_a, se_b = (area_se(area, len(errors), len(others)) for area in areas)
    r = area_correlation(mean_r, sum(areas) / 2)
    found = hanley_mcneil(labels, a, b)
    assert found.se == pytest.approx(math.sqrt(se_a**2 + se_b**2 - 2 * r * se_a * se_b))
    assert found.p == pytest.approx(math.erfc(abs(areas[0] - areas[1]) / found.se / math.sqrt(2)))


def test_without_variance_there_is_no_p_value() -> None:
    labels = [True, True, False, False]
    found = delong(labels, [3.0, 4.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0])
    assert (found.difference, found.se) == (1.0, 0.0)
    assert isinstance(found.p, Unscored)
    assert found.to_json()["p"] == {"unscored": "the difference has no variance"}


def test_one_cluster_with_all_errors_gives_no_p_value() -> None:
    labels, a, b = [True, True, False, False], [3.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 4.0]
    assert isinstance(delong(labels, a, b, clusters=[1, 1, 2, 3]).p, Unscored)


def test_too_little_is_refused() -> None:
    with pytest.raises(InputError, match="two errors and two others"):
        delong([True, False, False], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="clusters"):
        delong([True, True, False, False], [1.0] * 4, [2.0] * 4, clusters=[1])


def test_corrections_for_many_tests_by_hand() -> None:
    p = [0.01, 0.04, 0.03]
    assert bonferroni(p) == pytest.approx([0.03, 0.12, 0.09])
    assert holm(p) == pytest.approx([0.03, 0.06, 0.06])
    assert bonferroni([0.5, 0.9]) == [1.0, 1.0]
    with pytest.raises(InputError, match="p-values"):
        bonferroni([1.5])
