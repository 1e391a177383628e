"""The runner of this process: rows side by side in one event loop, as many as the provider's limit has use for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Iterator
from dataclasses import replace

from eirene.agent.batch.one_row import one_row
from eirene.agent.batch.runner import Outcome, Work
from eirene.agent.settings import Settings
from eirene.agent.shared_detectors import shared
from eirene.agent.state import Parts
from eirene.models.limits import Limiter

KEPT_A_ROW = 4
"""Scores that a detector remembers for each row under way: those of its own texts, in all rounds. Rows share none."""


class LocalRunner:
    """Refines rows in this process.

    `limiter` is the one that the parts' chat model has: twice as many rows as it lets calls through are under way, so
    that rows that compute leave no call's place empty. Without one (the embedded parts only compute) it is one row.
    """

    def __init__(self, parts: Parts, settings: Settings, *, limiter: Limiter | None = None) -> None:
        kept = KEPT_A_ROW * (1 if limiter is None else 2 * limiter.max_concurrent)
        self._parts = replace(parts, detectors=tuple(shared(d, kept=kept) for d in parts.detectors))
        self._settings = settings
        self._limiter = limiter

    async def run(self, work: Iterable[Work | None]) -> AsyncGenerator[Outcome, None]:
        """Yields the outcomes as they come; where one, or the work itself, raises, those under way are finished."""
        waiting = iter(work)
        under_way: set[asyncio.Task[Outcome]] = set()
        fault: BaseException | None = None
        try:
            while True:
                if fault is None:
                    try:
                        self._fill(under_way, waiting)
                    except Exception as error:  # the work's own, such as a file that is gone: told when all is finished
                        fault = error
                if not under_way:
                    break
                done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    fault = fault or task.exception()
                    if task.exception() is None:
                        yield task.result()
            if fault is not None:
                raise fault
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    @property
    def _room(self) -> int:
        return 1 if self._limiter is None else 2 * self._limiter.now

    def _fill(self, under_way: set[asyncio.Task[Outcome]], waiting: Iterator[Work | None]) -> None:
        while len(under_way) < self._room:
            work = next(waiting, None)
            if work is None:
                return
            under_way.add(asyncio.create_task(one_row(work, parts=self._parts, settings=self._settings)))
