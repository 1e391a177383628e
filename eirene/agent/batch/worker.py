"""A worker (process or Ray actor): builds its own parts, makes rows, sends back each record and what it logs."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from logging.handlers import QueueHandler
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from eirene.agent.batch.runner import RowWork, one_row
from eirene.agent.detectors.cache import cached
from eirene.agent.loop import Loop
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import EireneError
from eirene.core.logs import get_logger
from eirene.core.otlp import WorkerSpans
from eirene.core.records import Record
from eirene.core.tracing import Tracing
from eirene.feedback_model.embedded.critic import EmbeddedFeedback

_OURS = "eirene"
_FORMAT = logging.Formatter()


def log_level() -> int:
    """From which level on this process wants to hear of the package."""
    return logging.getLogger(_OURS).getEffectiveLevel()


def forward_logs(level: int, queue: Any) -> None:
    """From here on, what this process logs, and what it warns of, goes to a queue (`put_nowait`) for another process:
    from any of its threads; of the package from `level` on."""
    logging.captureWarnings(True)
    logging.getLogger().addHandler(_PlainRecords(queue))
    logging.getLogger(_OURS).setLevel(level)


def log_here(record: logging.LogRecord) -> None:
    """Logs a record of another process as if it had been logged in this one."""
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)


class _PlainRecords(QueueHandler):
    """Puts records into its queue as any process can read them, wording and values kept apart."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """A record of plain values."""
        wording, values = _parts(record)
        text = record.exc_text or (_FORMAT.formatException(record.exc_info) if record.exc_info else None)
        plain = logging.LogRecord(record.name, record.levelno, "", 0, wording, values, None)
        plain.exc_text = text
        return plain


def _parts(record: logging.LogRecord) -> tuple[str, tuple[object, ...]]:
    """The wording and plain values, which any process can read; the whole line where it cannot be had in parts."""
    if isinstance(record.msg, str) and isinstance(record.args, tuple):
        values = tuple(v if type(v) in (str, int, float) else str(v) for v in record.args)
        with suppress(TypeError, ValueError):
            if not values or record.msg % values:
                return record.msg, values
    return record.getMessage(), ()


_KEPT = 512  # scores that a detector remembers: those of the rows under way

PARENT_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
"""What a terminal sends to all its processes and the parent alone handles: what is under way is finished."""

MakeParts = Callable[[], Parts]

Reply = Record | EireneError | logging.LogRecord | None
"""None once, when it is ready; then for each row of a chunk, in its order, its record, or what no other row could do
better with. Between them records of the log."""

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Inherited:
    """What a worker takes over from the process that begins it: its variables, level of logging, and tracing."""

    variables: dict[str, str]
    level: int
    tracing: Tracing | None = None

    @classmethod
    def here(cls) -> Inherited:
        """That of this process, as it is now."""
        return cls(dict(os.environ), log_level(), WorkerSpans.for_workers())


def serve(pipe: Connection, make: MakeParts, settings: Settings, inherited: Inherited) -> None:
    """Works until the other end of the pipe is closed, or gone."""
    os.environ.clear()  # that of the process that this is a copy of may be an old one
    os.environ.update(inherited.variables)
    for number in PARENT_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    sender = _Sender(pipe)
    forward_logs(inherited.level, sender)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        runner, spans = ChunkRunner(make(), settings), WorkerSpans(inherited.tracing)
        sender.send(None)
        with spans.active():
            asyncio.run(_serve(pipe, sender, runner, spans))


async def _serve(pipe: Connection, sender: _Sender, runner: ChunkRunner, spans: WorkerSpans) -> None:
    while True:
        chunk: list[RowWork] = pipe.recv()  # blocks: there is nothing else to do
        try:
            runner.prepare(chunk)
            for work in chunk:
                record = await runner.one(work)
                if work is chunk[-1]:
                    spans.flush()
                sender.send(record)
        except EireneError as error:
            sender.send(error)


class _Sender:
    """Writes to the pipe, one reply at a time, in the order in which they come.

    Any thread may log, and so may what the collector finds in the middle of a reply, where nobody may wait for a lock.
    A line that meets a reply under way is left to whoever sends that one, or the next.
    """

    def __init__(self, pipe: Connection) -> None:
        self._pipe = pipe
        self._waiting: deque[Reply] = deque()
        self._turn = threading.RLock()
        self._is_sending = False

    def send(self, reply: Reply) -> None:
        """Sends a reply; it is on its way when this returns."""
        self._waiting.append(reply)
        with self._turn:
            self._send_all()

    def put_nowait(self, record: logging.LogRecord) -> None:
        """Sends a record of the log, now or with what is sent next."""
        self._waiting.append(record)
        if self._turn.acquire(blocking=False):
            try:
                with suppress(OSError):  # nobody hears it any more
                    self._send_all()
            finally:
                self._turn.release()

    def _send_all(self) -> None:
        if self._is_sending:  # by this very thread
            return
        self._is_sending = True
        try:
            while self._waiting:
                self._pipe.send(self._waiting.popleft())
        finally:
            self._is_sending = False


class ChunkRunner:
    """Refines rows one after another, after their texts have been encoded in large batches."""

    def __init__(self, parts: Parts, settings: Settings) -> None:
        parts = replace(parts, detectors=tuple(cached(d, most=_KEPT) for d in parts.detectors))
        self._loop = Loop(parts, settings)

    def prepare(self, chunk: list[RowWork]) -> None:
        """Encodes what the rows will need, where their feedback model can tell."""
        if isinstance(self._loop.parts.feedback_model, EmbeddedFeedback):
            try:
                self._loop.parts.feedback_model.prepare([work.item for work in chunk])
            # A fault of ours that one text brings out: it shows again at its own row, and the others are made.
            except Exception as error:
                logger.info("%d rows are encoded one by one: %s: %s", len(chunk), type(error).__name__, error)

    async def one(self, work: RowWork) -> Record:
        """The row's record; raises what every other row would meet as well."""
        return (await one_row(work, self._loop)).record


class RowActor:
    """One slot of the cluster. Rows of several calls are made side by side, as many as `max_concurrency` lets in."""

    def __init__(self, make: MakeParts, settings: Settings, level: int, tracing: Tracing | None = None) -> None:
        self._make = make
        self._tracing = tracing
        self._settings = settings
        self._runner: ChunkRunner | None = None
        self._spans = WorkerSpans(None)
        self._logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
        forward_logs(level, self._logged)

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
        try:
            self._spans = WorkerSpans(self._tracing)
        except EireneError as error:
            return f"{type(error).__name__}: {error}"
        return RowHash(parts, self._settings).common

    async def rows(self, chunk: list[RowWork]) -> tuple[list[Record | EireneError], list[logging.LogRecord]]:
        """A record for each row, or what no other row could do better with; and what was logged meanwhile."""
        assert self._runner is not None
        if len(chunk) > 1:
            self._runner.prepare(chunk)
        with self._spans.active():
            replies = [await self._one(self._runner, work) for work in chunk]
        await asyncio.to_thread(self._spans.flush)
        logged = []
        with suppress(Empty):  # other calls, and threads, may be adding to it
            while True:
                logged.append(self._logged.get_nowait())
        return replies, logged

    async def _one(self, runner: ChunkRunner, work: RowWork) -> Record | EireneError:
        try:
            return await runner.one(work)
        except EireneError as error:
            return error
