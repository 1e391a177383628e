"""Readers of published sets without arguments: what each label becomes, on made-up rows of each form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from tests.eval.datasets.labelled_rows import BEGIN, labels, one, read


def test_begin_knows_two_labels_and_leaves_the_third_out(tmp_path: Path) -> None:
    rows = [{**BEGIN, "begin_label": name} for name in ("Fully attributable", "Not fully attributable", "Generic")]
    found = read(tmp_path, *rows)
    assert [case.hallucination for case in found.cases] == [False, True]
    assert len({case.item.id for case in found.cases}) == 2  # the same texts, and yet two rows
    assert [*found.left_out.values()] == [1]
    assert found.cases[0].item.question.strip() and found.cases[0].item.context == ["Crayons."]


def test_a_missing_neighbour_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"sources\.jsonl"):
        read(tmp_path, {"source_id": 1, "response": "x", "labels": [], "task": "qa"})


def test_ragtruth_marks_places(tmp_path: Path) -> None:
    for task, source, question, context in [
        ("qa", {"question": "Trams?", "passages": "passage 1: quiet\n\npassage 2: dear"}, "Trams?", 2),
        ("summary", "A long text.", "What does the text say?", 1),
        ("data2txt", {"name": "Café", "open": None}, "What does the text say?", 2),
    ]:
        mark = {"start": 17, "end": 27, "text": "Cats purr.", "label_type": "Evident Conflict"}
        row = {"source_id": 5, "task": task, "model": "m", "response": "Trams are quiet. Cats purr.", "labels": [mark]}
        case = one(tmp_path, row, beside=("sources.jsonl", {"source_id": 5, "task": task, "source": source}))
        assert (case.hallucination, labels(case), case.item.question) == (True, [False, True], question)
        assert len(case.item.context or []) == context
        clean = one(tmp_path, {**row, "labels": []})
        assert (clean.hallucination, labels(clean)) == (False, [False, False])


def qa_feedback(errors: list[dict[str, Any]], passages: list[list[str]], missing: list[object]) -> dict[str, Any]:
    feedback = {"errors": errors, "missing-info": missing}
    return {
        "id": 1,
        "question": "Trams?",
        "passages": passages,
        "prediction 1": "Trams are quiet. Cats purr.",
        "feedback": feedback,
    }


def test_qa_feedback_counts_what_is_not_in_the_passages(tmp_path: Path) -> None:
    errors = [
        {"error type": "Irrelevant", "start": 0, "end": 16},
        {"error type": "Unverifiable", "start": 17, "end": 27},
    ]
    case = one(tmp_path, qa_feedback(errors, [["Trams", "They are quiet."]], [{"passage_id": 0}]))
    assert (case.hallucination, case.coverage, labels(case)) == (True, True, [False, True])
    blind = one(tmp_path, qa_feedback(errors, [], []))
    assert (blind.hallucination, blind.coverage, blind.marks) == (None, False, None)


def test_factool_is_judged_as_a_whole(tmp_path: Path) -> None:
    row = {"prompt": "Trams?", "response": "Yes.", "label": False, "claims": []}
    assert (one(tmp_path, row).hallucination, one(tmp_path, {**row, "label": True}).hallucination) == (True, False)


def test_haluquestqa_sentences_say_whether_an_answer_lacks_something(tmp_path: Path) -> None:
    sentences = [{"n": 1, "text": "Yes.", "tag": "Complete", "reason": ""}]
    assert one(tmp_path, {"question": "Trams?", "sentences": sentences}).coverage is False
