"""Puts outcomes on disk as they come: those that end while the disk is busy share the next wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from eirene.agent.batch.journal import BatchJournal
from eirene.agent.batch.runner import Outcome

OnOutcome = Callable[[Outcome], None]
_AT_ONCE = 256
_HELD = 1024
"""Outcomes that may wait for the disk before the runner is made to wait for it."""


class Writer:
    """Writes to a journal beside the event loop; `on_written` hears of each outcome that is on disk.

    After the first `OSError` nothing more is written until `finish`, which tries again once: `on_fault` hears of it.
    What `on_written` raises holds up no row: `finish` raises it when all are on disk.
    """

    def __init__(self, journal: BatchJournal, *, on_written: OnOutcome, on_fault: Callable[[OSError], None]) -> None:
        self.waiting: list[Outcome] = []
        self._journal = journal
        self._on_written = on_written
        self._on_fault = on_fault
        self._fault: OSError | None = None
        self._unheard: Exception | None = None
        self._writing: asyncio.Task[None] | None = None

    async def put(self, outcome: Outcome) -> None:
        """Takes an outcome; from here on it will be written, whatever becomes of the caller."""
        self.waiting.append(outcome)
        if self._writing is None and self._fault is None:
            self._writing = asyncio.create_task(self._work())
        if len(self.waiting) > _HELD and self._writing is not None:
            await asyncio.shield(self._writing)

    async def finish(self) -> None:
        """Waits until all is on disk. Raises `OSError` where it cannot be written; `waiting` then has what is not."""
        while self._writing is not None:
            await self._writing
        while self.waiting:
            await self._write_some()
        if self._unheard is not None:
            raise self._unheard

    async def _work(self) -> None:
        try:
            while self.waiting:
                await self._write_some()
        except OSError as error:
            self._fault = error
            self._on_fault(error)
        finally:
            self._writing = None

    async def _write_some(self) -> None:
        some = self.waiting[:_AT_ONCE]
        await asyncio.to_thread(self._journal.append, some)
        del self.waiting[: len(some)]
        for outcome in some:
            try:
                self._on_written(outcome)
            except Exception as error:  # the listener's own: the rows behind this one are paid for as well
                self._unheard = self._unheard or error
