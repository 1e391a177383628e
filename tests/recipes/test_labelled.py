"""Readers of labelled sets as we laid them out: what each label becomes, on made-up rows of each form."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data.haluquestqa import find_span
from recipes.labelled import read_set
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


HALUQUESTQA = {
    "source_file": "f.txt",
    "question": "Trams?",
    **{f"answer{n}": text for n, text in ((1, "They hum. Cats purr."), (2, "Yes."))},
    **{f"answer{n}_source": source for n, source in ((1, "human"), (2, "model"))},
    "annotations": [
        {"aspect": "factuality", "target": "answer1", "span": "Cats  PURR.", "reason": "x"},
        {"aspect": "incomplete_ans", "target": "answer2", "span": "Yes.", "reason": "x"},
    ],
}
OF_OTHERS: list[tuple[dict[str, Any], list[bool | None], tuple[str, object] | None]] = [
    ({"question": "Trams?", "answer": "They hum. Cats purr.", "field": "Law", "system": "x",
      "claims": [{"claim": "They hum.", "support": "Partial", "evidence": ["On trams."]}]}, [True], None),
    ({"hash": "h", "dataset": "bbc", "model_name": "bart", "summary": "Rain.", "Factuality": 0.5}, [True],
     ("articles.jsonl", {"hash": "h", "article": "It was dry."})),
    ({"wiki_bio_test_idx": 4, "prompt": "On X", "passage": "He sang.", "reference": "X sang.",
      "sentences": [{"text": "He sang.", "label": "accurate"}]}, [False], None),
    ({"id": "", "query": "Trams?", "response": "Quiet.", "hallucination": "yes", "spans": ["Quiet."]}, [True], None),
    (HALUQUESTQA, [True, False], None),
]  # fmt: skip


def test_sets_of_others_as_we_laid_them_out_are_read_as_they_were_published(tmp_path: Path) -> None:
    """What their labels say is tested in `tests/eval/datasets/test_labelled_published.py`."""
    for row, wrong, beside in OF_OTHERS:
        assert [case.hallucination for case in read(tmp_path, row, beside=beside).cases] == wrong


def test_rows_that_fit_no_form_are_named(tmp_path: Path) -> None:
    wrong: list[tuple[tuple[object, ...], str]] = [
        (({"a": 1},), "line 1: is of no known labelled form; known: NPOV equivalence"),
        ((PAIR, POINT), "line 2: is no row of NPOV equivalence: no 'claim'"),
        ((PAIR, [1]), "line 2: is no row of NPOV equivalence: no JSON object"),
        (({**NPOV, "sentences": [5]},), "is no row of NPOV answers"),
        (({**NPOV, "response": " "},), "'answer' must not be blank"),
    ]
    for rows, message in wrong:
        with pytest.raises(InputError, match=message):
            read(tmp_path, *rows)


@given(st.text("ab .\n", min_size=1, max_size=30), st.integers(0, 30), st.integers(0, 30))
def test_a_piece_is_found_whatever_its_white_space(text: str, a: int, b: int) -> None:
    piece = text[min(a, b) : max(a, b)]
    span = find_span(text, piece.replace(" ", "\n"))
    if not piece.strip():
        assert span is None
    else:
        assert span is not None and text[slice(*span)].split() == piece.split()
