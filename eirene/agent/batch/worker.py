"""What a worker process does: builds its own parts, takes rows in chunks, and sends each record as it is made."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection

from eirene.agent.batch.heard import Said, listen
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

Send = Callable[[str, Record | EireneError | Said | None], None]
"""`ready` once; then for each row of a chunk, in its order, `record` with it; `error` with what no other row could do
better with. Between them `said` with a line of the log."""

logger = logging.getLogger(__name__)


def serve(pipe: Connection, make: MakeParts, settings: Settings, variables: dict[str, str], log_level: int) -> None:
    """Works until the other end of the pipe is closed, or gone, in an environment of these variables."""
    os.environ.clear()  # that of the process that this is a copy of may be an old one
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle: what is under way is finished
    turn = threading.Lock()  # several threads may log

    def send(kind: str, value: Record | EireneError | Said | None) -> None:
        with turn:
            pipe.send((kind, value))

    listen(log_level, lambda said: send("said", said))
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        runner = ChunkRunner(make(), settings)
        send("ready", None)
        asyncio.run(_serve(pipe, send, runner))


async def _serve(pipe: Connection, send: Send, runner: ChunkRunner) -> None:
    while True:
        chunk: list[Work] = pipe.recv()  # blocks: there is nothing else to do
        try:
            runner.prepare(chunk)
            for work in chunk:
                send("record", await runner.one(work))
        except EireneError as error:
            send("error", error)


class ChunkRunner:
    """Refines rows one after another, after their texts have been encoded in large batches."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        self._parts = replace(parts, detectors=tuple(shared(d, kept=_KEPT) for d in parts.detectors))
        self._settings = settings

    def prepare(self, chunk: list[Work]) -> None:
        """Encodes what the rows will need, where their feedback model can tell."""
        if isinstance(self._parts.feedback_model, EmbeddedFeedback):
            try:
                self._parts.feedback_model.prepare([work.item for work in chunk])
            # A fault of ours that one text brings out: it shows again at its own row, and the others are made.
            except Exception as error:
                logger.info("%d rows are encoded one by one: %s: %s", len(chunk), type(error).__name__, error)

    async def one(self, work: Work) -> Record:
        """The row's record; raises what every other row would meet as well."""
        return (await one_row(work, parts=self._parts, settings=self._settings)).record
