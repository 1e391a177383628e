"""Chat history of an item: the forms that it may come in, its bounds, and that items without one are what they were."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from eirene.core.errors import InputError
from eirene.core.history import MAX_CHARACTERS, MAX_TURNS, query_in_place
from eirene.core.records import Item, parse_item
from eirene.core.signature import digest
from tests.rows import each

PLAIN = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
LC = [HumanMessage("Hi."), AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}]), AIMessage("Hello.")]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "Hi."}]}, {"role": "model", "content": "Hello."}]


def item(history: Any) -> Item:
    return parse_item({"question": "And then?", "answer": "It ended.", "history": history})


@each(
    "history",
    [
        PLAIN,
        tuple(PLAIN),
        json.dumps(PLAIN),
        [("user", "Hi."), ("ai", "Hello.")],
        [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}],
        [{**PLAIN[0], "name": "Ann"}, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}, PLAIN[1]],
        LC,
        PARTS,
        item(PLAIN).history,
    ],
)
def test_messages_in_any_usual_form_are_one_history(history: Any) -> None:
    assert item(history).model_dump(mode="json")["history"] == PLAIN


def test_the_roles_of_other_forms_have_one_name_each() -> None:
    told = [SystemMessage("Be brief."), ToolMessage("42", tool_call_id="1"), {"role": "developer", "content": "Now."}]
    assert [turn.role for turn in item(told).history or ()] == ["system", "tool", "system"]


@each(
    "history, said",
    [
        ("Hi.", '\'history\' must be [{"role": "user", "content": "..."}'),
        ([{"role": "wizard", "content": "Hi."}], "'history[0].role' must be 'system', 'user', 'assistant' or 'tool'"),
        ([{"role": "user", "content": " "}], "'history[0].content' must not be blank"),
        ([{"role": "user"}], "got the object {'role': 'user'} among them"),
        ([{"role": "assistant", "content": None}], "'history[0].content'"),
        ([3], "got the number 3 among them"),
        (PLAIN[0], "got the object"),
        ([PLAIN[0]] * (MAX_TURNS + 1), f"has {MAX_TURNS + 1} turns; give at most {MAX_TURNS}"),
        ([{"role": "user", "content": "a" * (MAX_CHARACTERS + 1)}], f"give at most {MAX_CHARACTERS}, the last turns"),
        ([{"role": "user", "content": "\ud800"}], "half a surrogate pair"),
    ],
)
def test_what_is_no_history_is_one_clear_error(history: Any, said: str) -> None:
    with pytest.raises(InputError) as found:
        item(history)
    assert said in str(found.value)
    assert "\n" not in str(found.value)


@each("none", [None, [], "[]"])
def test_an_item_without_history_is_what_it_was(none: Any) -> None:
    old = {"question": "And then?", "answer": "It ended."}
    assert item(none).model_dump(mode="json") == parse_item(old).model_dump(mode="json")
    assert "history" not in item(none).model_dump(mode="json")
    nothing = {"perspectives": None, "context": None, "feedback": None, "gold": None, "meta": {}}
    assert item(none).id == "item-" + digest({**old, **nothing})[:12]  # as it was before there was a history
    assert item(PLAIN).id != item(none).id


def test_a_follow_up_is_searched_for_with_the_users_words_before_it() -> None:
    assert item(PLAIN).query == "Hi.\nAnd then?"
    assert query_in_place("Why?", item([PLAIN[1]]).history) == "Why?"
    assert item(None).query == "And then?"
    assert len(item([{"role": "user", "content": "a" * 50_000}]).query) < 1_100
