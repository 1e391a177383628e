"""Chat history: the turns of a conversation before the question, in the form of chat messages (role and content).

What came last is the item's question and answer; passages stand in its `context`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict

from eirene.core.coercion import CoercionError, read_value_text
from eirene.core.json import NotJsonableError, jsonable
from eirene.core.validation import CheckedModel, described
from eirene.text.unicode import Text

Role = Literal["system", "user", "assistant", "tool"]
MAX_TURNS = 1_000
MAX_CHARACTERS = 1_000_000
"""Of all turns together: a bound for records, which repeat them. Prompts show far less."""
MESSAGES = '[{"role": "user", "content": "..."}, {"role": "assistant", "content": "..."}]'

_ROLES = {
    **{name: "user" for name in ("human", "prompter")},
    **{name: "assistant" for name in ("ai", "gpt", "chatgpt", "bot", "model")},
    **{"developer": "system", "function": "tool"},
}
_QUERIED = 1_000  # characters of the turn before: more would drown the question
_CALLS = ("tool_calls", "invalid_tool_calls", "function_call", "additional_kwargs")


class HistoryTurn(CheckedModel):
    """One message of a conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    role: Role
    """Who speaks; `tool` is what a tool returned for an earlier question."""
    content: Text
    """What was said."""


def as_turns(value: object) -> Any:
    """Chat messages in any usual form as a list of objects with `role` and `content`; JSON in a text is read.

    OpenAI's messages (with parts: their texts), pairs such as `("user", "...")`, LangChain's messages, and the keys
    `from` and `value` of ShareGPT. A message of an assistant that calls tools and says nothing is left out. An empty
    list is None: a chat's first question has no history.
    """
    if isinstance(value, str):
        value = read_value_text(value, MESSAGES, "[")
    if value is None:
        return value
    if not isinstance(value, list | tuple):
        with suppress(NotJsonableError, ValueError, RecursionError):
            value = jsonable(value)
    if not isinstance(value, list | tuple):
        raise CoercionError(f"must be {MESSAGES}, got {described(value)}")
    turns = (_as_turn(entry) for entry in value)
    return [turn for turn in turns if turn is not None] or None


def _as_turn(message: Any) -> Any:
    if isinstance(message, HistoryTurn):
        return message
    if isinstance(message, list | tuple) and len(message) == 2:
        message = {"role": message[0], "content": message[1]}
    if isinstance(message, Mapping):
        found = dict(message)
    else:
        found = {key: getattr(message, key) for key in ("type", "role", "content", *_CALLS) if hasattr(message, key)}
    role = next((found[key] for key in ("role", "from", "type") if found.get(key) is not None), None)
    said = _said(next((found[key] for key in ("content", "value") if found.get(key) is not None), None))
    if role is None or ("content" not in found and "value" not in found):
        raise CoercionError(f"must be {MESSAGES}, got {described(message)} among them")
    role = _ROLES.get(role, role) if isinstance(role, str) else role
    if (said is None or said == "") and role == "assistant" and any(found.get(key) for key in _CALLS):
        return None
    return {"role": role, "content": said}


def _said(content: Any) -> Any:
    """The text of a message; of one in parts the texts, and of a picture or sound a word that it is there."""
    if not isinstance(content, list | tuple):
        return content
    found = []
    for part in content:
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            found.append(part["text"])
        elif isinstance(part, Mapping) and any(word in str(part.get("type")) for word in _MEDIA):
            found.append(f"[{str(part['type'])[:40]}]")
    return "\n".join(found)


_MEDIA = ("image", "audio", "video", "file", "document")


def _bounded(turns: list[HistoryTurn]) -> list[HistoryTurn]:
    characters = sum(len(turn.content) for turn in turns)
    if len(turns) > MAX_TURNS:
        raise ValueError(f"has {len(turns)} turns; give at most {MAX_TURNS}, the last ones")
    if characters > MAX_CHARACTERS:
        raise ValueError(f"holds {characters} characters; give at most {MAX_CHARACTERS}, the last turns")
    return turns


class _LooseTurn(HistoryTurn):
    """A turn as it may come: what else a chat message holds is not read."""

    model_config = ConfigDict(extra="ignore", title="HistoryTurn")


TURNS = BeforeValidator(as_turns, json_schema_input_type=str | list[_LooseTurn] | None)
"""What `history` may be: see `as_turns`."""
History = Annotated[Annotated[list[HistoryTurn], AfterValidator(_bounded)] | None, TURNS]


def newest(turns: Sequence[HistoryTurn]) -> list[HistoryTurn]:
    """The last turns that a history has room for."""
    kept: list[HistoryTurn] = []
    left = MAX_CHARACTERS
    for turn in reversed(turns[-MAX_TURNS:]):
        left -= len(turn.content)
        if left < 0:
            break
        kept.append(turn)
    return kept[::-1]


def query_in_place(question: str, history: Sequence[HistoryTurn] | None) -> str:
    """The question after the user's last words before it: a follow-up ("And the second one?") names no topic itself.

    For encoders and searches, which are shown no prompt; the question alone where there is no history. Answers are
    left out, for they may be wrong.
    """
    before = [turn.content for turn in history or () if turn.role == "user"]
    return f"{before[-1][-_QUERIED:]}\n{question}" if before else question
