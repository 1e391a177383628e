"""How many calls may be under way at once."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from eirene.errors import BackendTimeoutError, InputError, RateLimitError
from eirene.models.faults import Fault
from eirene.models.level import Level

DEFAULT_CONCURRENCY = 32


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
        self._level = Level(max_concurrent) if adaptive else None
        # A future that waits belongs to one loop.
        self._doors: WeakKeyDictionary[asyncio.AbstractEventLoop, _Door] = WeakKeyDictionary()

    @property
    def now(self) -> int:
        """How many calls it lets through at the moment."""
        return self.max_concurrent if self._level is None else self._level.now

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[Slot]:
        """Waits for a free place and holds it."""
        door = self._doors.setdefault(asyncio.get_running_loop(), _Door())
        await door.enter(self.now)
        slot = Slot(0 if self._level is None else self._level.steps_down)
        try:
            yield slot
            if self._level is not None:
                _learn(self._level, slot, under_way=door.inside)
        finally:
            door.leave(self.now)


def _learn(level: Level, slot: Slot, *, under_way: int) -> None:
    if slot.fault is None:
        level.went_well(under_way=under_way)
    elif is_overload(slot.fault):
        level.refused(sent_at_step=slot.step)


def is_overload(fault: Fault) -> bool:
    """Whether a fault says that there were too many calls: a 429, no reply in time, or a wait that was asked for."""
    return isinstance(fault.error, RateLimitError | BackendTimeoutError) or fault.retry_after_s is not None


class _Door:
    """Who is inside and who waits, in the order in which they came."""

    def __init__(self) -> None:
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self, limit: int) -> None:
        if self.inside < limit and not self._waiting:
            self.inside += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # let in and called away in the same moment
                self.leave(limit)
            else:
                with suppress(ValueError):  # passed over already
                    self._waiting.remove(turn)
            raise

    def leave(self, limit: int) -> None:
        """One goes; as many as now fit come in."""
        self.inside -= 1
        while self._waiting and self.inside < limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self.inside += 1
                turn.set_result(None)
