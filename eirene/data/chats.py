"""Reads chat data: rows with a column of messages, whose last question and answer become the item's.

The columns in use are `messages` (OpenAI, TRL), `conversations` (ShareGPT: `from` and `value`) and `conversation`; or
TRL's `prompt` and `completion`, two lists of messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from eirene.core.coercion import CoercionError
from eirene.core.errors import InputError
from eirene.core.history import HistoryTurn, as_turns
from eirene.core.json import NotJsonableError, jsonable
from eirene.core.validation import validated
from eirene.data.columns import Fields, field_value

COLUMNS = ("messages", "conversations", "conversation")
_PAIR = ("prompt", "completion")
_WANTED = "a chat ends with a question of the user, what tools returned for it, and one answer of the assistant"


def read(data: Mapping[str, Any], where: str) -> Fields:
    """The last question, the turns before it as `history`, the answer, and what tools returned for it as `context`.

    A tool's results for earlier questions stay in the history. Raises `InputError` that says what stands where
    something else is wanted.
    """
    columns: tuple[str, ...] = next(((name,) for name in COLUMNS if data.get(name) is not None), ())
    if not columns and all(data.get(name) is not None for name in _PAIR):
        columns = _PAIR
    if not columns:
        known = f"{', '.join(COLUMNS)}, or {' and '.join(_PAIR)}"
        raise InputError(f"is no chat: it has no column {known}; columns: {', '.join(data)}", where=where)
    turns = [turn for name in columns for turn in _turns(data[name], name, where)]
    found = Fields(split_chat(turns, column=columns[0], where=where), used=set(columns))
    if data.get("id") is not None:
        found.values["id"] = field_value("id", data["id"], column="id", where=where)
        found.used.add("id")
    return found


def split_chat(turns: Sequence[HistoryTurn], *, column: str, where: str) -> dict[str, Any]:
    """The fields of a chat that ends with its answer."""
    asked = [n for n, turn in enumerate(turns) if turn.role == "user"]
    if not asked:
        raise _wrong("has no message of the user", column, where)
    last = asked[-1]
    between, answer = turns[last + 1 : -1], turns[-1]
    if answer.role != "assistant":
        raise _wrong(f"ends with a message of the role {answer.role!r}", column, where)
    others = [turn.role for turn in between if turn.role != "tool"]
    if others:
        raise _wrong(f"has a message of the role {others[0]!r} between the last question and the answer", column, where)
    passages = [turn.content for turn in between]
    found = {"question": turns[last].content, "answer": answer.content}
    return {
        **found,
        **({"history": list(turns[:last])} if last else {}),
        **({"context": passages} if passages else {}),
    }


def _turns(value: object, column: str, where: str) -> list[HistoryTurn]:
    try:
        found = as_turns(jsonable(value)) or []
    except (NotJsonableError, CoercionError) as error:
        raise InputError(f"the column {column!r} {error}", field=column, where=where) from None
    if not found:
        raise InputError(f"the column {column!r} holds no messages", field=column, where=where)
    return [validated(HistoryTurn, turn, where=where, under=column) for turn in found]


def _wrong(what: str, column: str, where: str) -> InputError:
    return InputError(f"the column {column!r} {what}; {_WANTED}", field=column, where=where)
