"""Limits on requests: how much a body may hold, and how many chats run and wait at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from eirene.agent.server.errors import ApiError, timed_out
from eirene.agent.server.metrics import Metrics
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


class Admission:
    """A bounded queue before a bounded number of places."""

    def __init__(self, *, concurrency: int, queue: int, metrics: Metrics) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._concurrency = concurrency
        self._queue = queue
        self._metrics = metrics
        self._waiting = 0
        self._seconds = 1.0  # that a chat takes, as a moving mean: how long a client is asked to wait

    @asynccontextmanager
    async def place(self, *, deadline: float, timeout_s: float) -> AsyncIterator[None]:
        """Holds a place. Raises `ApiError` 429 where the queue is full, 504 where none is free before the deadline."""
        clock = asyncio.get_running_loop().time
        if self._places.locked() and self._waiting >= self._queue:
            raise ApiError(
                429,
                f"the server is busy: {self._concurrency} chats are under way and {self._waiting} wait",
                code="server_busy",
                retry_after_s=self._seconds * (1 + self._waiting / self._concurrency),
            )
        await self._wait(deadline, timeout_s)
        began = clock()
        self._metrics.in_flight.inc()
        try:
            yield
        finally:
            self._metrics.in_flight.dec()
            self._seconds += 0.1 * (clock() - began - self._seconds)
            self._places.release()

    async def _wait(self, deadline: float, timeout_s: float) -> None:
        self._waiting += 1
        self._metrics.waiting.inc()
        try:
            async with asyncio.timeout_at(deadline):
                await self._places.acquire()
        except TimeoutError:
            raise timed_out(timeout_s) from None
        finally:
            self._waiting -= 1
            self._metrics.waiting.dec()
