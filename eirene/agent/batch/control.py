"""Limits (cost, tokens, deadline) and stop: when a run takes no more rows, and waits no longer for those under way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

from eirene.core.errors import InputError
from eirene.core.usage import Usage

_UNKNOWN = 4
"""Rows that may be under way under a limit before it is known what one costs."""


class Spending(Protocol):
    """What rows have taken."""

    @property
    def rows(self) -> int: ...

    @property
    def usage(self) -> Usage: ...


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use, None for no limit. `deadline_s` counts from its start.

    `max_cost_usd` and `max_tokens` are compared with all rows in the journal, those of earlier runs included: starting
    the same command again spends no more.
    """

    max_cost_usd: float | None = None
    max_tokens: int | None = None
    deadline_s: float | None = None

    def __post_init__(self) -> None:
        for name, value in (
            ("max-cost", self.max_cost_usd), ("max-tokens", self.max_tokens), ("deadline", self.deadline_s),
        ):  # fmt: skip
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name} must be more than 0, got {value:g}", field=name)

    @property
    def is_of_spending(self) -> bool:
        """Whether there is a limit of cost or tokens."""
        return self.max_cost_usd is not None or self.max_tokens is not None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits and what is compared with them: `spent` by all rows of a journal, `made` those of this run."""

    limits: Limits
    spent: Spending
    made: Spending

    def reached(self, under_way: int) -> str | None:
        """Which limit one more row would pass, if it and those under way cost what rows cost on average; None for none.

        Where no row is known a few may be under way; then their limit is named as if it were reached.
        """
        cost, tokens = self.limits.max_cost_usd, self.limits.max_tokens
        known, spent = self.made if self.made.rows else self.spent, self.spent.usage
        if cost is not None:
            if spent.cost_usd is None:
                raise InputError("the cost of these rows is unknown: give --price for --max-cost", field="max-cost")
            if _passes(spent.cost_usd, cost, known.usage.cost_usd or 0.0, rows=known.rows, under_way=under_way):
                return f"--max-cost {cost:g}"
        if tokens is not None and _passes(
            spent.tokens, tokens, known.usage.tokens, rows=known.rows, under_way=under_way
        ):
            return f"--max-tokens {tokens}"
        return None


def _passes(spent: float, limit: float, known: float, *, rows: int, under_way: int) -> bool:
    """`known`: what so many rows took together."""
    if not rows:
        return under_way >= _UNKNOWN
    return spent >= limit or spent + (under_way + 1) * known / rows > limit


class Control:
    """Stops a run: `stop` lets what is under way end within `grace_s` seconds, `stop_now` does not.

    Belongs to the running event loop. `reason` says why no more rows are taken, None while they are.
    """

    def __init__(self, *, grace_s: float) -> None:
        self.reason: str | None = None
        self.over = asyncio.Event()
        self._grace_s = grace_s
        self._timers: list[asyncio.TimerHandle] = []

    def stop(self, reason: str) -> None:
        """No more rows are taken. The first reason counts."""
        if self.reason is None:
            self.reason = reason
            self._timers.append(asyncio.get_running_loop().call_later(self._grace_s, self.over.set))

    def stop_now(self, reason: str) -> None:
        """What is under way is given up."""
        self.stop(reason)
        self.over.set()

    def stop_after(self, seconds: float, reason: str) -> None:
        """Stops when the time is up."""
        self._timers.append(asyncio.get_running_loop().call_later(seconds, self.stop, reason))

    def close(self) -> None:
        """Forgets its timers."""
        for timer in self._timers:
            timer.cancel()


async def until_stopped(pulling: Coroutine[Any, Any, None], control: Control) -> None:
    """Waits for the work, but no longer than `control` does."""
    task, over = asyncio.create_task(pulling), asyncio.create_task(control.over.wait())
    try:
        await asyncio.wait({task, over}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()  # one that is done does not notice
        over.cancel()
        await asyncio.gather(task, over, return_exceptions=True)
    if not task.cancelled():
        task.result()
