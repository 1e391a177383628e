"""Readers of labelled rows, and what a label is: on made-up rows of each form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.eval.datasets import Labelled
from eirene.eval.datasets.base import marked_faults, stretch
from tests.eval.datasets.labelled_rows import BEGIN, labels, one, read


def synthetic(kind: str = "swap", **changes: Any) -> dict[str, Any]:
    parts = [{"start": 0, "end": 16, "kind": "supported"}], [{"start": 22, "end": 31, "kind": "unsupported"}]
    sentences = [
        {"start": 0, "end": 16, "unsupported": False, "parts": parts[0]},
        {"start": 17, "end": 32, "unsupported": True, "parts": parts[1]},
        {"start": 33, "end": 45, "unsupported": None, "parts": [{"start": 33, "end": 44, "kind": "supported"}]},
    ]
    meta = {"topic": "trams", "kind": kind, "wording": "w", "has_hallucination": True, "has_coverage_error": True,
            "has_wrong_side": False, "has_partial": False, "has_repetition": False, "sentences": sentences,
            "arguments": [{"id": "1", "missing": False}, {"id": "2", "missing": True}]}  # fmt: skip
    sides = [{"name": "pro", "arguments": ["Quiet trams."]}, {"name": "con", "arguments": ["Dear rails."]}]
    answer = "Trams are quiet. Some cats purr. Who can tell?"
    return {"id": kind, "question": "Trams?", "answer": answer, "perspectives": sides, "meta": {**meta, **changes}}


def test_synthetic_answers_are_known_by_how_they_were_made(tmp_path: Path) -> None:
    found = read(tmp_path, synthetic(), synthetic("half", has_partial=True), synthetic("side", has_wrong_side=True))
    (case,) = found.cases
    assert (case.cluster, case.hallucination, case.coverage, labels(case)) == ("trams", True, True, [False, True, None])
    assert case.missing == {("pro", 1): False, ("con", 1): True}
    assert [*found.left_out.values()] == [2]
    with pytest.raises(InputError, match="is no row of Synthetic NPOV answers"):
        read(tmp_path, synthetic(arguments=[]))


def test_labels_that_contradict_each_other_are_left_out_or_an_error(tmp_path: Path) -> None:
    bench = {"id": "1", "passage": "Trams are quiet.", "question": "Trams?", "answer": "Loud.", "source_ds": "made"}
    rows = [{**bench, "label": "PASS"}, {**bench, "label": "FAIL"}, {**bench, "id": "2", "label": "FAIL"}]
    found = read(tmp_path, *rows)
    assert ([case.item.id for case in found.cases], sum(found.left_out.values())) == (["2"], 2)
    own = {"question": "Trams?", "answer": "Loud.", "context": "Trams are quiet."}
    said = [{**own, "meta": {"labels": {"hallucination": faulty}}} for faulty in (True, False, True)]
    found = read(tmp_path, *said, *({**row, "context": "Trams are loud."} for row in said[::2]), {**said[1], "id": "3"})
    assert ([case.hallucination for case in found.cases], sum(found.left_out.values())) == ([True, True, False], 3)
    marked = {"labels": {"hallucination": False, "spans": [{"start": 0, "end": 4}]}}
    with pytest.raises(InputError, match="spans mark what 'hallucination': false denies"):
        read(tmp_path, {**own, "meta": marked})


OWN = {
    "id": "a",
    "question": "Trams?",
    "answer": "Quiet. Dear.",
    "perspectives": [{"name": "pro", "arguments": ["Quiet.", "Clean."]}],
}


def own(**labels_given: Any) -> dict[str, Any]:
    return {**OWN, "meta": {"labels": labels_given, "kind": "x", "free": [1]}}


def test_own_rows_say_what_they_know(tmp_path: Path) -> None:
    case = one(tmp_path, own(missing=[{"group": "pro", "n": 2}], spans=[{"start": 7, "end": 12}], cluster="c"))
    assert (case.cluster, case.hallucination, case.coverage, labels(case)) == ("c", True, True, [False, True])
    assert case.missing == {("pro", 1): False, ("pro", 2): True}
    bare = one(tmp_path, own(hallucination=False))
    assert (bare.hallucination, bare.coverage, bare.marks, bare.missing) == (False, None, None, {})


def test_labels_that_fit_nothing_are_refused(tmp_path: Path) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"missing": [{"group": "con", "n": 1}]}, "no argument 1 of 'con'"),
        ({"missing": [{"group": "pro", "n": 0}]}, r"line 1: 'meta.labels.missing\[0\].n' must be"),
        ({"spans": [{"start": 7, "end": 13}]}, "within the answer"),
        ({"spans": [{"start": 5, "end": 5}]}, "within the answer"),
        ({"hallucination": "yes"}, "meta.labels.hallucination"),
        ({"halucination": True}, "halucination"),
        ({}, "no labelled answer"),
    ]
    for labels_given, message in wrong:
        with pytest.raises(InputError, match=message):
            read(tmp_path, own(**labels_given))


SOUND = {**BEGIN, "begin_label": "Fully attributable"}


def test_a_row_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    wrong: list[tuple[tuple[object, ...], str]] = [
        (({"a": 1},), "line 1: is of no known labelled form; known: BEGIN"),
        (({"question": "x", "answer": "y", "meta": {}},), "needs 'labels' in its meta"),
        (({"hash": "h", "model_name": "m", "summary": "Rain."},), r"\. For FRANK it lacks Factuality"),
        ((SOUND, {"a": 1}), "line 2: is no row of BEGIN: there is no column 'message'"),
        ((SOUND, [1]), "line 2: is no row of BEGIN: no JSON object"),
        (({**SOUND, "response": " "},), "'answer' must not be blank"),
    ]
    for rows, message in wrong:
        with pytest.raises(InputError, match=message):
            read(tmp_path, *rows)


def test_a_fault_covers_a_sentence_if_it_covers_a_word_of_it() -> None:
    """A mark that ends in the white space before the next sentence says nothing of it; one letter into it does."""
    answer = "One two. Three four."
    for end, expected in ((9, [True, False]), (10, [True, True])):
        case = Labelled(Item(question="?", answer=answer), "c", marks=marked_faults(answer, [(4, end)]))
        assert labels(case) == expected


def test_marks_that_reach_over_the_ends_are_cut() -> None:
    """One outside the answer, turned round, or of another text stands nowhere."""
    marks: list[tuple[dict[str, object], object]] = [
        ({"start": -1, "end": 9}, (0, 3)),
        ({"start": 1, "end": 3, "text": "bc "}, (1, 3)),
        ({"start": 1, "end": 3, "text": "ab"}, None),
        ({"start": 7, "end": 9}, None),
        ({"start": 2, "end": 1}, None),
    ]
    assert [stretch("abc", mark) for mark, _ in marks] == [where for _, where in marks]
