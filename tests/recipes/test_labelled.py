"""Readers of labelled sets as we laid them out: what each label becomes, on made-up rows of each form."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.eval.datasets import FORMS
from recipes.labelled import OURS, find_span, read_set
from tests.eval.datasets import labelled_rows
from tests.eval.datasets.labelled_rows import labels

read, one = (partial(reader, with_=read_set) for reader in (labelled_rows.read, labelled_rows.one))


NPOV = {
    "id": "m1",
    "claim_id": 7,
    "query": "Trams?",
    "pro_arguments": [{"id": "7-0", "text": "Trams are quiet."}, {"id": "7-1", "text": "Trams are clean."}],
    "con_arguments": [{"id": "7-2", "text": "Rails are dear."}],
    "response": "People disagree. Trams make no noise; also, cats purr. The case against it is that rails cost much.",
    "sentences": [
        {"text": "People disagree.", "parts": []},
        {
            "text": "Trams make no noise; also, cats purr.",
            "parts": [
                {"text": "trams make no noise.", "kind": "supported"},
                {"text": "cats purr", "kind": "unsupported_other_topic"},
            ],
        },
        {
            "text": "The case against it is that rails cost much.",
            "parts": [
                {"text": "rails cost much.", "kind": "repeated"},
            ],
        },
    ],
    "error_type": "swap_other_topic",
    "has_coverage_error": True,
    "missing_argument_ids": ["7-1"],
    "has_hallucination": True,
}


def test_npov_answers_have_labels_at_every_level(tmp_path: Path) -> None:
    case = one(tmp_path, NPOV)
    assert (case.cluster, case.hallucination, case.coverage) == ("7", True, True)
    assert case.missing == {("pro", 1): False, ("pro", 2): True, ("con", 1): False}
    assert labels(case) == [None, True, False]
    assert [case.item.answer[m.start : m.end] for m in case.marks or ()] == [
        "Trams make no noise",
        "cats purr",
        "rails cost much",
    ]


def test_sentences_without_parts_are_parts_unless_they_introduce(tmp_path: Path) -> None:
    sentences = [
        {"text": "People disagree.", "kind": "intro"},
        {"text": "Trams make no noise; also, cats purr.", "kind": "unsupported_same_topic"},
    ]
    case = one(tmp_path, {**NPOV, "sentences": sentences, "error_type": "none"})
    assert labels(case) == [None, True, None]


def test_wrong_side_answers_are_left_out_and_counted(tmp_path: Path) -> None:
    found = read(tmp_path, NPOV, {**NPOV, "id": "w", "error_type": "wrong_side"})
    assert [case.item.id for case in found.cases] == ["m1"]
    assert list(found.left_out.values()) == [1]


PAIR = {"claim_id": 3, "claim": "Trams!", "side": "pro", "argument": "Quiet.", "other": "No noise.", "equivalent": 1}


POINT = {
    "topic": "Trams!",
    "stance": "con",
    "arg_id": "a1",
    "argument": "They cost.",
    "key_point_id": "k1",
    "key_point": "Dear.",
    "label": 0,
}


@pytest.mark.parametrize(
    ("row", "answer", "place", "lacks"),
    [(PAIR, "No noise.", ("pro", 1), False), (POINT, "They cost.", ("con", 1), True)],
)
def test_a_pair_of_arguments_is_an_answer_to_one(
    tmp_path: Path, row: object, answer: str, place: tuple[str, int], lacks: bool
) -> None:
    case = one(tmp_path, row)
    assert (case.item.answer, case.coverage, case.missing) == (answer, lacks, {place: lacks})
    assert case.hallucination is None and case.marks is None


def expertqa(*support: str | None) -> dict[str, Any]:
    texts = ["Trams are quiet.", "Rails are steel.", "Cats purr."]
    claims = [{"claim": t, "support": s, "evidence": [f"On: {t}"]} for t, s in zip(texts, support, strict=False)]
    return {"question": "Trams?", "answer": " ".join(texts), "claims": claims, "field": "Law", "system": "x"}


def test_expertqa_is_judged_by_what_has_evidence(tmp_path: Path) -> None:
    for support, known, sentences in [
        (("Complete", "Partial", "Missing"), True, [False, True, None]),
        (("Complete", "Complete", "Complete"), False, [False, False, False]),
        (("Complete", "N/A", None), None, [False, None, None]),
        (("Incomplete",), True, [True, None, None]),
    ]:
        case = one(tmp_path, expertqa(*support))
        assert (case.hallucination, labels(case)) == (known, sentences)
        assert case.item.context is not None and len(case.item.context) == len(support)


def test_frank_takes_the_article_from_beside_it(tmp_path: Path) -> None:
    row = {
        "hash": "h",
        "dataset": "bbc",
        "model_name": "bart",
        "summary": "Rain.",
        "Factuality": 0.5,
    }
    case = one(tmp_path, row, beside=("articles.jsonl", {"hash": "h", "article": "It was dry."}))
    assert (case.hallucination, case.item.context) == (True, ["It was dry."])
    good = one(tmp_path, {**row, "Factuality": 1.0})
    assert good.hallucination is False


def test_wikibio_judges_sentences_against_the_reference(tmp_path: Path) -> None:
    sentences = [{"text": "He sang.", "label": "accurate"}, {"text": "He  flew.", "label": "minor_inaccurate"}]
    row = {
        "wiki_bio_test_idx": 4,
        "prompt": "On X",
        "passage": "He sang. He flew. He died.",
        "reference": "X sang.",
        "sentences": sentences,
    }
    case = one(tmp_path, row)
    assert (case.hallucination, labels(case), case.item.context) == (True, [False, True, None], ["X sang."])


def test_halueval_marks_the_lines_it_can_find(tmp_path: Path) -> None:
    row = {
        "id": "",
        "query": "Trams?",
        "response": "Quiet.\nDear.\nFast.",
        "hallucination": "yes",
        "spans": ["Quiet.\nFast."],
    }
    assert labels(one(tmp_path, row)) == [True, False, True]
    lost = one(tmp_path, {**row, "spans": ["Quiet.\nNot there."]})
    assert (lost.hallucination, lost.marks) == (True, None)
    unplaced = one(tmp_path, {**row, "spans": []})
    assert (unplaced.hallucination, unplaced.marks) == (True, None)
    assert labels(one(tmp_path, {**row, "hallucination": "no", "spans": []})) == [False, False, False]


def test_rows_that_fit_no_form_are_named_and_forms_have_names_of_their_own(tmp_path: Path) -> None:
    wrong: list[tuple[tuple[object, ...], str]] = [
        (({"a": 1},), "line 1: is of no known labelled form; known: NPOV answers"),
        ((PAIR, POINT), "line 2: is no row of NPOV equivalence: no 'claim'"),
        ((PAIR, [1]), "line 2: is no row of NPOV equivalence: no JSON object"),
        (({**NPOV, "sentences": [5]},), "is no row of NPOV answers"),
        (({**NPOV, "response": " "},), "'answer' must not be blank"),
    ]
    for rows, message in wrong:
        with pytest.raises(InputError, match=message):
            read(tmp_path, *rows)
    names = [form.name for form in (*OURS, *FORMS)]
    assert len({*names}) == len(names)


def test_haluquestqa_gives_two_answers(tmp_path: Path) -> None:
    remarks = [
        {"aspect": "factuality", "target": "answer1", "span": "Cats  PURR."},
        {"aspect": "incomplete_ans", "target": "answer2", "span": "Yes."},
        {"aspect": "factuality", "target": "answer2", "span": "ANSWER2:"},
        {"aspect": "ques_misconception", "target": "question1", "span": "x"},
    ]
    row = {
        "source_file": "f.txt",
        "category": "law",
        "question": "Trams?",
        "answer1": "They hum. Cats purr.",
        "answer1_source": "human",
        "answer2": "Yes.",
        "answer2_source": "model",
        "annotations": remarks,
    }
    first, second = read(tmp_path, row).cases
    assert (first.hallucination, first.coverage, labels(first)) == (True, False, [False, True])
    assert (second.hallucination, second.coverage) == (True, True)
    assert labels(second) == [True]  # the word for the answer itself is on all of it
    assert first.cluster == second.cluster


@given(st.text("ab .\n", min_size=1, max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_a_piece_is_found_whatever_its_white_space(text: str, a: int, b: int) -> None:
    piece = text[min(a, b) : max(a, b)]
    span = find_span(text, piece.replace(" ", "\n"))
    if not piece.strip():
        assert span is None
    else:
        assert span is not None and text[slice(*span)].split() == piece.split()
