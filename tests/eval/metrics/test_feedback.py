"""Figures of a feedback model from rows: cases worked out by hand, scikit-learn, and what must never happen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

from eirene.core.critique import Critique, Sample, Tag, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.usage import Usage
from eirene.data.json_rows import JsonBytes, Row
from eirene.eval.datasets.base import FeedbackCase, parse_feedback_case, read_feedback_cases
from eirene.eval.metrics.feedback import (
    OUTCOMES,
    FeedbackRow,
    always,
    counts,
    feedback_report,
    outcome,
    over_seeds,
    random_outcomes,
    reason_overlap,
    scored_row,
    strange_references,
)
from eirene.text.sentences import split_sentences

C: Tag = "Complete"
I: Tag = "Incomplete"  # noqa: E741  # the two tags, in tables
QA_ROW: dict[str, Any] = {
    "id": 3, "question": "Where is it?", "prediction 1": "It is here. It is there.",
    "passages": [["Title", "Title says. ", "More\nhere."], ["Other", "Text."]],
    "feedback": {"missing-info": [{"passage_id": 0}]},
}  # fmt: skip


def tags(text: str) -> tuple[Tag, ...]:
    """`CI` for Complete, Incomplete."""
    return tuple(C if c == "C" else I for c in text)


def row(gold: str | None, said: str, shares: list[float] | None = None, **more: Any) -> FeedbackRow:
    n = len(said)
    values: dict[str, Any] = {
        "id": "x", "key": "k", "signature": "s", "n_sentences": n, "gold": None if gold is None else tags(gold),
        "lacks": "I" in (gold or ""), "status": "scored", "tags": tags(said),
        "shares": shares or [float(c == "I") for c in said], "share_any": float("I" in said), "tag_consistency": 1.0,
        "reason_consistency": 1.0, "n_drawn": 20, "n_valid": 18,
    }  # fmt: skip
    return FeedbackRow.model_validate({**values, **more})


def unscored(status: str, **more: Any) -> FeedbackRow:
    return FeedbackRow.model_validate(
        {"id": "y", "key": "k", "signature": "s", "n_sentences": 2, "gold": tags("CI"), "lacks": True,
         "status": status, "why": "no quorum", **more}
    )  # fmt: skip


def report(rows: list[FeedbackRow]) -> dict[str, Any]:
    return feedback_report(rows, draws=200)


def test_exact_adjacent_different_by_hand() -> None:
    for said, gold, is_ in [
        ("IC", "IC", "exact"),
        ("CI", "ICC"[:2], "adjacent"),
        ("ICC", "CCI", "different"),
        ("CCI", "CIC", "adjacent"),
        ("CIIC", "CCIC", "adjacent"),  # only the first that is named counts
        ("ICI", "IIC", "exact"),
        ("CC", "CI", "different"),
        ("CC", "CC", "exact"),
        ("CI", "CC", "different"),
    ]:
        assert outcome(tags(said), tags(gold)) == is_


def test_chance_is_what_many_random_predictions_get() -> None:
    gold, rate, rng = tags("CCICI"), 0.3, np.random.default_rng(0)
    drawn = [outcome(tuple(I if u < rate else C for u in rng.random(5)), gold) for _ in range(20_000)]
    assert random_outcomes(gold, rate) == pytest.approx([drawn.count(o) / 20_000 for o in OUTCOMES], abs=0.012)
    assert sum(random_outcomes(tags("CC"), 0.2)) == pytest.approx(1.0)


def test_always_first_and_last_name_one_sentence() -> None:
    assert (always("first")(3), always("last")(3), always("last")(1)) == ([I, C, C], [C, C, I], [I])


def test_sentence_figures_are_scikit_learns_over_all_sentences() -> None:
    rng = np.random.default_rng(1)
    rows: list[FeedbackRow] = []
    gold: list[Any] = []
    scores: list[Any] = []
    votes: list[Any] = []
    for _ in range(30):
        n = int(rng.integers(1, 8))
        truth = rng.random(n) < 0.4
        shares = np.round(np.clip(truth * 0.3 + rng.random(n) * 0.7, 0, 1), 1)
        said = shares > 0.5
        rows.append(row("".join("CI"[int(t)] for t in truth), "".join("CI"[int(s)] for s in said), shares.tolist()))
        gold, scores, votes = [*gold, *truth], [*scores, *shares], [*votes, *said]
    overall = report(rows)["sentences"]["model"]["overall"]
    assert overall["auc"]["value"] == pytest.approx(roc_auc_score(gold, scores), abs=1e-9)
    assert overall["ap"]["value"] == pytest.approx(average_precision_score(gold, scores), abs=1e-9)
    assert overall["f1"]["value"] == pytest.approx(f1_score(gold, votes), abs=1e-9)
    assert all(e["low"] <= e["value"] <= e["high"] and e["n"] == len(gold) for e in overall.values())


def test_within_is_the_mean_over_the_answers_that_define_it() -> None:
    rows = [row("CI", "CI", [0.1, 0.9]), row("CI", "II", [0.9, 0.6]), row("II", "IC", [0.2, 0.1]), row("CC", "CC")]
    within = report(rows)["sentences"]["model"]["within"]
    assert (within["auc"]["value"], within["auc"]["n"]) == (0.5, 2)  # 1 and 0
    assert (within["ap"]["value"], within["ap"]["n"]) == (0.75, 2)  # 1 and 1/2
    assert (within["f1"]["value"], within["f1"]["n"]) == (pytest.approx((1 + 2 / 3 + 2 / 3) / 3), 3)


def test_a_model_that_knows_the_place_only_is_no_better_than_the_place() -> None:
    rows = [row("ICC", "ICC"), row("CIC", "ICC"), row("CCI", "ICC")]
    found = report(rows)
    assert found["paper"]["model"] == found["paper"]["always first"]
    assert found["sentences"]["model"] == found["sentences"]["always first"]
    assert [found["paper"]["model"][o]["value"] for o in OUTCOMES] == pytest.approx([1 / 3, 1 / 3, 1 / 3])


def test_rows_without_a_vote_are_counted_and_enter_no_figure() -> None:
    scored = [row("CI", "CI"), row("IC", "II"), row("CC", "CI")]
    alone, beside = report(scored), report([*scored, unscored("abstained"), unscored("failed", why="down")])
    assert beside["counts"]["answers"] == 5
    assert [beside["counts"][k] for k in ("scored", "abstained", "failed")] == [3, 1, 1]
    assert {c["why"]: c["answers"] for c in beside["counts"]["causes"]} == {"no quorum": 1, "down": 1}
    assert {k: v for k, v in beside.items() if k != "counts"} == {k: v for k, v in alone.items() if k != "counts"}


def test_with_no_vote_at_all_every_figure_is_named_unscored() -> None:
    found = report([unscored("abstained")] * 3)
    assert all("unscored" in found[part] for part in ("sentences", "paper", "calibration", "answers"))
    json.dumps(found, allow_nan=False)


def test_reports_are_plain_json_whatever_the_rows() -> None:
    for rows in ([], [row("C", "C")], [row("I", "I")], [row(None, "CI", lacks=True)]):
        json.dumps(report(rows), allow_nan=False)


def test_calibration_sees_consistency_that_goes_with_being_right() -> None:
    def rows(consistent_is_right: bool) -> list[FeedbackRow]:
        return [
            row("CCII", "CCII" if (c > 0.5) == consistent_is_right else "CCCC", tag_consistency=c, reason_overlap=c,
                reason_consistency=c)
            for c in (k / 20 for k in range(1, 21))
        ]  # fmt: skip

    right, wrong = (report(rows(flag))["calibration"] for flag in (True, False))
    assert right["tag_consistency"]["spearman"]["low"] > 0.5
    assert wrong["tag_consistency"]["spearman"]["high"] < -0.5
    assert right["reason_consistency"]["spearman"]["value"] == pytest.approx(1.0)
    bins = right["tag_consistency"]["bins"]
    assert [b["quality"]["n"] for b in bins] == [3, 4, 4, 4, 5]
    assert [b["quality"]["value"] for b in bins][::4] == [0.5, 1.0]


def test_answers_are_told_apart_where_there_are_both_kinds() -> None:
    lacking = [row(None, "CI", [0.1, 0.9], lacks=True, share_any=0.9)] * 6
    whole = [row(None, "CC", [0.0, 0.1], lacks=False, share_any=0.1)] * 5 + [row(None, "CI", lacks=False)]
    found = report(lacking + whole)["answers"]
    assert found["any_fault"]["auc"]["value"] == pytest.approx(30 / 36)  # the last whole one scores above all
    assert found["vote"]["accuracy"]["value"] == pytest.approx(11 / 12)
    assert found["vote"]["f1"]["value"] == pytest.approx(12 / 13)
    assert found["always lacking"] == {"auc": 0.5, "ap": 0.5, "f1": pytest.approx(2 / 3), "accuracy": 0.5}


def test_one_kind_of_answer_measures_nothing() -> None:
    """508 of HaluQuestQA's 509 answers lack something: no figure is made of the one that does not."""
    rows = [row("CI", "CI")] * 20 + [row("CC", "CC")]
    assert report(rows)["answers"] == {
        "unscored": "20 of the 21 answers with a vote lack something; at least 5 of each kind are needed"
    }


def test_counts_say_what_the_data_holds() -> None:
    found = counts([row("CII", "CCC"), row(None, "C"), unscored("failed")])
    assert (found["sentences"], found["incomplete_sentences"], found["answers_that_lack_something"]) == (5, 3, 2)
    assert (found["samples_drawn"], found["samples_valid"]) == (40, 36)


def critique(said: str, *reasons: str | None) -> Critique:
    sentences = tuple(
        TaggedSentence(n=n, text="x", start=0, end=1, tag=tag, reason=reason)
        for n, (tag, reason) in enumerate(zip(tags(said), reasons, strict=True), start=1)
    )
    return Critique(
        sentences=sentences, tag_consistency=0.5, reason_consistency=0.5, n_drawn=4, n_valid=3, n_requested=4
    )


def case(gold: str, *reasons: str | None) -> FeedbackCase:
    text = "It is red. It is blue. It is green."
    return FeedbackCase(Item(question="q", answer=text), split_sentences(text), "I" in gold, tags(gold), reasons)


def test_a_row_holds_the_shares_of_the_valid_samples() -> None:
    samples = [
        Sample(tags=tags("CII"), reasons=(None, "a, see https://x.org", "b")),
        Sample(tags=tags("CCI"), reasons=(None, None, "b")),
        Sample(invalid="refusal"),
        Sample(tags=tags("CCC"), reasons=(None, None, None)),
    ]
    found = scored_row(
        case("CCI", None, None, "x"), samples, critique("CCI", None, None, "b"), key="k", signature="s", usage=Usage()
    )
    assert found.shares == pytest.approx((0, 1 / 3, 2 / 3))
    assert found.share_any == pytest.approx(2 / 3)
    assert found.tags == tags("CCI")
    assert (found.samples_invent, found.vote_invents) == (pytest.approx(1 / 3), False)


def test_reasons_overlap_where_both_find_fault() -> None:
    """Stems {cost, park} and {park, fine}: one of two and one of two are shared, F1 1/2; other sentences are out."""
    found = reason_overlap(critique("III", "The costs of parking.", "x", "y"), case("ICC", "Parked fines.", None, None))
    assert found == pytest.approx(0.5)
    assert reason_overlap(critique("CCI", None, None, "y"), case("ICC", "Fines.", None, None)) is None


def test_references_that_were_given_are_not_invented() -> None:
    """Known from the annotators, whatever the scheme and the point behind them; text and case are no address."""
    known = case("ICC", "See (http://www.a.org/b).", None, None)
    assert strange_references(["https://A.org/b, as x.y says", None], known) == set()
    assert strange_references(["at www.a.org/c."], known) == {"a.org/c"}


def test_references_before_and_after_the_vote_are_paired() -> None:
    """EIR, section 4.1: from 20 to 10 % of the answers is its "50 % reduction"; unscored where there is one sample."""
    rows = [
        row("I", "I", samples_invent=share, vote_invents=said)
        for share, said, n in ((1.0, True, 5), (0.5, False, 8), (0.2, True, 5), (0.0, False, 32))
        for _ in range(n)
    ]
    found = report(rows)["references"]
    assert [found[name]["value"] for name in found] == pytest.approx([0.2, 0.2, 0.0, 0.0])
    halved = [one.model_copy(update={"vote_invents": one.samples_invent == 1.0}) for one in rows]
    found = report(halved)["references"]
    assert [found[name]["value"] for name in found] == pytest.approx([0.2, 0.1, -0.1, 0.5])
    assert found["difference"]["low"] < -0.1 < found["difference"]["high"] < 0
    assert "unscored" in report([row("I", "I", samples_invent=1.0, vote_invents=True, n_valid=1)])["references"]


def test_rows_that_contradict_themselves_are_refused() -> None:
    for bad in [{"shares": [0.1]}, {"n_sentences": 3}, {"status": "failed"}, {"share_any": 1.5}, {"surplus": 1}]:
        with pytest.raises(InputError):
            row("CI", "CI", **bad)


def test_qa_feedback_rows_carry_their_passages_and_whether_something_is_missing() -> None:
    found = parse_feedback_case(Row("here", QA_ROW))
    assert (found.item.id, found.lacks, found.tags) == ("3", True, None)
    assert found.item.context == ["Title says. More here.", "Other: Text."]
    assert [s.text for s in found.sentences] == ["It is here.", "It is there."]
    whole = parse_feedback_case(Row("here", {**QA_ROW, "feedback": {"missing-info": []}}))
    assert not whole.lacks
    assert parse_feedback_case(Row("here", {**QA_ROW, "passages": []})).item.context is None


def test_qa_feedback_rows_that_do_not_fit_are_named() -> None:
    for gone in ["question", "passages", "feedback"]:  # as published, rows have no id
        with pytest.raises(InputError, match="here: is not a row of QA-Feedback"):
            parse_feedback_case(Row("here", {k: v for k, v in QA_ROW.items() if k != gone}))


def test_every_case_has_an_id_of_its_own() -> None:
    data = {"question": "q", "sentences": [{"text": "a", "tag": "Complete"}], "id": "same"}
    lines = "\n".join([json.dumps(data)] * 3)
    assert [c.item.id for c in read_feedback_cases(JsonBytes("x.jsonl", lines.encode()))] == [
        "same",
        "same#2",
        "same#3",
    ]


def test_reports_of_seeds_become_means_with_their_spread() -> None:
    """2, 5, 5, 8: mean 5, variance 18 / 4. What a seed lacks is unscored, never a number."""
    reports = [
        {"auc": {"value": v, "low": 0.0, "high": 1.0, "n": 5}, "base": v, "bins": [{"from": 0}]} for v in (2, 5, 5, 8)
    ]
    joined = over_seeds(reports)
    assert joined == {
        "auc": {"value": 5, "spread": pytest.approx(4.5**0.5), "values": [2, 5, 5, 8], "n": 5},
        "base": 5,
        "bins": [{"from": 0}],
    }
    lacking = over_seeds([{"answers": {"vote": 1}}, {"answers": {"unscored": "too few"}}])
    assert lacking == {"answers": {"unscored": "not measured with every seed"}}
