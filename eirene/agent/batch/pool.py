"""A pool of workers that may die: work goes out to them, outcomes come in; a row that kills workers is given up.

Worker processes (`eirene.agent.batch.processes`) and Ray actors (`eirene.agent.batch.ray`) are both run so.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
from typing import Protocol

from eirene.agent.batch.runner import RowOutcome, RowWork, WorkQueue
from eirene.agent.record import failed_record
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import WorkerError


class WorkerHandle(Protocol):
    """One worker's side in this process; a worker that dies is followed by another."""

    async def work(self) -> None:
        """Takes rows from the pool until there are none left; raises what no other worker could do better with."""
        ...

    @property
    def held(self) -> int:
        """Rows that were taken and of which nothing has come yet."""
        ...

    def end(self) -> object:
        """Ends the worker, if there is one."""
        ...


class Pool:
    """What the handles of all workers share; `run` yields what comes of the rows."""

    def __init__(self, work: Iterable[RowWork | None], settings: Settings, *, workers: int) -> None:
        self.source = WorkQueue(work)
        self.settings = settings
        self._made: asyncio.Queue[RowOutcome | None] = asyncio.Queue(maxsize=2 * workers)
        self._under_way = 0
        self._fault: Exception | None = None
        self._deaths: dict[str, int] = {}

    async def run(self, handles: Sequence[WorkerHandle]) -> AsyncGenerator[RowOutcome, None]:
        """The outcomes as they come; what a handle raises is raised when the others have made what they had taken."""
        tasks = [asyncio.create_task(self._watched(handle)) for handle in handles]
        try:
            while not self.source.is_over or self._under_way:  # a worker that still waits for a slot is not waited for
                outcome = await self._made.get()
                if outcome is not None:
                    self._under_way -= 1
                    yield outcome
                    self.source.tell()
            if self._fault is not None:
                raise self._fault
        finally:
            for task in tasks:
                task.cancel()
            for handle in handles:
                handle.end()
            await asyncio.gather(*tasks, return_exceptions=True)

    def take(self, n: int) -> list[RowWork]:
        """Up to `n` rows to be made."""
        rows = self.source.take(n)
        self._under_way += len(rows)
        return rows

    async def put(self, outcome: RowOutcome) -> None:
        """A row has been made."""
        self._deaths.pop(outcome.key, None)
        await self._made.put(outcome)

    async def fail(self, error: Exception, *, rows: int) -> None:
        """Takes no more work, since every row would meet the error; so many rows come to nothing."""
        self._fault = self._fault or error
        self._under_way -= rows
        self.source.close()
        await self._made.put(None)  # look whether it is over

    def deaths(self, work: RowWork) -> int:
        """How many workers have died at the row."""
        return self._deaths.get(work.key, 0)

    def died(self, work: RowWork) -> int:
        """Counts one more of them."""
        self._deaths[work.key] = self.deaths(work) + 1
        return self._deaths[work.key]

    async def give_up(self, work: RowWork, why: str, parts: Parts) -> None:
        """Makes a failed record of a row that has taken workers with it; `why` goes on from their number."""
        error = WorkerError(f"{self.deaths(work)} {why}")
        await self.put(RowOutcome(work, failed_record(work.item, error, parts=parts, settings=self.settings)))

    async def _watched(self, handle: WorkerHandle) -> None:
        try:
            await handle.work()
            await self._made.put(None)
        except Exception as error:  # told, not handled: `run` raises it
            await self.fail(error, rows=handle.held)
