"""Both forms of HaluQuestQA's completeness data."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.data.haluquestqa import (
    PUBLISHED_ROWS,
    TaggedAnswer,
    parse_tagged_answer,
    published_split,
    read_tagged_answers,
)
from eirene.data.json_rows import JsonBytes, Row

PUBLISHED = {
    "instruction": "Judge.",
    "input": "Question: What is\nit?\nAnswer: 1. It has 3. parts\nand a line.\n2. A list: 7. x",
    "output": "1. [Incomplete] Reasons: two\nlines\n2. [Complete]",
}
ROWS = {
    "question": "What is\nit?",
    "sentences": [
        {"n": 1, "text": "It has 3. parts\nand a line.", "tag": "Incomplete", "reason": "two\nlines"},
        {"n": 2, "text": "A list: 7. x", "tag": "Complete", "reason": ""},
    ],
    "instruction": "Judge.",
}


def parse(data: Any) -> TaggedAnswer:
    return parse_tagged_answer(Row("here", data))


def test_both_forms_say_the_same() -> None:
    published, rows = parse(PUBLISHED), parse(ROWS)
    assert published == rows
    assert published.statements == ("It has 3. parts\nand a line.", "A list: 7. x")
    assert (published.tags, published.reasons) == (("Incomplete", "Complete"), ("two\nlines", None))


def test_the_statements_are_the_sentences_of_the_answer() -> None:
    found = parse(ROWS)
    assert "".join(s.raw for s in found.sentences) == found.answer
    assert tuple(s.text for s in found.sentences) == found.statements
    assert [found.answer[s.start : s.end] for s in found.sentences] == [s.raw for s in found.sentences]


def test_a_published_row_that_does_not_fit_is_named(subtests: pytest.Subtests) -> None:
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"output": "1. [Complete]"}, "'output' judges 1 statements, 'input' has 2", "output"),
        ({"output": "1. [Complete]\n2. fine"}, "'output' has no tag for statement 2: 'fine'", "output"),
        (
            {"output": "1. [Incomplete]\n2. [Complete]"},
            "'sentences.0.' is Incomplete and has no reason",
            "sentences[0]",
        ),
        ({"input": "Answer: 1. x"}, "'input' must hold 'Question: ...' and a line 'Answer: 1. ...'", "input"),
        ({"input": 3}, "'input' must be a text that is not blank, got 3", "input"),
        ({"output": " "}, "'output' must be a text that is not blank, got ' '", "output"),
        ({"instruction": ""}, "'instruction' must not be blank", "instruction"),
    ]
    for change, said, field in cases:
        with subtests.test(case=change):
            with pytest.raises(InputError, match=f"^here: .*{said}") as caught:
                parse({**PUBLISHED, **change})
            assert caught.value.field == field


def test_a_row_that_does_not_fit_is_named(subtests: pytest.Subtests) -> None:
    cases: list[Any] = [
        3,
        {},
        {**ROWS, "sentences": ["x"]},
        {**ROWS, "sentences": [{"text": "x", "tag": "complete"}]},
        {**ROWS, "sentences": [{"text": "x", "tag": "Incomplete"}]},
        {**ROWS, "sentences": [{"text": "x", "tag": "Incomplete", "reason": 3}]},
        {**ROWS, "sentences": "x"},
    ]
    for bad in cases:
        with subtests.test(case=bad), pytest.raises(InputError, match="here"):
            parse(bad)


def test_a_row_has_its_own_id_or_its_contents() -> None:
    assert parse({**ROWS, "row": 7}).id == "7"
    assert parse({**ROWS, "id": "a", "row": 7}).id == "a"
    assert parse(ROWS).id == parse(PUBLISHED).id != parse({**ROWS, "question": "Other?"}).id


def test_the_published_split_is_a_partition_of_the_published_sizes() -> None:
    """The training rows begin as `datasets.train_test_split(test_size=0.1, seed=42)` gives them."""
    lines = "\n".join(json.dumps({**ROWS, "row": n}) for n in range(PUBLISHED_ROWS))
    rows = read_tagged_answers(JsonBytes("file.jsonl", lines.encode()))
    train, test = published_split(rows)
    assert (len(train), len(test)) == (458, 51)
    assert sorted(int(r.id) for r in train + test) == list(range(PUBLISHED_ROWS))
    assert [int(r.id) for r in train[:6]] == [404, 53, 346, 424, 213, 492]
    assert [int(r.id) for r in test + train] == np.random.default_rng(42).permutation(PUBLISHED_ROWS).tolist()
    with pytest.raises(InputError, match="one of 509 rows, the file has 3"):
        published_split(rows[:3])
