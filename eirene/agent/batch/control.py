"""Limits (cost, tokens, deadline) and stop: when a run takes no more rows, and waits no longer for those under way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from eirene.core.errors import InputError
from eirene.core.usage import Usage

_W = TypeVar("_W")

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

    def reached(self, totals: Spending, *, made: Spending, under_way: int) -> str | None:
        """Which limit one more row would pass, if it and those under way cost what rows cost on average; None for none.

        Where no row is known a few may be under way; then their limit is named as if it were reached.
        """
        known = made if made.rows else totals
        if self.max_cost_usd is not None:
            if totals.usage.cost_usd is None:
                raise InputError("the cost of these rows is unknown: give --price for --max-cost", field="max-cost")
            spent, mean = totals.usage.cost_usd, (known.usage.cost_usd or 0.0) / max(known.rows, 1)
            if _passes(spent, self.max_cost_usd, mean=mean, is_known=known.rows > 0, under_way=under_way):
                return f"--max-cost {self.max_cost_usd:g}"
        if self.max_tokens is not None:
            mean = known.usage.tokens / max(known.rows, 1)
            if _passes(totals.usage.tokens, self.max_tokens, mean=mean, is_known=known.rows > 0, under_way=under_way):
                return f"--max-tokens {self.max_tokens}"
        return None


def _passes(spent: float, limit: float, *, mean: float, is_known: bool, under_way: int) -> bool:
    if not is_known:
        return under_way >= _UNKNOWN
    return spent >= limit or spent + (under_way + 1) * mean > limit


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


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits and what is compared with them: `spent` by all rows of a journal, `made` by those of this run."""

    limits: Limits
    spent: Spending
    made: Spending

    def reached(self, under_way: int) -> str | None:
        """Which limit one more row would pass (see `Limits.reached`)."""
        return self.limits.reached(self.spent, made=self.made, under_way=under_way)


def admitted(
    work: Iterable[_W], control: Control, *, reached: Callable[[], str | None], is_busy: Callable[[], bool],
    is_known: Callable[[], bool],
) -> Iterator[_W | None]:  # fmt: skip
    """The work, as limits let it in, until the run is stopped: None for none until something under way has ended.

    `reached` names the limit that one more piece would pass. It stops the run where nothing `is_busy` that could still
    cost less than it was taken for, and where it `is_known` what a piece costs.
    """
    for piece in work:
        while control.reason is None and (reason := reached()) is not None:
            if is_busy():
                yield None
            elif is_known():
                control.stop(reason)
            else:
                break
        if control.reason is not None:
            return
        yield piece


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
