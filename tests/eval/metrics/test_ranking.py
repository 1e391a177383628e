"""Ranking metrics on weighted rows: against scikit-learn and scipy on the rows as they are and as resampled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from eirene.eval.metrics.bootstrap import Array, f1_precision_recall
from eirene.eval.metrics.ranking import auc_and_ap, spearman

ONE = np.ones((1, 1))


def weighted(n: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.bincount(rng.integers(0, n, n), minlength=n).astype(float)[None]


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=60), st.integers(0, 99))
def test_auc_and_ap_are_scikit_learns(things: list[tuple[int, bool]], seed: int) -> None:
    """To 1e-9, with many ties, unweighted and with the weights of a resample of the rows that the things stand in."""
    scores, labels = [s / 7 for s, _ in things], [y for _, y in things]
    rng = np.random.default_rng(seed)
    row_of = rng.integers(0, 10, len(things))
    for weights in (np.ones((1, 10)), weighted(10, seed)):
        per_thing = weights[0][row_of]
        heavy = {y for y, w in zip(labels, per_thing, strict=True) if w > 0}
        auc, ap = auc_and_ap(10, row_of.tolist(), scores, labels)(weights)[0]
        if heavy != {True, False}:
            assert np.isnan(auc)
            assert np.isnan(ap)
            continue
        assert auc == pytest.approx(roc_auc_score(labels, scores, sample_weight=per_thing), abs=1e-9)
        assert ap == pytest.approx(average_precision_score(labels, scores, sample_weight=per_thing), abs=1e-9)


def test_auc_by_hand() -> None:
    """Pairs (positive, negative): (0.9, 0.5) won, (0.9, 0.1) won, (0.5, 0.5) tied, (0.5, 0.1) won: 3.5 of 4."""
    auc, ap = auc_and_ap(1, [0] * 4, [0.9, 0.5, 0.5, 0.1], [True, True, False, False])(ONE)[0]
    assert auc == 0.875
    assert ap == pytest.approx(0.5 * 1 + 0.5 * 2 / 3)


def test_f1_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    said, true = rng.random((2, 40)) < 0.4
    counts = np.array([[s and t, s and not t, t and not s] for s, t in zip(said, true, strict=True)], dtype=float)
    assert f1_precision_recall(counts)(np.ones((1, 40)))[0, 0] == pytest.approx(f1_score(true, said), abs=1e-9)
    assert f1_precision_recall(np.array([[3.0, 1.0, 2.0]]))(ONE)[0].tolist() == pytest.approx([6 / 9, 3 / 4, 3 / 5])
    assert np.isnan(f1_precision_recall(np.zeros((1, 3)))(ONE)).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=3, max_size=40), st.integers(0, 99))
def test_rank_correlation_is_scipys_on_the_resampled_rows(pairs: list[tuple[int, int]], seed: int) -> None:
    x, y = np.array(pairs, dtype=float).T
    for weights in (np.ones((1, len(x))), weighted(len(x), seed)):
        rows = np.repeat(np.arange(len(x)), weights[0].astype(int))
        ours = spearman(x, y)(weights)[0, 0]
        if len(set(x[rows])) == 1 or len(set(y[rows])) == 1:
            assert np.isnan(ours)
        else:
            assert ours == pytest.approx(spearmanr(x[rows], y[rows]).statistic, abs=1e-9)


def test_the_partial_correlation_takes_out_what_a_third_variable_explains() -> None:
    """x and y are both z and noise: correlated, and not once z is known. The formula is that of three correlations."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    x, y = z + rng.normal(size=3000), z + rng.normal(size=3000)
    ones = np.ones((1, 3000))
    plain, partial = spearman(x, y)(ones)[0, 0], spearman(x, y, z)(ones)[0, 0]
    xy, xz, yz = (spearmanr(a, b).statistic for a, b in ((x, y), (x, z), (y, z)))
    assert partial == pytest.approx((xy - xz * yz) / np.sqrt((1 - xz**2) * (1 - yz**2)), abs=1e-9)
    assert plain > 0.4
    assert abs(partial) < 0.05


def test_a_third_variable_that_does_not_vary_takes_nothing_out() -> None:
    x, y, z = np.array([1.0, 2, 3]), np.array([1.0, 3, 2]), np.ones(3)
    assert spearman(x, y, z)(np.ones((1, 3))) == spearman(x, y)(np.ones((1, 3)))


def test_the_weights_in_their_order_give_what_the_table_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    row_of, scores, labels = rng.integers(0, 30, 90), rng.integers(0, 40, 90) / 40, rng.random(90) < 0.4
    weights = rng.integers(0, 3, size=(50, 30)).astype(float)
    found = []
    for gathered in (0, 10**9):
        monkeypatch.setattr("eirene.eval.metrics.ranking._GATHERED", gathered)
        found.append(auc_and_ap(30, row_of.tolist(), scores.tolist(), labels.tolist())(weights))
    np.testing.assert_array_equal(*found)
