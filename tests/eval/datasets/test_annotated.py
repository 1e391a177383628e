"""Annotations and predictions in their published forms, read as findings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.experiments.critic import findings_of, read_predictions
from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.eval.datasets.annotated import Annotated, read_annotated
from eirene.eval.metrics.findings import CaseFindings, findings_report
from tests.eval.metrics.test_findings import case, found


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
        [CaseFindings(data.cases[0], (found("entity", 0, 3), found("unsupported", 10, 19)))], data.taxonomy, draws=20
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
    with pytest.raises(InputError, match="number 2: 'kind' must be 'entity', "):
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
