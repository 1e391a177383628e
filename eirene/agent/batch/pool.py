"""A pool of workers that may die, processes or Ray actors: work goes out, outcomes come in; a row that kills workers
is given up."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.batch.worker import Replies, log_here
from eirene.agent.record import failed_record
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import WorkerError
from eirene.core.logs import get_logger
from eirene.core.records import Record

logger = get_logger(__name__)

_TOGETHER = 2
"""Deaths of its worker after which a row is tried without others beside it. A machine that goes away takes many rows
with it that are not at fault; a death alone names the row."""
_STARTS = 3
"""Workers that may die one after another before their first row: by a machine that goes away, or is short of memory."""


class WorkerDiedError(Exception):
    """A worker is gone; the message says how."""


class Worker(Protocol):
    """One process or actor, seen from here. What it raises beside `WorkerDiedError` ends the run."""

    async def begin(self) -> None:
        """Starts it, and returns when it has its models."""

    def rows(self, rows: list[RowWork]) -> AsyncIterator[Replies]:
        """What it makes of rows, in their order: of one or more of them at a time."""

    def end(self) -> None:
        """Ends it, whatever it is doing."""


@dataclass(frozen=True, slots=True)
class PoolShape:
    """How many `workers`, how many `calls` each is given at once, and how many rows a call has."""

    workers: int
    calls: int = 1
    chunk_rows: int = 1


class Pool:
    """One run of workers, which `new` makes. `parts` makes those by whose names a row that is given up is recorded."""

    def __init__(
        self, work: Iterable[RowWork | None], new: Callable[[], Worker], settings: Settings, *, shape: PoolShape,
        parts: Callable[[], Parts],
    ) -> None:  # fmt: skip
        self.new, self.shape = new, shape
        self.deaths: Counter[str] = Counter()
        """Workers that died, by the row that they had."""
        self.is_over = False
        self.news = asyncio.Event()
        self._work = iter(work)
        self._parts, self._settings = parts, settings
        self._made: asyncio.Queue[RowOutcome | None] = asyncio.Queue(maxsize=2 * shape.workers)
        self._under_way = 0
        self._fault: Exception | None = None

    async def run(self) -> AsyncGenerator[RowOutcome, None]:
        """The outcomes as they come; what a worker raises is raised when the others have made what they had taken."""
        slots = [_Slot(self) for _ in range(self.shape.workers)]
        tasks = [asyncio.create_task(self._watched(slot)) for slot in slots]
        try:
            while not self.is_over or self._under_way:  # a worker that still waits for its place is not waited for
                outcome = await self._made.get()
                if outcome is not None:
                    self._under_way -= 1
                    yield outcome
                    self._tell()
            if self._fault is not None:
                raise self._fault
        finally:
            for task in tasks:
                task.cancel()
            for slot in slots:
                slot.end()
            await asyncio.gather(*tasks, return_exceptions=True)

    def take(self) -> list[RowWork]:
        """Rows for a call; none where it `is_over`, or where there are none until there is news."""
        taken: list[RowWork] = []
        while len(taken) < self.shape.chunk_rows and not self.is_over:
            try:
                work = next(self._work)
            except StopIteration:
                self._close()
                break
            if work is None:
                break
            taken.append(work)
        self._under_way += len(taken)
        return taken

    async def put(self, work: RowWork, record: Record) -> None:
        """A row has been made."""
        del self.deaths[work.key]
        await self._made.put(RowOutcome(work, record))

    async def give_up(self, work: RowWork, how: str) -> None:
        """A row has taken too many workers with it."""
        error = WorkerError(f"{self.deaths[work.key]} workers ended at this row, the last one alone with it: {how}")
        await self.put(work, failed_record(work.item, error, parts=self._parts(), settings=self._settings))

    async def fail(self, error: Exception, *, rows: int) -> None:
        """Takes no more work, since every row would meet the error; so many rows come to nothing."""
        self._fault = self._fault or error
        self._under_way -= rows
        self._close()
        await self._made.put(None)  # look whether it is over

    async def _watched(self, slot: _Slot) -> None:
        try:
            await slot.work()
            await self._made.put(None)
        except Exception as error:  # told, not handled: `run` raises it
            await self.fail(error, rows=slot.held)

    def _close(self) -> None:
        self.is_over = True
        self._tell()

    def _tell(self) -> None:
        self.news.set()
        self.news = asyncio.Event()


@dataclass(slots=True)
class _Slot:
    """The place of one worker; one that dies is followed by another."""

    pool: Pool
    worker: Worker | None = None
    is_dead: bool = False
    calls: dict[asyncio.Task[None], list[RowWork]] = field(default_factory=dict)
    again: deque[RowWork] = field(default_factory=deque)
    alone: deque[RowWork] = field(default_factory=deque)

    @property
    def held(self) -> int:
        """Rows that it was given and of which nothing has come."""
        return len(self.again) + len(self.alone) + sum(map(len, self.calls.values()))

    async def work(self) -> None:
        """Makes rows until there are none left."""
        while self.held or not self.pool.is_over:
            if self.worker is None:
                self.worker, self.is_dead = await self._begun(), False
            while not self.is_dead and len(self.calls) < self.pool.shape.calls and (rows := self._next()):
                self.calls[asyncio.create_task(self._called(self.worker, rows))] = rows
            if not self.calls:
                if not self.pool.is_over:
                    await self.pool.news.wait()
                continue
            done, _ = await asyncio.wait(self.calls, return_when=asyncio.FIRST_COMPLETED)
            for call in done:
                await self._ended(call)
            if self.is_dead and not self.calls:
                self.end()

    def end(self) -> None:
        """Ends the worker, if there is one."""
        for call in self.calls:
            call.cancel()
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.end()

    async def _begun(self) -> Worker:
        for tried in range(1, _STARTS + 1):
            self.worker = self.pool.new()  # from here on it can be ended
            try:
                await self.worker.begin()
            except WorkerDiedError as error:
                how = str(error)
                self.end()
                logger.warning("a worker ended before its first row, %s (start %d of %d)", how, tried, _STARTS)
            else:
                return self.worker
        raise WorkerError(f"{_STARTS} workers ended before their first row, the last {how}")

    def _next(self) -> list[RowWork]:
        """The rows of the next call; none while one must be alone."""
        if any(self.pool.deaths[work.key] >= _TOGETHER for rows in self.calls.values() for work in rows):
            return []
        if self.again:
            return [self.again.popleft()]
        if self.alone:
            return [] if self.calls else [self.alone.popleft()]
        return self.pool.take()

    async def _called(self, worker: Worker, rows: list[RowWork]) -> None:
        """Has rows made; those of which something has come are taken out."""
        async for replies, logged in worker.rows(rows.copy()):
            log_here(logged)
            for reply in replies:
                work = rows.pop(0)
                if isinstance(reply, Record):
                    await self.pool.put(work, reply)
                else:
                    await self.pool.fail(reply, rows=1)

    async def _ended(self, call: asyncio.Task[None]) -> None:
        rows = self.calls[call]
        try:
            call.result()  # what else it raises ends the run, and its rows are held still
        except WorkerDiedError as error:
            self.is_dead = True
            while rows:
                await self._lost(rows.pop(0), str(error))
        del self.calls[call]

    async def _lost(self, work: RowWork, how: str) -> None:
        """Counts a death against a row: first it goes again with others, then alone, and then it is a failed record."""
        self.pool.deaths[work.key] += 1
        if self.pool.deaths[work.key] > _TOGETHER:
            await self.pool.give_up(work, how)
        else:
            (self.again if self.pool.deaths[work.key] < _TOGETHER else self.alone).append(work)
