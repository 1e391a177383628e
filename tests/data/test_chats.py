"""Chat data by `--reader chat`: the columns in use, and one clear error where a chat's order cannot be understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data.open import open_dataset

BEFORE = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Two old bridges?"},
          {"role": "assistant", "content": "The Forth Bridge and the Tay Bridge."}]  # fmt: skip
ASKED = {"role": "user", "content": "When was the first one opened?"}
ANSWER = {"role": "assistant", "content": "In 1890."}
TOOL = {"role": "tool", "tool_call_id": "1", "content": "The Forth Bridge was opened in March 1890."}
CALLS = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}


def read(row: Any, tmp_path: Path) -> Item:
    path = tmp_path / "chats.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return open_dataset(str(path), reader="chat").read()[0]


def share_gpt(turn: dict[str, Any]) -> dict[str, Any]:
    return {"from": {"user": "human", "assistant": "gpt"}.get(turn["role"], turn["role"]), "value": turn["content"]}


def test_the_last_question_and_answer_are_the_items_and_the_rest_its_history(
    subtests: pytest.Subtests, tmp_path: Path
) -> None:
    cases: list[Any] = [
        {"messages": [*BEFORE, ASKED, ANSWER]},
        {"messages": json.dumps([*BEFORE, ASKED, ANSWER])},
        {"conversations": [share_gpt(turn) for turn in [*BEFORE, ASKED, ANSWER]]},
        {"conversation": [*BEFORE, ASKED, ANSWER]},
        {"prompt": [*BEFORE, ASKED], "completion": [ANSWER]},
    ]
    for row in cases:
        with subtests.test(case=row):
            item = read({"id": 7, **row, "source": "forum"}, tmp_path)
            assert (item.id, item.question, item.answer) == ("7", ASKED["content"], ANSWER["content"])
            assert [turn.model_dump() for turn in item.history or ()] == BEFORE
            assert item.meta == {"source": "forum"}


def test_what_tools_returned_for_the_question_is_its_context(tmp_path: Path) -> None:
    earlier = [BEFORE[1], {**TOOL, "content": "found before"}, BEFORE[2]]
    item = read({"messages": [*earlier, ASKED, CALLS, TOOL, ANSWER]}, tmp_path)
    assert item.context == [TOOL["content"]]
    assert [turn.role for turn in item.history or ()] == ["user", "tool", "assistant"]


def test_a_chat_of_one_question_has_no_history(tmp_path: Path) -> None:
    assert read({"messages": [ASKED, ANSWER]}, tmp_path).history is None


def test_chats_in_parquet_and_a_history_in_a_column_of_its_own(tmp_path: Path) -> None:
    rows = {"messages": [[*BEFORE, ASKED, ANSWER]]}
    pq.write_table(pa.table(rows), tmp_path / "chats.parquet")
    assert len(open_dataset(str(tmp_path / "chats.parquet"), reader="chat").read()[0].history or ()) == 3
    own = {"question": ["Why?", "Why?"], "answer": ["So.", "Thus."], "history": [BEFORE, None]}
    pq.write_table(pa.table(own), tmp_path / "own.parquet")
    assert [len(item.history or ()) for item in open_dataset(str(tmp_path / "own.parquet")).read()] == [3, 0]


def test_a_chat_that_cannot_be_understood_is_one_clear_error(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[Any, str, str]] = [
        (
            {"messages": [*BEFORE, ASKED]},
            "'messages' ends with a message of the role 'user'; a chat ends",
            "messages",
        ),
        ({"messages": [ASKED, ANSWER], "id": [7]}, "the column 'id' must be", "id"),
        ({"messages": [ASKED, ANSWER, TOOL]}, "ends with a message of the role 'tool'", "messages"),
        ({"messages": [ASKED, ANSWER, ANSWER]}, "'assistant' between the last question and the answer", "messages"),
        ({"messages": [ASKED, BEFORE[0], ANSWER]}, "'system' between the last question and the answer", "messages"),
        ({"messages": [ANSWER]}, "has no message of the user", "messages"),
        ({"messages": []}, "holds no messages", "messages"),
        ({"messages": "hello"}, "must be [{", "messages"),
        (
            {"messages": [{**ASKED, "role": "wizard"}, ANSWER]},
            "must be 'system', 'user', 'assistant'",
            "messages",
        ),
        (
            {"text": "hello", "n": 1},
            "is no chat: it has no column messages, conversations, conversation, or prompt and completion; "
            "columns: text, n",
            "-",
        ),
    ]
    for row, said, field in cases:
        with subtests.test(case=row):
            with pytest.raises(InputError) as found:
                read(row, tmp_path)
            assert said in str(found.value)
            assert str(found.value).startswith(f"{tmp_path / 'chats.jsonl'}, line 1: ")
            assert (found.value.field or "-").startswith(field)
