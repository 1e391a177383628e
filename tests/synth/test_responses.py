"""Errors made in responses that somebody has written: the paper's recipe."""

from __future__ import annotations

from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.data.topics import Topic
from eirene.npov import compose
from eirene.npov.respond import to_be_said
from eirene.synth import AnswerRecipe, AnswerTotals, synthesise
from eirene.synth.plans import CORE, Kind
from tests.rows import each
from tests.synth.material import TOPICS


def response(topic: Topic, seed: int, **fields: Any) -> Item:
    drawn, _ = to_be_said(topic, per_side=1 + seed % 3, seed=seed)
    draft = compose(drawn, seed=seed)
    sides = [{"name": s.name, "arguments": [a.text for a in s.arguments]} for s in drawn.sides]
    text = f"{draft.introduction}\n\n{draft.main}"
    row = {"id": f"{topic.id}-{seed}", "question": topic.question, "answer": text, "perspectives": sides}
    return parse_item({**row, **fields})


def make(items: list[Item], **options: Any) -> tuple[list[Item], AnswerTotals]:
    made = AnswerTotals(AnswerRecipe(**{"wordings": ("given",), **options}))
    return list(synthesise(TOPICS, made.recipe, made, responses=items)), made


def by_kind(rows: list[Item]) -> dict[str, Any]:
    return {str(r.meta["kind"]): r for r in rows}


def given(item: Item) -> set[str]:
    return {text for side in item.perspectives or () for text in side.arguments}


def test_the_recipe_changes_what_is_given_and_not_the_response() -> None:
    original = response(TOPICS[0], 1)
    rows = by_kind(make([original], kinds=CORE)[0])
    assert {r.answer for r in rows.values()} == {original.answer}
    assert given(rows["none"]) == given(original)
    added, removed = given(rows["coverage"]) - given(original), given(original) - given(rows["hallucination"])
    assert (len(added), len(removed)) == (1, 1)
    assert given(original) < given(rows["coverage"])
    assert given(rows["hallucination"]) < given(original)
    assert len(given(rows["both"]) ^ given(original)) == 2


def test_labels_name_the_added_and_the_removed_argument_and_its_sentence() -> None:
    texts = {a.id: a.text for _, a in TOPICS[0].arguments}
    rows = by_kind(make([response(TOPICS[0], 1)], kinds=CORE)[0])
    meta: Any = rows["both"].meta
    (missing,), (foreign,) = meta["missing_argument_ids"], meta["foreign_argument_ids"]
    assert texts[missing] in given(rows["both"])
    assert texts[foreign] not in given(rows["both"])
    (bad,) = [s for s in meta["sentences"] if s["unsupported"]]
    assert texts[foreign].rstrip(".").lower() in rows["both"].answer[bad["start"] : bad["end"]].lower()


def test_a_repetition_is_one_sentence_more() -> None:
    original = response(TOPICS[0], 1)
    row = by_kind(make([original])[0])["repetition"]
    meta: Any = row.meta
    assert meta["counts"]["sentences"] == len(meta["sentences"])
    assert len(row.answer) > len(original.answer)
    assert len(meta["repeated_argument_ids"]) == 1


def test_paraphrased_means_that_the_given_arguments_are() -> None:
    """As in the paper: not the response is reworded, what it is compared with is."""
    original = response(TOPICS[0], 1)
    (row,) = [r for r in make([original], wordings=("paraphrase",), kinds=("none",))[0]]
    assert row.answer == original.answer
    assert not given(row) & given(original)
    known = {w for _, a in TOPICS[0].arguments for w in a.paraphrases}
    assert given(row) <= known


def test_what_a_sentence_says_in_other_words_is_not_known() -> None:
    text = "People differ. Those in favour like clean air. Those against need their cars for work."
    sides = [
        {"name": "pro", "arguments": ["Streets without cars have cleaner air."]},
        {"name": "con", "arguments": ["Commuters from the country have no bus that could replace their car."]},
    ]
    item = parse_item({"question": TOPICS[0].question, "answer": text, "perspectives": sides})
    (row,) = make([item], kinds=("none",))[0]
    meta: Any = row.meta
    assert [s["unsupported"] for s in meta["sentences"]] == [None] * 3


@each(
    "fields, cause",
    [
        ({"question": "Another?"}, "response: its topic is not in the file"),
        ({"perspectives": [{"name": "pro", "arguments": ["Who knows."]}]}, "response: an argument or a side"),
        ({"perspectives": None}, "response: an argument or a side"),
    ],
)
def test_a_response_that_cannot_be_used_is_counted(fields: dict[str, Any], cause: str) -> None:
    rows, made = make([response(TOPICS[0], 0, **fields)])
    assert rows == []
    assert [n for text, n in made.left_out.items() if text.startswith(cause)] == [1]


@each("meta", [{"topic": "cash"}, {"npov": {"topic": "cash"}}])
def test_meta_names_the_topic_before_the_question_does(meta: dict[str, Any]) -> None:
    topic = next(t for t in TOPICS if t.id == "cash")
    rows, _ = make([response(topic, 0, question="How does one pay?", meta=meta)], kinds=("none",))
    assert [r.meta["topic"] for r in rows] == ["cash"]


def test_the_response_s_own_layout_stays() -> None:
    original = response(TOPICS[0], 1)
    assert "\n\n" in original.answer
    rows, _ = make([original], kinds=("none", "repetition"))
    assert all(r.answer.count("\n\n") == original.answer.count("\n\n") for r in rows)


def test_kinds_that_cannot_be_made_are_refused_alone_and_make_no_group() -> None:
    kinds: tuple[Kind, ...] = ("wrong_side", "partial")
    with pytest.raises(InputError, match="with given responses"):
        make([response(TOPICS[0], 0)], kinds=kinds)
    # All arguments of the topic are given, so that none can be missing: no group comes of it.
    sides = [{"name": s.name, "arguments": [a.text for a in s.arguments]} for s in TOPICS[0].sides]
    rows, made = make([response(TOPICS[0], 1, perspectives=sides)], kinds=("coverage",))
    assert (rows, made.groups, made.left_out["coverage: not possible in a group"]) == ([], 0, 1)
