"""Limits on what a body may hold, checked on plain JSON before anything is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from eirene.agent.server.errors import ApiError
from eirene.core.coercion import CoercionError, as_passages, as_sides, as_texts

MAX_DEPTH = 64
"""Objects and lists inside each other: the schemas of tools nest, conversations hardly do."""
MAX_MESSAGES = 1000
"""The clients of model services look at each for close to a millisecond before they send it."""
MAX_PARTS = 1000
"""Of all messages' contents together, and of their tool calls."""
MAX_TOOLS = 512
MAX_PERSPECTIVES = 64
MAX_ARGUMENTS = 2000
"""Of all perspectives together."""
MAX_PASSAGES = 2000
MAX_NAME = 1000
"""Characters of what names something: a model, a user, a side, a call."""


def check_sizes(body: dict[str, Any]) -> None:
    """Raises `ApiError` 400, with the field in `param`, for a body that holds too much of something.

    Whether a field has the right form is not looked at: what is no list has no length here.
    """
    _check_depth(body)
    messages = _entries(body.get("messages"))
    _check("messages", len(messages), MAX_MESSAGES)
    turns = [message for message in messages if isinstance(message, dict)]
    for field in ("content", "tool_calls"):
        _check("messages", sum(len(_entries(turn.get(field))) for turn in turns), MAX_PARTS, f"parts in {field}")
    _check("tools", len(_entries(body.get("tools"))), MAX_TOOLS)
    named = [_named(side) for side in _formed(as_sides, body.get("perspectives"))]
    _check("perspectives", len(named), MAX_PERSPECTIVES)
    _check("perspectives", sum(len(_formed(as_texts, said)) for _, said in named), MAX_ARGUMENTS, "arguments")
    _check("context", len(_formed(as_passages, body.get("context"))), MAX_PASSAGES, "passages")
    _check_names("perspectives", (name for name, _ in named))
    for field in ("model", "user", "reasoning_effort"):
        _check_names(field, [body.get(field)])
    for field in ("name", "tool_call_id"):
        _check_names("messages", (turn.get(field) for turn in turns))


def _named(side: Any) -> tuple[Any, Any]:
    return (side.get("name"), side.get("arguments")) if isinstance(side, dict) else (None, None)


def _formed(form: Callable[[object], Any], value: Any) -> list[Any]:
    """The entries of what comes in one of the forms of a row's field."""
    try:
        return _entries(form(value))
    except CoercionError:
        return []


def _entries(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _check(field: str, found: int, most: int, what: str = "entries") -> None:
    if found > most:
        raise ApiError(400, f"{field} holds {found} {what}; give at most {most}", param=field, code="too_many")


def _check_names(field: str, names: Iterable[Any]) -> None:
    longest = max((len(name) for name in names if isinstance(name, str)), default=0)
    if longest > MAX_NAME:
        said = f"{field} holds a name of {longest} characters; give at most {MAX_NAME}"
        raise ApiError(400, said, param=field, code="too_long")


def _check_depth(body: Any) -> None:
    level: list[Any] = [body]
    for _ in range(MAX_DEPTH):
        inner = [value for holder in level for value in (holder.values() if isinstance(holder, dict) else holder)]
        level = [value for value in inner if isinstance(value, dict | list)]
        if not level:
            return
    raise ApiError(400, f"the body is nested too deeply: more than {MAX_DEPTH} levels", code="too_deep")
