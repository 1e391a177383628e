"""A worker (process or Ray actor): builds its own parts, makes rows, sends back each record, and what it logs.

It sends the spans of its rows itself, where it was told of tracing.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from logging.handlers import QueueHandler
from queue import Empty, SimpleQueue
from typing import Any

from eirene.agent.batch.runner import RowWork, one_row
from eirene.agent.detectors import cached
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

MakeParts = Callable[[], Parts]
Replies = tuple[list[Record | EireneError], list[logging.LogRecord]]
"""For each row its record, or what no other row could do better with; and what was logged meanwhile."""

_OURS = "eirene"
_KEPT = 512  # scores that a detector remembers: those of the rows under way

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Inherited:
    """What a worker is told of the process that begins it: from which level on that hears of the package, and how it
    is traced."""

    level: int
    tracing: Tracing | None

    @classmethod
    def here(cls) -> Inherited:
        """That of this process, as it is now."""
        return cls(logging.getLogger(_OURS).getEffectiveLevel(), WorkerSpans.for_workers())


class RowWorker:
    """Refines rows one after another in a worker, after their texts have been encoded in large batches.

    A Ray actor works on several calls of `rows` side by side, as many as its `max_concurrency` lets in.
    """

    def __init__(self, make: MakeParts, settings: Settings, inherited: Inherited) -> None:
        self._make, self._settings, self._inherited = make, settings, inherited
        self._loop: Loop | None = None
        self._spans = WorkerSpans(None)
        self._logged: SimpleQueue[logging.LogRecord] = SimpleQueue()
        forward_logs(inherited.level, self._logged)

    def begin(self) -> tuple[list[Any] | str, list[logging.LogRecord]]:
        """Builds the parts; what rows of theirs hang on, or why there are none, and what was logged meanwhile.

        The fault is text, since not every exception can be built again on another machine.
        """
        return self._built(), self._told()

    def _built(self) -> list[Any] | str:
        os.environ.setdefault("EIRENE_THREADS", "1")  # a worker is one core
        try:
            parts = self._make()
            self._spans = WorkerSpans(self._inherited.tracing)
        except EireneError as error:
            return f"{type(error).__name__}: {error}"
        common = RowHash(parts, self._settings).common
        detectors = tuple(cached(d, most=_KEPT) for d in parts.detectors)
        self._loop = Loop(replace(parts, detectors=detectors), self._settings)
        return common

    async def rows(self, chunk: list[RowWork], *, is_end: bool = True) -> Replies:
        """What comes of each row, and what was logged meanwhile; `is_end`: spans are sent, for it may be ended now."""
        assert self._loop is not None
        self.encode(chunk)
        with self._spans.active():
            replies = [await self._one(self._loop, work) for work in chunk]
        if is_end:
            await asyncio.to_thread(self._spans.flush)
        return replies, self._told()

    def _told(self) -> list[logging.LogRecord]:
        """What was logged since this was asked last."""
        logged = []
        with suppress(Empty):  # other calls, and threads, may be adding to it
            while True:
                logged.append(self._logged.get_nowait())
        return logged

    def encode(self, chunk: list[RowWork]) -> None:
        """Encodes what several rows will need, where their feedback model can tell."""
        assert self._loop is not None
        if len(chunk) > 1 and isinstance(self._loop.parts.feedback_model, EmbeddedFeedback):
            try:
                self._loop.parts.feedback_model.prepare([work.item for work in chunk])
            # A fault of ours that one text brings out: it shows again at its own row, and the others are made.
            except Exception as error:
                logger.info("%d rows are encoded one by one: %s: %s", len(chunk), type(error).__name__, error)

    async def _one(self, loop: Loop, work: RowWork) -> Record | EireneError:
        try:
            return (await one_row(work, loop)).record
        except EireneError as error:
            return error


def forward_logs(level: int, queue: SimpleQueue[logging.LogRecord]) -> None:
    """From here on, what this process logs, and what it warns of, goes to a queue for another process; of the package
    from `level` on."""
    logging.captureWarnings(True)
    logging.getLogger().addHandler(_PlainRecords(queue))
    logging.getLogger(_OURS).setLevel(level)


def log_here(records: Iterable[logging.LogRecord]) -> None:
    """Logs records of another process as if they had been logged in this one."""
    for record in records:
        logger = logging.getLogger(record.name)
        if logger.isEnabledFor(record.levelno):
            logger.handle(record)


class _PlainRecords(QueueHandler):
    """Puts records into its queue as any process can read them, wording and values apart: what differs in its values
    alone is told once."""

    def prepare(self, record: logging.LogRecord) -> logging.LogRecord:
        """A record of plain values; the whole line where it cannot be had in parts."""
        wording = record.getMessage()
        values: tuple[object, ...] = ()
        if isinstance(record.msg, str) and isinstance(record.args, tuple):
            parts = tuple(v if type(v) in (str, int, float) else str(v) for v in record.args)
            with suppress(TypeError, ValueError):
                if not parts or record.msg % parts:
                    wording, values = record.msg, parts
        plain = logging.LogRecord(record.name, record.levelno, "", 0, wording, values, None)
        plain.exc_text = record.exc_text or (
            logging.Formatter().formatException(record.exc_info) if record.exc_info else None
        )
        return plain
