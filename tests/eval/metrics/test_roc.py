"""Curves, areas and thresholds against scikit-learn; intervals over clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.eval.metrics import ranking
from eirene.eval.metrics.bootstrap import Resamples, clusters_of
from eirene.eval.metrics.ranking import (
    auc_and_ap,
    average_precision,
    best_threshold,
    curve,
    in_parts,
    ranked,
    roc_auc,
    thresholded,
)


def drawn(seed: int, n: int, levels: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of both classes and scores with ties, higher for errors."""
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.3
    labels[:2] = True, False
    return labels, np.round(rng.normal(size=n) + labels, 1) if levels else rng.normal(size=n) + labels


def test_areas_are_those_of_scikit_learn() -> None:
    for seed in range(5):
        for levels in [0, 1]:
            from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

            labels, scores = drawn(seed, 300, levels)
            assert roc_auc(labels, scores) == pytest.approx(roc_auc_score(labels, scores), abs=1e-9)
            assert average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores), abs=1e-9)
            fpr, tpr, _ = roc_curve(labels, scores, drop_intermediate=False)
            found = curve(labels, scores)
            np.testing.assert_allclose([found.fpr, found.tpr], [fpr, tpr], atol=1e-12)
            precision, recall, thresholds = precision_recall_curve(labels, scores)
            np.testing.assert_allclose(found.precision[::-1], precision[:-1][-len(found.precision) :], atol=1e-12)
            np.testing.assert_allclose(found.recall[::-1], recall[:-1][-len(found.recall) :], atol=1e-12)
            np.testing.assert_allclose(found.threshold[::-1], thresholds, atol=0)


def test_a_curve_by_hand() -> None:
    """Scores .9 (error), .8 (not), .8 (error), .1 (not): one of two errors alone on top, then a tie."""
    found = curve([True, False, True, False], [0.9, 0.8, 0.8, 0.1])
    assert found.threshold.tolist() == [0.9, 0.8, 0.1]
    assert (found.hits.tolist(), found.alarms.tolist()) == ([1, 2, 2], [0, 1, 2])
    assert roc_auc([True, False, True, False], [0.9, 0.8, 0.8, 0.1]) == pytest.approx((1 + 1 + 0.5 + 1) / 4)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=2, max_size=30))
def test_no_other_threshold_has_a_higher_f1(things: list[tuple[bool, int]]) -> None:
    from sklearn.metrics import f1_score

    labels, scores = [label for label, _ in things], [float(score) for _, score in things]
    if len(set(labels)) < 2:
        return
    chosen = best_threshold(labels, scores)
    best = max(f1_score(labels, [s >= t for s in scores]) for t in set(scores))
    assert f1_score(labels, [s >= chosen for s in scores]) == pytest.approx(best)


def test_what_has_no_curve_is_refused() -> None:
    for labels, scores, message in [
        ([True, True], [0.1, 0.2], "2 errors of 2"),
        ([True, False], [0.1, float("nan")], "NaN"),
        ([True], [0.1, 0.2], "one length"),
        ([], [], "0 errors of 0"),
    ]:
        with pytest.raises(InputError, match=message):
            curve(labels, scores)


def test_intervals_are_wider_where_things_hang_together() -> None:
    """Each thing ten times in its cluster says no more than once."""
    labels, scores = (values.tolist() for values in drawn(0, 60, 0))
    alone = ranked(labels, scores, clusters_of(range(60)), Resamples(draws=500)).auc
    tenfold = ranked(labels * 10, scores * 10, clusters_of(list(range(60)) * 10), Resamples(draws=500)).auc
    taken_apart = ranked(labels * 10, scores * 10, clusters_of(range(600)), Resamples(draws=500)).auc
    widths = [e.high - e.low for e in (alone, tenfold, taken_apart) if e.high is not None and e.low is not None]
    assert widths[0] == pytest.approx(widths[1]) and widths[2] < widths[0] / 2
    assert alone.value == pytest.approx(tenfold.value)


def test_one_class_alone_is_unscored_with_the_reason() -> None:
    found = ranked([True, True], [0.1, 0.2], clusters_of([1, 2]), Resamples(draws=10))
    assert found.auc.value is None and found.auc.unscored == "needs errors and others, got 2 errors of 2"
    assert (
        ranked([], [], clusters_of([]), Resamples(draws=10)).ap.unscored == "needs errors and others, got 0 errors of 0"
    )


def test_one_cluster_alone_has_no_interval() -> None:
    labels, scores = (values.tolist() for values in drawn(0, 30, 0))
    together = clusters_of(["one"] * 30)
    found = ranked(labels, scores, together, Resamples(draws=20))
    f1 = thresholded(labels, scores, together, Resamples(draws=20), threshold=0.0)
    assert found.auc.value == roc_auc(labels, scores)
    assert all(e.value is not None and e.low is None and e.high is None for e in (found.auc, found.ap, f1))


def test_many_different_scores_change_no_figure_and_hardly_an_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, scores = (values.tolist() for values in drawn(1, 400, 0))
    exact = ranked(labels, scores, clusters_of(range(400)), Resamples(draws=400))
    monkeypatch.setattr(ranking, "LEVELS", 100)
    rounded = ranked(labels, scores, clusters_of(range(400)), Resamples(draws=400))
    assert (rounded.auc.value, rounded.ap.value) == (exact.auc.value, exact.ap.value)
    assert rounded.auc.low == pytest.approx(exact.auc.low, abs=0.01)
    assert rounded.auc.high == pytest.approx(exact.auc.high, abs=0.01)


def test_a_metric_in_parts_is_the_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, scores = (values.tolist() for values in drawn(2, 30, 0))
    metric = auc_and_ap(30, list(range(30)), scores, labels)
    weights = np.random.default_rng(0).integers(0, 3, size=(50, 30)).astype(float)
    monkeypatch.setattr(ranking, "_CELLS", 100)
    np.testing.assert_allclose(in_parts(metric, 30)(weights), metric(weights))


def test_f1_at_a_threshold_by_hand() -> None:
    """Called: .9 (error), .8 (not); missed: .3 (error). F1 = 2 / (2 + 1 + 1)."""
    found = thresholded(
        [True, False, True, False], [0.9, 0.8, 0.3, 0.1], clusters_of([1, 2, 3, 4]), Resamples(draws=50), threshold=0.5
    )
    assert (found.value, found.n) == (0.5, 4)
    assert thresholded([], [], clusters_of([]), Resamples(draws=50), threshold=0.5).value is None
