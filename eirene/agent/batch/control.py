"""When a batch takes no more rows, and when it waits no longer for those under way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from eirene.agent.batch.totals import Totals
from eirene.errors import InputError


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use, None for no limit. `deadline_s` counts from its start.

    `max_cost_usd` and `max_tokens` are held against all rows in the journal, those of earlier runs included: starting
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

    def reached(self, totals: Totals, *, made: Totals, under_way: int) -> str | None:
        """Which limit is reached, once what is under way has cost what rows cost on average; None for none."""
        if self.max_cost_usd is not None:
            if totals.usage.cost_usd is None:
                raise InputError("the cost of these rows is unknown: give --price for --max-cost", field="max-cost")
            mean = (made.usage.cost_usd or 0.0) / made.rows if made.rows else 0.0
            if totals.usage.cost_usd + under_way * mean >= self.max_cost_usd:
                return f"--max-cost {self.max_cost_usd:g}"
        if self.max_tokens is not None:
            mean = made.tokens / made.rows if made.rows else 0.0
            if totals.tokens + under_way * mean >= self.max_tokens:
                return f"--max-tokens {self.max_tokens}"
        return None


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
