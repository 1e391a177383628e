"""The figures of an evaluation: against scikit-learn, by hand, and what must not depend on what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import Item
from eirene.core.scores import Score, Scores, Unscored
from eirene.core.usage import Usage
from eirene.eval.base import Case
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detectors import (
    DetectorRow,
    EvaluationPlan,
    ScoredCases,
    costs,
    curves,
    detector_report,
    dev_clusters,
    relative_to_best,
    row_key,
)
from tests.scripted_parts import ScriptedDetector

PLAN = EvaluationPlan(draws=200)


def case(n: int, label: bool, *, cluster: str | None = None) -> Labelled:
    item = Item(id=str(n), question="Trams?", answer="Quiet. " * (1 + n % 4))
    return Labelled(item, cluster or f"c{n}", hallucination=label)


def part(labels: Sequence[bool], **by: Sequence[Score]) -> ScoredCases:
    cases = [case(n, label) for n, label in enumerate(labels)]
    scores = {name: [Scores(hallucination=s, coverage=0.0) for s in values] for name, values in by.items()}
    return ScoredCases(cases, scores)


def drawn(n: int = 60, seed: int = 0) -> tuple[list[bool], list[float], list[float]]:
    rng = np.random.default_rng(seed)
    labels = rng.random(n) < 0.4
    a = np.clip(0.3 + 0.3 * labels + 0.2 * rng.normal(size=n), 0, 1)
    b = np.clip(0.4 + 0.1 * labels + 0.2 * rng.normal(size=n), 0, 1)
    return labels.tolist(), a.tolist(), b.tolist()


def level(report: dict[str, Any]) -> dict[str, Any]:
    assert len(report["levels"]) == 1
    found: dict[str, Any] = report["levels"][0]
    return found


def test_figures_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    labels, a, b = drawn()
    data = part(labels, a=a, b=b)
    found = level(detector_report(data, None, plan=PLAN))
    aside = dev_clusters(data.cases, PLAN)
    outside = [i for i, c in enumerate(data.cases) if c.cluster not in aside]
    for name, scores in (("a", a), ("b", b)):
        entry = found["detectors"][name]
        assert entry["auc"]["value"] == pytest.approx(roc_auc_score(labels, scores), abs=1e-9)
        assert entry["ap"]["value"] == pytest.approx(average_precision_score(labels, scores), abs=1e-9)
        called = [scores[i] >= entry["threshold"] for i in outside]
        assert entry["f1"]["value"] == pytest.approx(f1_score([labels[i] for i in outside], called), abs=1e-9)
        assert entry["f1"]["n"] == len(outside) == 42
    pair = found["pairs"][0]
    assert pair["difference"]["value"] == pytest.approx(roc_auc_score(labels, a) - roc_auc_score(labels, b))
    assert pair["difference"]["low"] < pair["difference"]["value"] < pair["difference"]["high"]


def test_thresholds_come_from_the_development_set_alone() -> None:
    """Two sets that differ in where errors begin: the threshold is the development set's, whatever the data say."""
    labels = [True, False] * 4
    data = part(labels, a=[0.9, 0.8] * 4)
    found = level(detector_report(data, part(labels, a=[0.4, 0.2] * 4), plan=PLAN))
    entry = found["detectors"]["a"]
    assert entry["threshold"] == pytest.approx(0.3)
    assert (entry["f1"]["value"], entry["f1"]["n"]) == (pytest.approx(2 / 3), 8)
    assert entry["auc"]["value"] == 1.0


def test_a_development_part_without_both_classes_gives_no_f1() -> None:
    labels = [True, False] * 4
    found = level(detector_report(part(labels, a=[0.9, 0.8] * 4), part([True], a=[0.5]), plan=PLAN))
    assert found["detectors"]["a"]["f1"]["unscored"] == "the development part has not both errors and others"
    assert "threshold" not in found["detectors"]["a"]


def test_unscored_answers_are_counted_by_reason_and_left_out() -> None:
    labels = [True, False] * 6
    scores: list[Score] = [0.9, 0.1] * 5 + [Unscored(unscored="no"), Unscored(unscored="no")]
    silent: list[Score] = [Unscored(unscored="never")] * 12
    found = level(detector_report(part(labels, a=scores, silent=silent), None, plan=PLAN))
    assert (found["detectors"]["a"]["scored"], found["detectors"]["a"]["unscored"]) == (10, {"no": 2})
    assert found["detectors"]["silent"] == {"scored": 0, "unscored": {"never": 12}}
    assert found["pairs"] == []


def test_two_detectors_are_compared_on_what_both_have_scored() -> None:
    labels, a, b = drawn()
    holes: list[Score] = [Unscored(unscored="no") if i % 5 == 0 else s for i, s in enumerate(b)]
    whole = level(detector_report(part(labels, a=a, b=holes), None, plan=PLAN))["pairs"][0]
    kept = [i for i in range(60) if i % 5]
    alone = part([labels[i] for i in kept], a=[a[i] for i in kept], b=[b[i] for i in kept])
    by_hand = level(detector_report(alone, None, plan=PLAN))["pairs"][0]
    assert whole["n"] == 48
    assert whole["difference"]["value"] == pytest.approx(by_hand["difference"]["value"])
    assert 0.001 <= whole["p"] <= 1


def test_p_values_are_corrected_for_the_number_of_pairs() -> None:
    labels, a, b = drawn()
    found = level(detector_report(part(labels, a=a, b=b, c=b[::-1]), None, plan=PLAN))["pairs"]
    assert len(found) == 3
    raw = sorted(pair["p"] for pair in found)
    assert sorted(pair["holm"] for pair in found)[0] == pytest.approx(min(1, 3 * raw[0]))


def test_a_floor_takes_the_direction_that_is_better_where_thresholds_are_chosen() -> None:
    """Answers without errors are the long ones: fewer words mean an error."""
    cases = [case(n, n % 4 < 2) for n in range(40)]
    data = ScoredCases(cases, {"a": [Scores(hallucination=0.5, coverage=0.5)] * 40})
    found = level(detector_report(data, None, plan=PLAN))
    words = found["floors"]["words"]
    assert (words["direction"], words["auc"]["value"]) == ("fewer", 1.0)
    assert found["floors"]["all"]["ap"]["value"] == 0.5
    assert found["detectors"]["a"]["auc"]["value"] == 0.5


def test_the_same_seed_gives_the_same_figures_and_they_are_plain_json() -> None:
    labels, a, b = drawn()
    first, second = (
        json.dumps(detector_report(part(labels, a=a, b=b), None, plan=PLAN), allow_nan=False) for _ in "12"
    )
    assert first == second


def test_one_cluster_leaves_nothing_to_choose_on() -> None:
    cases = [case(n, n % 2 == 0, cluster="one") for n in range(8)]
    data = ScoredCases(cases, {"a": [Scores(hallucination=n / 8, coverage=0.0) for n in range(8)]})
    assert dev_clusters(cases, PLAN) == set()
    assert "unscored" in level(detector_report(data, None, plan=PLAN))["detectors"]["a"]["f1"]


def test_an_impossible_plan_is_refused_before_anything_is_spent() -> None:
    for plan, message in [
        (EvaluationPlan(dev_share=0.0), "dev-share must lie between 0 and 1, got 0"),
        (EvaluationPlan(dev_share=1.0), "dev-share"),
        (EvaluationPlan(draws=0), "draws must be at least 1"),
    ]:
        with pytest.raises(InputError, match=message):
            plan.check()


def test_curves_end_where_everything_is_called_an_error() -> None:
    labels, a, b = drawn(2000)
    (found,) = curves(part(labels, a=a, one=[0.5] * 2000, b=b))
    for points in found["detectors"].values():
        assert (points["fpr"][0], points["tpr"][0], points["fpr"][-1], points["tpr"][-1]) == (0, 0, 1, 1)
        assert points["precision"][-1] == pytest.approx(found["rate"])
        assert len(points["recall"]) <= 300


def test_costs_are_sums_of_rows_and_an_unknown_price_stays_unknown() -> None:
    def row(n: int, cost: float | None, *, failed: bool = False) -> DetectorRow:
        scores = Scores.none("late") if failed else Scores(hallucination=0.1, coverage=0.1)
        usage = Usage(calls=2, input_tokens=10, cost_usd=cost, seconds=float(n))
        return DetectorRow(
            key=str(n), id=str(n), detector="judge", version="v", scores=scores, usage=usage, failed=failed
        )

    found = costs([row(1, 0.5), row(2, 0.25), row(3, 0.0, failed=True)])["judge"]
    assert (found["answers"], found["failed"], found["calls"], found["cost_usd"]) == (3, 1, 6, 0.75)
    assert (found["seconds"]["total"], found["seconds"]["median"]) == (6.0, 2.0)
    assert costs([row(1, 0.5), row(2, None)])["judge"]["cost_usd"] is None


def test_a_row_is_known_by_all_that_its_scores_hang_on() -> None:
    given = Grounding("context", (ArgumentGroup("context", ("x",)),))
    computing, asking = ScriptedDetector({}), ScriptedDetector({}, needs=frozenset({"judge"}))
    one = row_key(Case("q", "a", given), computing, seed=0)
    others = [
        row_key(Case("q", "b", given), computing, seed=0),
        row_key(Case("q", "a", given, samples=("s",)), computing, seed=0),
        row_key(Case("q", "a", given, token_logprobs=((-1.0,),)), computing, seed=0),
        row_key(Case("q", "a", Grounding("perspectives", given.groups)), computing, seed=0),
        row_key(Case("q", "a", given), ScriptedDetector({}, name="other"), seed=0),
        row_key(Case("q", "a", given), asking, seed=0),
    ]
    assert len({one, *others}) == 7
    assert row_key(Case("q", "a", given), computing, seed=1) == one
    assert row_key(Case("q", "a", given), asking, seed=1) != others[-1]


def test_shares_of_the_best_are_those_that_chainpoll_prints() -> None:
    """Tables 1 and 5 (63 and 52 % there, of areas that were not rounded)."""
    shares = relative_to_best({"chainpoll": 0.781, "bertscore": 0.673, "ngram": 0.644, "random": 0.5})
    assert list(shares.values()) == pytest.approx([1, 0.63, 0.52, 0], abs=0.015)
    assert relative_to_best({"a": 0.5, "b": 0.4}) == {}


def test_graded_labels_are_ranked_with_and_without_what_the_systems_explain() -> None:
    """As scipy has it; a detector that knows the systems alone ranks nothing within them."""
    from scipy.stats import kendalltau, spearmanr

    rng = np.random.default_rng(0)
    systems = [n % 3 for n in range(60)]
    grades = [0.2 * s + 0.3 * rng.random() for s in systems]
    cases = [
        replace(case(n, True), grade=g, system=str(s)) for n, (s, g) in enumerate(zip(systems, grades, strict=True))
    ]
    by = {"knows": [0.3 * s for s in systems], "same": grades}
    scores = {name: [Scores(hallucination=v, coverage=0.0) for v in values] for name, values in by.items()}
    report = detector_report(ScoredCases(cases, scores), None, plan=PLAN)["graded"]
    assert report["knows"]["spearman"]["value"] == pytest.approx(spearmanr(by["knows"], grades).statistic)
    assert report["knows"]["kendall"]["value"] == pytest.approx(kendalltau(by["knows"], grades).statistic)
    assert report["same"]["given_length"]["value"] == pytest.approx(1.0)
    assert report["same"]["within_systems"]["value"] == pytest.approx(1.0)
    assert "unscored" in report["knows"]["within_systems"]
