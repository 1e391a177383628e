"""Limits on calls to models: concurrency (fixed or adaptive), and the retry policy with its waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from eirene.core.errors import BackendTimeoutError, InputError, RateLimitError

if TYPE_CHECKING:
    from anyio import CapacityLimiter

    from eirene.models.faults import Fault

Sleep = Callable[[float], Awaitable[None]]
"""What waits between attempts, in seconds."""
DEFAULT_CONCURRENCY = 32
START = 16
"""Calls under way at first: few enough for a small server, and doubled with each round of replies."""
_BACK_OFF = 0.5


@dataclass(slots=True)
class Slot:
    """The place of one call under way; what is told to it is what an adaptive limiter learns from."""

    step: int
    fault: Fault | None = None

    def failed(self, fault: Fault) -> Fault:
        """Notes that the call failed, and returns the fault."""
        self.fault = fault
        return fault


class Limiter:
    """Lets at most `max_concurrent` calls through at a time; share one between all parts that use one provider.

    An `adaptive` one finds out how many the provider takes, and `max_concurrent` is the most that it tries. Belongs to
    whoever makes it: there is no global. It may outlive an event loop, and counts for each loop apart.
    """

    def __init__(self, max_concurrent: int = DEFAULT_CONCURRENCY, *, adaptive: bool = False) -> None:
        if max_concurrent < 1:
            raise InputError(f"concurrency must be at least 1, got {max_concurrent}", field="concurrency")
        self.max_concurrent = max_concurrent
        self._level = AdaptiveLevel(max_concurrent) if adaptive else None
        # Who waits belongs to one loop.
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, CapacityLimiter] = WeakKeyDictionary()

    @property
    def now(self) -> int:
        """How many calls it lets through at the moment."""
        return self.max_concurrent if self._level is None else self._level.now

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Waits for a free place and holds it."""
        from anyio import CapacityLimiter

        loop = asyncio.get_running_loop()
        if loop not in self._by_loop:
            self._by_loop[loop] = CapacityLimiter(self.now)
        places, holder = self._by_loop[loop], object()  # of its own: one task may hold several places
        await places.acquire_on_behalf_of(holder)
        slot = Slot(0 if self._level is None else self._level.steps_down)
        try:
            yield slot
            if self._level is not None and slot.fault is None:
                self._level.went_well(under_way=places.borrowed_tokens)
            elif self._level is not None and slot.fault is not None and is_overload(slot.fault):
                self._level.refused(sent_at_step=slot.step)
        finally:
            places.total_tokens = self.now
            places.release_on_behalf_of(holder)


def is_overload(fault: Fault) -> bool:
    """Whether a fault says that there were too many calls: a 429, no reply in time, or a wait that was asked for."""
    return isinstance(fault.error, RateLimitError | BackendTimeoutError) or fault.retry_after_s is not None


class AdaptiveLevel:
    """A number of calls between 1 and `ceiling` that follows the provider, as TCP's congestion window does its line.

    It doubles with every round of good replies until the first refusal; from then on it halves at a refusal and grows
    by one a round (additive increase, multiplicative decrease: Chiu & Jain 1989). Refusals of calls that were sent
    before the last step down say nothing new.
    """

    def __init__(self, ceiling: int, *, start: int = START) -> None:
        self.ceiling = ceiling
        self.steps_down = 0
        self._exact = float(min(start, ceiling))
        self._steady_from = float(ceiling)

    @property
    def now(self) -> int:
        """Calls that may be under way."""
        return int(self._exact)

    def went_well(self, *, under_way: int) -> None:
        """A reply came. Where few of the allowed calls are under way, it does not show that more would be taken."""
        if under_way * 2 < self.now:
            return
        step = 1.0 if self._exact < self._steady_from else 1.0 / self._exact
        self._exact = min(self._exact + step, float(self.ceiling))

    def refused(self, *, sent_at_step: int) -> None:
        """A call that began after `sent_at_step` steps down met a limit or got no reply in time."""
        if sent_at_step < self.steps_down:
            return
        self.steps_down += 1
        self._exact = self._steady_from = max(1.0, self._exact * _BACK_OFF)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most `attempts` attempts a call, with waits that double from `first_wait_s` to `max_wait_s`, jittered.

    A wait that the provider asks for is honoured up to `max_retry_after_s`; longer, and the call fails at once: the
    caller can do something better with that time.
    """

    attempts: int = 5
    first_wait_s: float = 0.5
    max_wait_s: float = 20.0
    max_retry_after_s: float = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InputError(f"attempts must be at least 1, got {self.attempts}", field="attempts")

    def wait_s(self, fault: Fault, *, attempt: int, rng: np.random.Generator) -> float | None:
        """Seconds to wait after attempt number `attempt` (from 1) failed; None when there is to be no other.

        The jitter takes up to half of the wait off, and adds up to a tenth to one that was asked for: never less.
        """
        if not fault.retryable or attempt >= self.attempts:
            return None
        if fault.retry_after_s is not None:
            asked = fault.retry_after_s
            return None if asked > self.max_retry_after_s else float(asked * (1.0 + 0.1 * rng.random()))
        longest = min(self.max_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return float(longest * (1.0 - 0.5 * rng.random()))
