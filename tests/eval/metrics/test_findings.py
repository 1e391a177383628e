"""Findings against annotations: the counts and figures, worked by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import Finding
from eirene.core.records import Item
from eirene.data.json_rows import Row
from eirene.eval.datasets.annotated import FAVA, HALUQUESTQA, Annotated, ExpertVerdict, haluquestqa, verdict
from eirene.eval.metrics.agreement import agreement
from eirene.eval.metrics.bootstrap import Resamples
from eirene.eval.metrics.findings import CaseFindings, answer_score, answer_scores, count_case, findings_report
from tests.rows import each

ANSWER = "Ann was born in Oslo. She sings well. He won a prize. It rained. The sun is hot."
#         0                     22              38              54         64


def case(*findings: Finding, answer: str = ANSWER, cluster: str = "q") -> Annotated:
    return Annotated(Item(id="a", question="Who?", answer=answer), findings, cluster)


def found(kind: Any, start: int, end: int) -> Finding:
    return Finding(kind=kind, start=start, end=end, reason="r")


GOLD = case(found("entity", 16, 20), found("subjective", 22, 37), found("entity", 38, 40))
PREDICTED = (found("entity", 16, 20), found("entity", 54, 56), found("invented", 22, 37))


def report(gold: Annotated, predicted: tuple[Finding, ...], **more: Any) -> dict[str, Any]:
    return findings_report([CaseFindings(gold, predicted)], FAVA, draws=50, **more)


def test_the_figures_of_a_case_worked_by_hand() -> None:
    """Precision, recall, F1, mean F1 and binary are those counted by hand on five sentences."""
    # Sentences 1 to 5. entity: marked 1, 3; predicted 1, 4: TP 1, FP 1, FN 1, TN 2: P = R = F1 = 1/2.
    # subjective: marked 2, predicted nowhere: F1 0. invented: predicted 2, marked nowhere: F1 0.
    # Mean over the three kinds that occur: 1/6. Any: marked 1, 2, 3; predicted 1, 2, 4: TP 2, FP 1, FN 1: F1 2/3.
    level = report(GOLD, PREDICTED)["sentences"]
    entity = level["entity"]
    assert (entity["precision"]["value"], entity["recall"]["value"], entity["f1"]["value"]) == (0.5, 0.5, 0.5)
    by_two = agreement([["1", "1"], ["0", "0"], ["1", "0"], ["0", "1"], ["0", "0"]], draws=2)
    assert entity["kappa"]["value"] == pytest.approx(by_two.kappa.value) == pytest.approx(1 / 6)
    assert "unscored" in level["relation"]["kappa"] and level["subjective"]["kappa"]["value"] == 0.0
    assert level["subjective"]["f1"]["value"] == 0.0
    assert "unscored" in level["subjective"]["precision"]
    assert level["invented"]["precision"]["value"] == 0.0
    assert "unscored" in level["relation"]["f1"]
    assert level["mean_f1"]["value"] == pytest.approx(1 / 6)
    assert level["mean_f1"]["kinds"] == 3
    assert level["any"]["f1"]["value"] == pytest.approx(2 / 3)
    # Pooled over the kinds: TP 1, FP 2, FN 2.
    assert [level["pooled"][name]["value"] for name in ("precision", "recall", "f1")] == pytest.approx([1 / 3] * 3)


def test_favas_average_is_the_f1_of_pooled_precision_and_recall() -> None:
    """Tables 13 and 14 ("OA") give table 2's "Avg." for the baselines, up to rounding; the mean (eq. 2) does not.

    For FAVA's own rows they do not, as printed: 46.6 and 46.4 beside 48.1 and 47.2.
    """
    for precision, recall, average in ((13.0, 33.6, 18.8), (17.2, 41.7, 24.4), (21.0, 41.0, 27.8)):
        assert 2 * precision * recall / (precision + recall) == pytest.approx(average, abs=0.1)  # of rounded figures
    assert round(sum((19.5, 28.6, 40.0, 11.8, 7.7, 0.0)) / 6, 1) == 17.9


def test_spans_are_counted_in_characters_without_white_space() -> None:
    """Of `She sings well.` (13 letters and dots), a prediction of `sings well` agrees in 9 of 13."""
    gold = case(found("subjective", 22, 37))
    level = report(gold, (found("subjective", 26, 36),))["characters"]["subjective"]
    assert (level["marked"], level["predicted"], level["agreed"]) == (13, 9, 9)
    assert level["f1"]["value"] == pytest.approx(2 * 9 / (13 + 9))


def test_a_finding_without_extent_is_in_the_sentence_where_it_stands() -> None:
    """An insertion counts in one sentence, at the very end of the text too."""
    for at, sentence in ((0, 0), (22, 1), (len(ANSWER), 4)):
        counts = count_case(case(found("entity", at, at)), (), FAVA).sentences[0]
        assert counts[2] == 1, sentence


def test_white_space_alone_touches_no_sentence() -> None:
    """A span that reaches over the space into the next sentence's gap does not put that sentence in error."""
    counts = count_case(case(found("entity", 16, 22)), (), FAVA).sentences[0]
    assert counts.tolist() == [0, 0, 1, 4]


def test_answers_without_a_critique_are_in_no_figure() -> None:
    """An abstained answer is counted with its reason, and is neither right nor wrong."""
    whole = findings_report([CaseFindings(GOLD, PREDICTED), CaseFindings(GOLD, None, "abstained: x")], FAVA, draws=50)
    assert (whole["scored"], whole["unscored"]) == (1, {"abstained: x": 1})
    assert whole["sentences"]["entity"]["of"] == 5


def test_one_cluster_has_no_interval() -> None:
    """Rows of a single question give a figure without an interval."""
    assert "low" not in report(GOLD, PREDICTED)["sentences"]["any"]["f1"]


SPANS = st.lists(
    st.tuples(st.sampled_from(FAVA.kinds), st.integers(0, len(ANSWER)), st.integers(0, len(ANSWER))).map(
        lambda t: found(t[0], min(t[1:]), max(t[1:]))
    ),
    max_size=5,
)


@given(SPANS)
def test_what_agrees_with_itself_is_perfect(findings: list[Finding]) -> None:
    """A prediction equal to the annotation has no alarm and no miss, at every level and for every kind."""
    counts = count_case(case(*findings), findings, FAVA)
    for level in (counts.sentences, counts.characters):
        assert level[:, 1:3].sum() == 0
    assert (counts.sentences.sum(axis=1) == 5).all()


@given(SPANS, SPANS)
def test_swapping_sides_swaps_alarms_and_misses(a: list[Finding], b: list[Finding]) -> None:
    """Precision of one side is recall of the other."""
    one, other = count_case(case(*a), b, FAVA), count_case(case(*b), a, FAVA)
    assert (one.sentences[:, [0, 1, 2, 3]] == other.sentences[:, [0, 2, 1, 3]]).all()
    assert (one.characters[:, [0, 1, 2, 3]] == other.characters[:, [0, 2, 1, 3]]).all()


PUBLISHED = {
    "source_file": "f.txt", "question_text": "Who?", "ans1_text": ANSWER, "ans2_text": "It rained.",
    "ans1_label": "human_answer", "ans2_label": "model_answer", "category": "law", "ans_preference": "Answer 2",
    "factuality_span": "['born in Oslo', 'Ann']", "factuality_reason": "['a', 'b']",
    "factuality_label": "['answer1', 'answer1']", "incomplete_ans_span": "['sings well. He', 'ANSWER2:']",
    "incomplete_ans_reason": "['c', 'd']", "incomplete_ans_label": "['answer1', 'answer2']",
    "reference_example_label": "['answer1', 'answer1']", "reference_example_helpful": "[True, False]",
    "ques_misconception_label": "",
}  # fmt: skip


def test_haluquestqas_answer_score_is_the_papers_formula() -> None:
    """EIR, section 3.3: of five sentences one is false (marked twice), two are incomplete; a reference does not help.

    1 - 1/5, 1, 1 - 2/5, 0 and 0: the mean is 0.48. The other answer lacks something as a whole: 1, 1, 0, 1, 1.
    """
    cases, _ = haluquestqa(PUBLISHED, Row("line 1", PUBLISHED))
    scores = [answer_score(one, one.verdict, HALUQUESTQA) for one in cases if one.verdict is not None]
    assert scores == [pytest.approx((0.8, 1, 0.6, 0, 0, 0.48, 1)), pytest.approx((1, 1, 0, 1, 1, 0.8, 1))]
    report = findings_report([CaseFindings(one, ()) for one in cases], HALUQUESTQA, draws=50)["answer_scores"]
    assert report["difference"]["overall"]["value"] == pytest.approx(0.32)
    assert report["human"]["fields"]["law"]["completeness"] == pytest.approx(0.6)


def test_the_mean_over_fields_is_the_average_of_the_papers_table() -> None:
    """EIR, table 1: 67 to 91 % of the model's answers are preferred, 80.71 % on average over the seven fields."""
    preferred = {
        "physics": 67,
        "chemistry": 78,
        "biology": 75,
        "technology": 84,
        "economics": 86,
        "history": 91,
        "law": 84,
    }
    cases = [
        Annotated(
            Item(question=name, answer="So."), (), f"{name} {n}", verdict=ExpertVerdict(writer, name, said, True, True)
        )
        for name, share in preferred.items()
        for n in range(100)
        for writer, said in (("human", n >= share), ("model", n < share))
    ]
    found = answer_scores(cases, HALUQUESTQA, Resamples(draws=10))
    assert round(100 * found["model"]["fields"]["average"]["preference"], 2) == 80.71
    assert round(100 * found["human"]["fields"]["average"]["preference"], 2) == 19.29


@each("change, message", [
    ({"ans_preference": "Answer 3"}, "needs 'ans_preference' Answer 1 or Answer 2"),
    ({"ans1_label": "x"}, "'ans1_label' human_answer or model_answer; got 'Answer 2' and 'x'"),
    ({"reference_example_helpful": "[True]"}, "1 verdicts on 2 references"),
])  # fmt: skip
def test_half_a_verdict_is_refused(change: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        verdict({**PUBLISHED, **change}, 1, "line 1")
    assert verdict({"question_text": "Who?"}, 1, "line 1") is None
