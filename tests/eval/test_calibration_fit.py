"""Weights and thresholds fitted on labels: what is better is called so, what is not is called that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

from eirene.core.errors import InputError
from eirene.core.scores import log_odds, probability
from eirene.eval.calibration import EDGE
from eirene.eval.calibration_fit import (
    FEWEST_UNSCORED,
    CalibrationPlan,
    LabelledScores,
    best_cut,
    calibrate,
    counts_of,
    cross_validated,
    fit,
    folds_of,
    loss_of,
)
from eirene.eval.metrics.levels import levels
from tests.eval.calibration_scores import low, made, noise, upside_down

PLAN = CalibrationPlan(draws=200)
VERSIONS = {"a": "1", "b": "2", "c": ""}


def scored(data: object) -> LabelledScores:
    (level,) = levels(data.cases, data.scores)  # type: ignore[attr-defined]
    return LabelledScores(level.labels, level.clusters[1], level.values)


def test_the_loss_by_fold_is_far_from_a_constants_where_a_detector_knows_and_beside_it_where_none_does() -> None:
    found = [
        calibrate(data, VERSIONS, PLAN).figures["errors"]["hallucination"]["loss"]
        for data in (made(a=low), made(a=noise, b=noise))
    ]
    assert found[0]["low"] < found[0]["value"] < found[0]["high"] < 0.3
    assert found[1]["low"] < 0.5 < found[1]["high"]


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**63 - 1))
def test_the_same_seed_gives_the_same_file_byte_for_byte(seed: int) -> None:
    plan = CalibrationPlan(seed=seed, draws=50)
    one, other = (calibrate(made(a=low, b=noise), VERSIONS, plan).to_text() for _ in range(2))
    assert one == other and f'"seed": {seed}' in one


def test_answers_to_one_question_stand_in_one_fold() -> None:
    data = scored(made(a=low, per_question=4))
    folds = folds_of(data, folds=5, seed=3)
    assert sorted(np.concatenate(folds).tolist()) == list(range(120))
    questions = [set(data.clusters[test].tolist()) for test in folds]
    assert all(not one & other for i, one in enumerate(questions) for other in questions[:i])


def test_an_answer_is_called_by_a_fit_that_has_not_seen_its_label() -> None:
    data = scored(made(a=low))
    called = cross_validated(data, folds=5, seed=0)
    for test in folds_of(data, folds=5, seed=0):
        turned = data.labels.copy()
        turned[test] = ~turned[test]
        training = np.setdiff1d(np.arange(120), test)
        found, _ = fit(LabelledScores(turned, data.clusters, data.values).part(training))
        assert found is not None
        expected = data.part(test).log_odds(found) >= found.threshold
        assert called[test].tolist() == expected.tolist()


def test_weights_are_those_of_logistic_regression_on_standardised_log_odds() -> None:
    data = scored(made(a=low, b=lambda wrong, rng: low(wrong, rng) * 2))
    found, _ = fit(data)
    assert found is not None
    x = np.array([[log_odds(v, edge=EDGE) for v in data.values[name]] for name in ("a", "b")]).T
    model = LogisticRegression(tol=1e-10, max_iter=10_000).fit((x - x.mean(0)) / x.std(0), data.labels)
    expected = model.predict_proba((x - x.mean(0)) / x.std(0))[:, 1]
    assert [probability(v) for v in data.log_odds(found)] == pytest.approx(expected.tolist(), abs=1e-4)


def test_a_detector_whose_score_falls_where_there_are_errors_has_no_part() -> None:
    found, left_out = fit(scored(made(a=low, b=upside_down)))
    assert found is not None and [i.detector for i in found.inputs] == ["a"] and list(left_out) == ["b"]
    with pytest.raises(InputError, match=r"no detector says anything of hallucination: b its score does not rise"):
        calibrate(made(b=upside_down), VERSIONS, PLAN)


def test_unscored_answers_have_a_weight_of_their_own() -> None:
    """A detector that gives up on errors above all: that it did says more than any score."""
    given_up = made(a=lambda wrong, rng: None if wrong and rng.random() < 0.8 else 0.4 + 0.1 * rng.random(), b=noise)
    found, _ = fit(scored(given_up))
    assert found is not None
    a = next(i for i in found.inputs if i.detector == "a")
    assert a.unscored is not None and a.unscored > 1
    assert found.log_odds({"a": None, "b": 0.5}) > found.log_odds({"a": 0.45, "b": 0.5})  # type: ignore[operator]


def test_too_few_unscored_answers_have_none_and_are_left_out() -> None:
    data = scored(made(a=low, b=low))
    values = {**data.values, "b": data.values["b"].copy()}
    values["b"][: FEWEST_UNSCORED - 1] = np.nan
    found, _ = fit(replace(data, values=values))
    assert found is not None and found.answers == 120 - (FEWEST_UNSCORED - 1)
    said = found.log_odds({"a": 0.1, "b": None})
    assert isinstance(said, str) and "b could not score" in said
    assert isinstance(found.log_odds({"a": None, "b": None}), str)


def test_too_few_labels_are_refused_with_their_number() -> None:
    for data, said in [
        (made(a=low, n=30), "10 answers with the error and 20 without, 20 of each are needed for 1 detectors"),
        (made(a=low, b=low, c=low, n=75), "25 answers with the error and 50 without, 30 of each are needed for 3"),
        (made(a=low, per_question=40), "in answers to 3 of them, its absence in 3, 5 of each are needed"),
    ]:
        with pytest.raises(InputError, match=said):
            calibrate(data, VERSIONS, PLAN)


def test_a_plan_that_cannot_be_done_is_refused() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"folds": 1}, "folds must be from 2 to 100, got 1"),
        ({"seed": -1}, "seed must be"),
        ({"draws": 0}, "draws must be"),
    ]
    for changed, said in wrong:
        with pytest.raises(InputError, match=said):
            replace(PLAN, **changed).check()


@given(st.lists(st.tuples(st.integers(-5, 5), st.booleans()), min_size=2, max_size=30))
def test_the_cut_is_the_best_there_is(rows: list[tuple[int, bool]]) -> None:
    values, labels = np.array([v for v, _ in rows], dtype=float), np.array([label for _, label in rows])
    if labels.all() or not labels.any():
        return
    every = [loss_of(counts_of(values >= cut, labels).sum(0)) for cut in np.arange(-6.5, 7)]
    cut = best_cut(values, labels)
    reached = float(loss_of(counts_of(values >= cut, labels).sum(0)))
    assert reached == pytest.approx(float(np.nanmin(every)))


def test_losses_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    labels, called = rng.random(50) < 0.3, rng.random(50) < 0.5
    counts = counts_of(called, labels).sum(0)
    assert float(loss_of(counts)) == pytest.approx(1 - balanced_accuracy_score(labels, called))
