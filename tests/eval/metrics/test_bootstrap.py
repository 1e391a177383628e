"""The bootstrap's resamples and intervals: against closed forms, a plain loop, and itself with the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.eval.metrics.bootstrap import Array, Estimate, Resamples, means, ratio
from tests.rows import each


def values(n: int, k: int = 1, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=(n, k))


def test_every_resample_draws_as_many_rows_as_there_are() -> None:
    weights = np.concatenate(list(Resamples(draws=300).weights(7)))
    assert weights.shape == (300, 7)
    assert set(weights.sum(axis=1)) == {7.0}
    assert weights.mean() == pytest.approx(1.0)
    assert weights.var() == pytest.approx(6 / 7, rel=0.1)  # binomial: n p (1 - p) with p = 1/n


def test_the_same_seed_gives_the_same_resamples_and_another_does_not() -> None:
    data = means(values(30))
    one, two, three = (Resamples(draws=50, seed=s).values(30, data) for s in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, three)


def test_kept_resamples_are_those_drawn_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    data = means(values(40))
    kept = Resamples(draws=60)
    first, again = kept.values(40, data), kept.values(40, data)
    monkeypatch.setattr("eirene.eval.metrics.bootstrap._KEPT_WEIGHTS", 0)
    assert np.array_equal(first, again)
    assert np.array_equal(first, Resamples(draws=60).values(40, data))


def test_metrics_see_the_weights_of_a_plain_loop() -> None:
    """The mean of a resample is the mean of the rows that it repeats."""
    data = values(20, 3)
    resamples = Resamples(draws=40)
    weights = np.concatenate(list(resamples.weights(20)))
    slow = np.array([data[np.repeat(np.arange(20), w.astype(int))].mean(axis=0) for w in weights])
    assert np.allclose(resamples.values(20, means(data)), slow)


def test_the_interval_of_a_mean_is_near_the_normal_one() -> None:
    data = values(2000)
    (found,) = Resamples(draws=4000).estimate(2000, means(data))
    half = 1.96 * data.std() / np.sqrt(2000)
    assert found.value == pytest.approx(data.mean())
    assert found.low == pytest.approx(data.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(data.mean() + half, abs=0.1 * half)


def test_a_constant_has_no_width() -> None:
    assert Resamples(draws=10).estimate(5, means(np.full(5, 0.25))) == [Estimate(0.25, 0.25, 0.25, 5)]


def test_absent_values_do_not_count() -> None:
    (found,) = Resamples(draws=200).estimate(3, means(np.array([1.0, np.nan, np.nan])))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
    assert 30 < found.undefined_draws < 90  # (2/3)^3 = 0.30 of the resamples miss the one value
    assert found.to_json()["undefined_draws"] == found.undefined_draws


@each("rows", [0, 4])
def test_no_figure_is_named_and_never_nan(rows: int) -> None:
    (found,) = Resamples(draws=10).estimate(rows, means(np.full(rows, np.nan)))
    assert found.value is None
    assert found.to_json() == {"unscored": found.unscored, "n": rows}


def test_a_ratio_over_nothing_is_absent() -> None:
    assert np.array_equal(ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])), [0.5, np.nan], equal_nan=True)


def test_draws_and_rows_must_be_there() -> None:
    with pytest.raises(InputError, match="draws must be at least 1, got 0"):
        Resamples(draws=0)
    with pytest.raises(InputError, match="rows must be at least 1, got 0"):
        Resamples().values(0, means(np.zeros(0)))
