"""Preference pairs: every form is read, what cannot be learnt from is dropped, no prompt falls on two sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data.json_rows import JsonBytes, Row
from eirene.prompts import Message
from recipes.train.preference_pairs import (
    EMPTY_PROMPT,
    EMPTY_SIDE,
    SAME_SIDES,
    PreferencePair,
    parse_pair,
    read_pairs,
    split_pairs,
    usable,
)
from tests.rows import each

USER, SAYS = {"role": "user", "content": "Why?"}, {"role": "assistant", "content": "Because."}
OTHER = {"role": "assistant", "content": "No idea."}
SYSTEM = {"role": "system", "content": "Be brief."}


def pair(data: object) -> PreferencePair:
    return parse_pair(Row("rows.jsonl, line 1", data))


@each("name", ["question", "question_text"])
def test_haluquestqa_rows_have_a_question(name: str) -> None:
    """`question_text` is what the published table calls it; other keys are passed over."""
    found = pair({name: "Why?", "preferred_response": "A.", "rejected_response": "B.", "source_file": "x"})
    assert found == PreferencePair("Why?", "A.", "B.", True, "rows.jsonl, line 1")


def test_standard_rows_have_a_prompt() -> None:
    found = pair({"prompt": "Q: why?\nA:", "chosen": " because", "rejected": " no", "score_chosen": 1})
    assert (found.prompt, found.chosen, found.rejected, found.is_question) == ("Q: why?\nA:", " because", " no", False)


@each(
    "data, turns",
    [
        ({"prompt": [USER], "chosen": [SAYS], "rejected": [OTHER]}, ("user",)),
        ({"prompt": [SYSTEM, USER], "chosen": [SAYS], "rejected": [OTHER]}, ("system", "user")),
        ({"chosen": [USER, SAYS], "rejected": [USER, OTHER]}, ("user",)),
        ({"prompt": "Why?", "chosen": [USER, SAYS], "rejected": [USER, OTHER]}, ("user",)),
        ({"prompt": "Why?", "chosen": [SAYS], "rejected": [OTHER]}, ("user",)),
        ({"prompt": [USER], "chosen": "Because.", "rejected": "No idea."}, ("user",)),
        ({"prompt": [USER, SAYS, USER], "chosen": [SAYS], "rejected": [OTHER]}, ("user", "assistant", "user")),
    ],
)
def test_conversations_are_read_wherever_the_prompt_stands(data: dict[str, Any], turns: tuple[str, ...]) -> None:
    found = pair(data)
    assert isinstance(found.prompt, tuple)
    assert tuple(t.role for t in found.prompt) == turns
    assert found.prompt[-1] == Message("user", "Why?")
    assert (found.chosen, found.rejected) == ("Because.", "No idea.")


@each("data, said", [
        ([], "a row must be a JSON object"),
        ({"question": "Why?"}, "a row needs HaluQuestQA's"),
        ({"preferred_response": "A.", "rejected_response": "B."}, "'question' is missing"),
        ({"question": 3, "preferred_response": "A.", "rejected_response": "B."}, "'question' must be a text, got int"),
        ({"question": "W\x00?", "preferred_response": "A.", "rejected_response": "B."}, "NUL character"),
        ({"chosen": "A.", "rejected": "B."}, "'prompt' is missing"),
        ({"prompt": "Q", "chosen": "A.", "rejected": [SAYS]}, "must both be texts, or both lists"),
        ({"prompt": 3, "chosen": [SAYS], "rejected": [OTHER]}, "'prompt' must be a text or a list"),
        ({"prompt": "How?", "chosen": [USER, SAYS], "rejected": [USER, OTHER]}, "must be the one message before"),
        ({"chosen": [USER], "rejected": [USER]}, "last message of 'chosen' must be the assistant's"),
        ({"chosen": [USER, SAYS], "rejected": [SYSTEM, OTHER]}, "differ in their last message alone"),
        ({"prompt": [USER, SAYS], "chosen": [SAYS], "rejected": [OTHER]}, "a user's must come before"),
        ({"prompt": [{"role": "tool", "content": "x"}], "chosen": [SAYS], "rejected": [OTHER]}, "'role' of system"),
        ({"prompt": [{"role": "user"}], "chosen": [SAYS], "rejected": [OTHER]}, "'content' is missing"),
        ({"prompt": [{"role": "user", "content": [{"type": "image"}]}], "chosen": [SAYS], "rejected": [OTHER]},
         "'content' must be a text, got list"),
    ])  # fmt: skip
def test_a_row_that_cannot_be_read_is_named(data: object, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        pair(data)
    assert caught.value.where == "rows.jsonl, line 1"


def test_what_cannot_be_learnt_from_is_counted_by_its_cause() -> None:
    rows = [
        {"question": "Why?", "preferred_response": "A.", "rejected_response": "B."},
        {"question": " ", "preferred_response": "A.", "rejected_response": "B."},
        {"question": "Why?", "preferred_response": None, "rejected_response": "B."},
        {"question": "Why?", "preferred_response": "A.", "rejected_response": "\n"},
        {"question": "Why?", "preferred_response": "The same.", "rejected_response": " The  same.\n"},
        {"chosen": [], "rejected": [USER, SAYS]},
    ]
    *good, odd = rows
    kept, dropped = usable(pair(row) for row in good)
    assert [p.chosen for p in kept] == ["A."]
    assert dropped == {EMPTY_PROMPT: 1, EMPTY_SIDE: 2, SAME_SIDES: 1}
    with pytest.raises(InputError, match="last message alone"):
        pair(odd)
    assert usable([pair({"chosen": [], "rejected": []})])[1] == {EMPTY_PROMPT: 1}


def numbered(*keys: int) -> list[PreferencePair]:
    return [PreferencePair(f"question {key}", f"good {i}", "bad", True, str(i)) for i, key in enumerate(keys)]


@given(st.lists(st.integers(0, 20), min_size=2), st.floats(0.01, 0.9), st.integers(0, 5))
def test_no_prompt_is_on_both_sides_and_no_pair_is_lost(keys: list[int], share: float, seed: int) -> None:
    pairs = numbered(*keys)
    distinct = len(set(keys))
    if max(1, round(share * distinct)) >= distinct:
        with pytest.raises(InputError, match="leaves none to train on"):
            split_pairs(pairs, share, seed=seed)
        return
    train, held = split_pairs(pairs, share, seed=seed)
    assert not {p.key for p in train} & {p.key for p in held}
    assert sorted(train + held, key=lambda p: int(p.where)) == pairs
    assert [int(p.where) for p in held] == sorted(int(p.where) for p in held)
    assert len({p.key for p in held}) == max(1, round(share * distinct))


def test_the_split_hangs_on_the_seed_and_nothing_is_held_out_for_a_share_of_none() -> None:
    pairs = numbered(*range(40))
    assert split_pairs(pairs, 0.2, seed=1) == split_pairs(pairs, 0.2, seed=1)
    assert split_pairs(pairs, 0.2, seed=1) != split_pairs(pairs, 0.2, seed=2)
    assert split_pairs(pairs, 0.0, seed=1) == (pairs, [])


def test_a_question_and_the_same_with_space_around_are_one() -> None:
    assert PreferencePair("Why? ", "a", "b", True, "1").key == PreferencePair("Why?", "c", "d", True, "2").key


def test_files_are_read_with_their_line_numbers(tmp_path: Path) -> None:
    rows = [{"question": "Wäre's 😀?", "preferred_response": "A.", "rejected_response": "B."}, {"question": "?"}]
    source = JsonBytes("rows.jsonl", "\n".join(json.dumps(r, ensure_ascii=False) for r in rows).encode())
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2"):
        read_pairs(source)
