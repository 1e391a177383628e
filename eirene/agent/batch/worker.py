"""What a worker process does: builds its own parts, takes rows in chunks, and sends each record as it is made."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from eirene.agent.batch.one_row import one_row
from eirene.agent.batch.runner import Work
from eirene.agent.settings import Settings
from eirene.agent.shared_detectors import shared
from eirene.agent.state import Parts
from eirene.errors import EireneError
from eirene.feedback_model.embedded import EmbeddedFeedback
from eirene.records import Record

_KEPT = 512  # scores that a detector remembers: those of the rows under way

MakeParts = Callable[[], Parts]

Reply = tuple[str, Record | EireneError | None]
"""`ready` once; then for each row of a chunk, in its order, `record` with it; `error` with what no other row could do
better with."""


def serve(pipe: Connection, make: MakeParts, settings: Settings, variables: dict[str, str]) -> None:
    """Works until the other end of the pipe is closed, or gone, in an environment of these variables."""
    os.environ.clear()  # that of the process that this is a copy of may be an old one
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: what is under way is finished
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        runner = ChunkRunner(make(), settings)
        pipe.send(("ready", None))
        asyncio.run(_serve(pipe, runner))


async def _serve(pipe: Connection, runner: ChunkRunner) -> None:
    while True:
        chunk: list[Work] = pipe.recv()  # blocks: there is nothing else to do
        try:
            runner.prepare(chunk)
            for work in chunk:
                pipe.send(("record", await runner.one(work)))
        except EireneError as error:
            pipe.send(("error", error))


class ChunkRunner:
    """Refines rows one after another, after their texts have been encoded in large batches."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = replace(parts, detectors=tuple(shared(d, kept=_KEPT) for d in parts.detectors))
        self._settings = settings

    def prepare(self, chunk: list[Work]) -> None:
        """Encodes what the rows will need, where their feedback model can tell."""
        if isinstance(self._parts.feedback_model, EmbeddedFeedback):
            self._parts.feedback_model.prepare([work.item for work in chunk])

    async def one(self, work: Work) -> Record:
        """The row's record; raises what every other row would meet as well."""
        return (await one_row(work, parts=self._parts, settings=self._settings)).record
