"""Comparisons against scipy and statsmodels, and against a loop written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as mcnemar_of_statsmodels
from statsmodels.stats.multitest import multipletests

from eirene.core.errors import InputError
from eirene.eval.metrics.bootstrap import Resamples, holm, mcnemar_exact, paired_differences, sign_flip_p, two_sided_p


def test_mcnemar_is_that_of_statsmodels_and_scipy() -> None:
    for only_a, only_b in [(0, 0), (1, 0), (5, 5), (3, 12), (40, 61), (300, 200), (5000, 4800)]:
        theirs = mcnemar_of_statsmodels([[7, only_a], [only_b, 9]], exact=True).pvalue if only_a + only_b else 1.0
        assert mcnemar_exact(only_a, only_b) == pytest.approx(min(1.0, theirs), abs=1e-12)
        if only_a + only_b:
            assert mcnemar_exact(only_a, only_b) == pytest.approx(stats.binomtest(only_a, only_a + only_b).pvalue)


def test_sign_flips_give_mcnemars_p_of_yes_and_no_and_scipys_of_numbers() -> None:
    """An item counts once however many seeds; where nothing differs p is 1; draws come near the whole."""
    a, b = np.array([[1.0], [1], [1], [1], [0], [np.nan], [1]]), np.array([[0.0], [0], [0], [1], [1], [1.0], [1]])
    few = Resamples(draws=1000)
    assert sign_flip_p(a, b, range(7), few) == [pytest.approx(mcnemar_exact(3, 1))]
    assert sign_flip_p(np.tile(a, (3, 1)), np.tile(b, (3, 1)), [*range(7)] * 3, few) == sign_flip_p(a, b, range(7), few)
    assert sign_flip_p(a, a, range(7), few) == [1.0]
    x, y = np.random.default_rng(1).random((2, 9, 1))
    theirs = stats.permutation_test(
        (x[:, 0], y[:, 0]), lambda x, y: (x - y).sum(), permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip_p(x, y, range(9), few) == [pytest.approx(theirs.pvalue)]
    assert sign_flip_p(x, y, range(9), Resamples(draws=500)) == [pytest.approx(theirs.pvalue, abs=0.08)]


@pytest.mark.slow
def test_holm_is_that_of_statsmodels() -> None:
    for seed in range(5):
        p = np.random.default_rng(seed).random(8) ** 3
        assert holm(list(p)) == pytest.approx(multipletests(p, method="holm")[1])


def test_holm_takes_none_and_refuses_what_is_no_probability() -> None:
    assert holm([]) == []
    with pytest.raises(InputError, match=r"p-values must lie in \[0, 1\]"):
        holm([0.1, float("nan")])


def test_intervals_are_those_of_a_plain_loop_over_the_same_draws() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.random(40), rng.random(40)
    (found,) = paired_differences(a, b, range(40), Resamples(draws=500, seed=3))
    again = np.random.default_rng(3)
    means = [(a - b)[again.integers(0, 40, size=40)].mean() for _ in range(500)]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])))
    assert (found.value, found.n) == (pytest.approx((a - b).mean()), 40)


def test_intervals_agree_with_scipy() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(0.2, 1, 200), rng.normal(0, 1, 200)
    (found,) = paired_differences(a, b, range(200), Resamples())
    theirs = stats.bootstrap((a - b,), np.mean, method="percentile", n_resamples=10_000, rng=rng).confidence_interval
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_seeds_of_one_item_are_drawn_together() -> None:
    """Copies of every row under other seeds add no certainty."""
    rng = np.random.default_rng(4)
    a, b = rng.random(30), rng.random(30)
    (once,) = paired_differences(a, b, range(30), Resamples(draws=300))
    (thrice,) = paired_differences(np.tile(a, 3), np.tile(b, 3), [*range(30)] * 3, Resamples(draws=300))
    assert (thrice.low, thrice.high, thrice.n) == (pytest.approx(once.low), pytest.approx(once.high), 90)


def test_one_item_has_no_interval_however_many_seeds() -> None:
    """Drawing the same item again and again would give an interval without width, which would look like certainty."""
    a, b = np.array([[0.9, 0.9], [0.8, 0.8], [0.5, np.nan]]), np.zeros((3, 2))
    both, one = paired_differences(a, b, ["x", "x", "y"], Resamples(draws=50))
    assert (both.clusters, both.low is None) == (2, False)
    assert one.to_json() == {"value": pytest.approx(0.85), "n": 2, "clusters": 1}


def test_only_rows_that_both_have_are_compared() -> None:
    nan = float("nan")
    a = np.array([[1.0, nan], [0.0, nan], [nan, 1.0]])
    b = np.array([[0.5, 1.0], [nan, 1.0], [0.0, nan]])
    first, second = paired_differences(a, b, range(3), Resamples(draws=50))
    assert (first.value, first.n) == (0.5, 1)
    assert (second.value, second.unscored) == (None, "no row is scored in both")


def test_the_bootstrap_p_value_counts_the_rarer_side_and_is_never_0() -> None:
    assert two_sided_p(np.array([1.0] * 99)) == 2 / 100
    assert two_sided_p(np.array([1.0] * 90 + [-1.0] * 9 + [np.nan])) == 2 * 10 / 100
    assert two_sided_p(np.zeros(9)) == 1.0


def test_the_bootstrap_p_value_of_a_mean_is_about_that_of_the_normal_test() -> None:
    values = np.random.default_rng(1).normal(0.3, 1.0, 100)
    resamples = Resamples(draws=4000)
    draws = resamples.values(100, lambda weights: weights @ values / 100)
    z = values.mean() / values.std() * 10
    assert two_sided_p(draws) == pytest.approx(2 * stats.norm.sf(abs(z)), rel=0.3)
