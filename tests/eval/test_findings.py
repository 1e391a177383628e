"""Findings against annotations: the counts and figures worked by hand, the readers of published forms, predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.critique import Critique, Finding, TaggedSentence
from eirene.errors import InputError
from eirene.eval.findings import Annotated, Found, findings_report, read_annotated
from eirene.eval.findings.counts import count_case
from eirene.eval.findings.predictions import findings_of, read_predictions
from eirene.eval.findings.report import as_printed
from eirene.eval.findings.taxonomy import TAXONOMIES
from eirene.records import Item

FAVA = TAXONOMIES["FAVA"]
ANSWER = "Ann was born in Oslo. She sings well. He won a prize. It rained. The sun is hot."
#         0                     22              38              54         64


def case(*findings: Finding, answer: str = ANSWER, cluster: str = "q") -> Annotated:
    return Annotated(Item(id="a", question="Who?", answer=answer), findings, cluster)


def found(kind: Any, start: int, end: int) -> Finding:
    return Finding(kind=kind, start=start, end=end, reason="r")


GOLD = case(found("entity", 16, 20), found("subjective", 22, 37), found("entity", 38, 40))
PREDICTED = (found("entity", 16, 20), found("entity", 54, 56), found("invented", 22, 37))


def report(gold: Annotated, predicted: tuple[Finding, ...], **more: Any) -> dict[str, Any]:
    return findings_report([Found(gold, predicted)], FAVA, draws=50, **more)


def test_the_figures_of_a_case_worked_by_hand() -> None:
    """Precision, recall, F1, mean F1 and binary are those counted by hand on five sentences."""
    # Sentences 1 to 5. entity: marked 1, 3; predicted 1, 4: TP 1, FP 1, FN 1, TN 2: P = R = F1 = 1/2.
    # subjective: marked 2, predicted nowhere: F1 0. invented: predicted 2, marked nowhere: F1 0.
    # Mean over the three kinds that occur: 1/6. Any: marked 1, 2, 3; predicted 1, 2, 4: TP 2, FP 1, FN 1: F1 2/3.
    level = report(GOLD, PREDICTED)["sentences"]
    entity = level["entity"]
    assert (entity["precision"]["value"], entity["recall"]["value"], entity["f1"]["value"]) == (0.5, 0.5, 0.5)
    assert level["subjective"]["f1"]["value"] == 0.0
    assert "unscored" in level["subjective"]["precision"]
    assert level["invented"]["precision"]["value"] == 0.0
    assert "unscored" in level["relation"]["f1"]
    assert level["mean_f1"]["value"] == pytest.approx(1 / 6)
    assert level["mean_f1"]["kinds"] == 3
    assert level["any"]["f1"]["value"] == pytest.approx(2 / 3)


def test_the_printed_formula_counts_agreeing_negatives() -> None:
    """Equation 1 as printed has every agreement in the numerator, and so gives 3/2 where two of five are right."""
    printed = report(GOLD, PREDICTED)["sentences"]["entity"]["as_printed"]
    assert printed == {"precision": 1.5, "recall": 1.5, "f1": 1.5}  # (TP 1 + TN 2) / 2 predicted, / 2 marked
    assert as_printed(hits=0, alarms=0, misses=2, right=3) == {"precision": None, "recall": 1.5, "f1": None}


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
    whole = findings_report([Found(GOLD, PREDICTED), Found(GOLD, None, "abstained: x")], FAVA, draws=50)
    assert (whole["scored"], whole["unscored"]) == (1, {"abstained: x": 1})
    assert whole["sentences"]["entity"]["of"] == 5


def test_gain_is_a_mean_over_what_was_scored_twice() -> None:
    """A detector's gain leaves out the answers that it could not score, and says how many."""
    rows = [
        Found(case(cluster="a"), (), gain={"d": 0.5}),
        Found(case(cluster="b"), (), gain={"d": -0.1}),
        Found(case(cluster="c"), (), gain={"d": None}),
    ]
    gain = findings_report(rows, FAVA, draws=50)["gain"]["d"]
    assert gain["value"] == pytest.approx(0.2)
    assert (gain["n"], gain["better"], gain["worse"], gain["without"]) == (2, 1, 1, 1)


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


def write(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_favabench_rows_are_read_by_their_tags(tmp_path: Path) -> None:
    """A tagged row gives the untagged original, findings at its offsets with edits, and the reference as context."""
    tagged = "Messi is <entity><delete>American</delete><mark>Argentine</mark></entity>. "
    tagged += "<subjective>He is great.</subjective>"
    data = read_annotated(write(tmp_path / "f.jsonl", {"prompt": "Messi?", "annotated": tagged, "reference": "Messi."}))
    (one,) = data.cases
    assert (data.taxonomy.name, one.item.answer, one.item.context) == (
        "FAVA",
        "Messi is American. He is great.",
        ["Messi."],
    )
    spans = [(f.kind, one.item.answer[f.start : f.end], f.edit) for f in one.findings]
    assert spans == [("entity", "American", "Argentine"), ("subjective", "He is great.", "")]


def test_favabench_answers_of_several_models_to_one_prompt_are_one_cluster(tmp_path: Path) -> None:
    """Rows cluster by their prompt, whatever their ids; one without a prompt stands for itself."""
    rows = [{"id": "1", "prompt": "Messi?", "annotated": "One."}, {"id": "2", "prompt": "Messi?", "annotated": "Two."},
            {"id": "3", "annotated": "Three."}, {"annotated": "Four."}]  # fmt: skip
    cases = read_annotated(write(tmp_path / "f.jsonl", *rows)).cases
    assert cases[0].cluster == cases[1].cluster
    assert len({case.cluster for case in cases}) == 3


def test_a_tagged_text_of_another_original_is_refused(tmp_path: Path) -> None:
    """A row whose tagged text is not its own passage names the row."""
    path = write(tmp_path / "f.jsonl", {"annotated": "a <entity>b</entity>", "passage": "something else"})
    with pytest.raises(InputError, match=r"line 1.*not the row's original"):
        read_annotated(path)


def test_ragtruth_kinds_become_two_classes(tmp_path: Path) -> None:
    """Conflict is `contradictory`, whatever kind at odds with the source finds it; baseless is `unverifiable`."""
    write(tmp_path / "sources.jsonl", {"source_id": 1, "task": "summary", "source": "Rain fell."})
    labels = [
        {"start": 0, "end": 3, "text": "Sun", "label_type": "Evident Conflict", "meta": "m"},
        {"start": 10, "end": 14, "text": "Bob ", "label_type": "Subtle Baseless Info", "meta": "m"},
    ]
    row = {"source_id": 1, "task": "summary", "response": "Sun fell. Bob sang.", "model": "m", "labels": labels}
    data = read_annotated(write(tmp_path / "responses.jsonl", row))
    assert [f.kind for f in data.cases[0].findings] == ["contradictory", "unverifiable"]
    made = findings_report(
        [Found(data.cases[0], (found("entity", 0, 3), found("unsupported", 10, 19)))], data.taxonomy, draws=20
    )
    assert made["sentences"]["mean_f1"]["value"] == 1.0


def test_qa_feedback_leaves_incoherence_out_and_counts_it(tmp_path: Path) -> None:
    """A fault of the writing is no finding; the report says how many were left out."""
    errors = [
        {"start": 0, "end": 4, "error type": "Wrong-Grounding", "explanation": "no"},
        {"start": 0, "end": 4, "error type": "Incoherent", "explanation": None},
        {"start": 5, "end": 99, "error type": "Redundant", "explanation": None},
    ]
    row = {
        "id": 0, "question": "When?", "passages": [["T", "It was in May."]], "prediction 1": "June it was.",
        "feedback": {"errors": errors, "missing-info": []},
    }  # fmt: skip
    data = read_annotated(write(tmp_path / "q.jsonl", row))
    assert [(f.kind, f.end) for f in data.cases[0].findings] == [("contradictory", 4), ("repeated", 12)]
    assert data.left_out == {"Incoherent: no kind of ours": 1}


def test_haluquestqa_aspects_are_findings(tmp_path: Path) -> None:
    """All five aspects become findings: before the answer (the question's), on the whole of it, or at their text."""
    remarks = [
        {"aspect": "ques_misconception", "target": "question1", "span": "why", "reason": "not so"},
        {"aspect": "factuality", "target": "answer1", "span": "is  green", "reason": "blue"},
        {"aspect": "incomplete_ans", "target": "answer1", "span": "ANSWER 1", "reason": "short"},
        {"aspect": "irrelevance", "target": "answer2", "span": "Fish swim.", "reason": "fish"},
        {"aspect": "reference_example", "target": "answer2", "span": "Fish", "reason": "good", "helpful": True},
        {"aspect": "factuality", "target": "answer2", "span": "not there", "reason": "?"},
    ]
    row = {
        "source_file": "s.txt", "category": "c", "question": "why", "answer1": "Sky is green.",
        "answer2": "Light. Fish swim.", "annotations": remarks,
    }  # fmt: skip
    data = read_annotated(write(tmp_path / "h.jsonl", row))
    first, second = ([(f.kind, f.start, f.end) for f in c.findings] for c in data.cases)
    assert first == [("misconception", 0, 0), ("factuality", 4, 12), ("completeness", 0, 13)]
    assert second == [("relevance", 7, 17)]
    assert data.left_out == {"factuality: its text is not in the answer": 1}


def test_tagged_sentences_keep_their_annotators_cut(tmp_path: Path) -> None:
    """Incomplete statements are findings of kind completeness, in the sentences that annotators saw."""
    sentences = [{"text": "One. Two.", "tag": "Incomplete", "reason": "r"}, {"text": "Three.", "tag": "Complete"}]
    data = read_annotated(write(tmp_path / "s.jsonl", {"question": "q", "sentences": sentences}))
    assert (len(data.cases[0].sentences), data.cases[0].findings[0].end) == (2, 9)


def test_own_rows_and_unknown_forms(tmp_path: Path) -> None:
    """A row of Eirene's with findings in its meta is read; anything else is an error that names the known forms."""
    row = {"question": "q", "answer": "ab", "meta": {"findings": [{"kind": "entity", "start": 0, "end": 1}]}}
    assert read_annotated(write(tmp_path / "o.jsonl", row)).cases[0].findings[0].kind == "entity"
    row["meta"] = {"findings": [{"kind": "entity", "start": 0, "end": 9}]}
    with pytest.raises(InputError, match="within the answer"):
        read_annotated(write(tmp_path / "o.jsonl", row))
    row["meta"] = {"findings": [{"kind": "entity", "start": 0, "end": 1}, {"kind": "typo", "start": 0, "end": 1}]}
    with pytest.raises(InputError, match="number 2, 'kind'"):
        read_annotated(write(tmp_path / "o.jsonl", row))
    with pytest.raises(InputError, match="FavaBench"):
        read_annotated(write(tmp_path / "o.jsonl", {"x": 1}))


def test_predictions_are_read_in_all_their_forms(tmp_path: Path) -> None:
    """A tagged text, a list of findings and a critique of one answer say the same."""
    cases = [case(answer="Ann was born in Oslo.")]
    tagged = {"id": "a", "tagged": "Ann was born in <entity><delete>Oslo</delete><mark>Rome</mark></entity>."}
    listed = {"id": "a", "findings": [{"kind": "entity", "start": 16, "end": 20}]}
    sentence = TaggedSentence(
        n=1,
        text=cases[0].item.answer,
        start=0,
        end=21,
        tag="Incomplete",
        reason="r",
        findings=(found("entity", 16, 20),),
    )
    critique = Critique(
        sentences=(sentence,), tag_consistency=1, reason_consistency=1, n_drawn=1, n_valid=1, n_requested=1
    )
    voted = {"id": "a", "critique": critique.model_dump(mode="json")}
    for row in (tagged, listed, voted, {"id": "a", "rounds": [{"critique": voted["critique"]}]}):
        (made,) = read_predictions(write(tmp_path / "p.jsonl", row), cases)
        assert [(f.kind, f.start, f.end) for f in made.findings or ()] == [("entity", 16, 20)]


def test_a_tagged_text_that_is_no_copy_of_the_answer_is_unscored(tmp_path: Path) -> None:
    """A refusal finds no fault, and must not count as having looked."""
    cases = read_annotated(
        write(tmp_path / "d.jsonl", {"id": "a", "annotated": "Ann was born in Oslo, they say."})
    ).cases
    said = write(tmp_path / "p.jsonl", {"id": "a", "tagged": "I'm sorry, I cannot help with that."})
    (made,) = read_predictions(said, cases)
    assert made.findings is None
    assert "another text" in (made.unscored or "")


def test_predictions_that_fit_no_answer_are_refused(tmp_path: Path) -> None:
    """An unknown id, an id given twice and offsets outside the answer are errors; a missing row is unscored."""
    cases = [case()]
    listed = {"id": "a", "findings": []}
    for rows, words in (
        ([{**listed, "id": "b"}], "no answer of the data"),
        ([listed, listed], "twice"),
        ([{"id": "a", "findings": [{"kind": "entity", "start": 0, "end": 999}]}], "within the answer"),
        ([{"id": "a"}], "is no prediction"),
        ([{"findings": []}, {"findings": []}], "2 rows without ids"),
    ):
        with pytest.raises(InputError, match=words):
            read_predictions(write(tmp_path / "p.jsonl", *rows), cases)
    other = Annotated(Item(id="b", question="Who?", answer="x"), (), "q")
    made = read_predictions(write(tmp_path / "p.jsonl", listed), [*cases, other])
    assert (made[0].findings, made[1].findings, made[1].unscored) == ((), None, "no prediction with its id")


def test_a_tag_without_findings_is_a_finding_on_its_sentence() -> None:
    """What a critic of completeness says in words alone is of kind completeness."""
    sentences = (
        TaggedSentence(n=1, text="One.", start=0, end=4, tag="Incomplete", reason="too short"),
        TaggedSentence(n=2, text="Two.", start=5, end=9, tag="Complete"),
    )
    critique = Critique(
        sentences=sentences, tag_consistency=1, reason_consistency=1, n_drawn=1, n_valid=1, n_requested=1
    )
    assert [(f.kind, f.start, f.end) for f in findings_of(critique)] == [("completeness", 0, 4)]
