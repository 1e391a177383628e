"""What a Ray actor does: builds its own parts once, and makes the rows that it is sent."""

from __future__ import annotations

import os
from typing import Any

from eirene.agent.batch.heard import Said, listen
from eirene.agent.batch.runner import Work
from eirene.agent.batch.worker import ChunkRunner, MakeParts
from eirene.agent.row_hash import RowHash
from eirene.agent.settings import Settings
from eirene.errors import EireneError
from eirene.records import Record


class RowActor:
    """One slot of the cluster. Rows of several calls are made side by side, as many as `max_concurrency` lets in."""

    def __init__(self, make: MakeParts, settings: Settings, log_level: int) -> None:
        self._make = make
        self._settings = settings
        self._runner: ChunkRunner | None = None
        self._said: list[Said] = []
        listen(log_level, self._said.append)

    def begin(self) -> list[Any] | str:
        """Builds the parts; what rows of theirs hang on, or why there are none.

        The fault is text, since not every exception can be built again on another machine.
        """
        os.environ.setdefault("EIRENE_THREADS", "1")  # a slot is one core
        try:
            parts = self._make()
        except EireneError as error:
            return f"{type(error).__name__}: {error}"
        self._runner = ChunkRunner(parts, self._settings)
        return RowHash(parts, self._settings).common

    async def rows(self, chunk: list[Work]) -> tuple[list[Record | EireneError], list[Said]]:
        """A record for each row, or what no other row could do better with; and what was logged meanwhile."""
        assert self._runner is not None
        if len(chunk) > 1:
            self._runner.prepare(chunk)
        replies = [await self._one(self._runner, work) for work in chunk]
        said = self._said[:]
        del self._said[: len(said)]  # other calls, and threads, may be adding to it
        return replies, said

    async def _one(self, runner: ChunkRunner, work: Work) -> Record | EireneError:
        try:
            return await runner.one(work)
        except EireneError as error:
            return error
