"""What a worker process does: builds its own parts, takes rows in chunks, and sends each record as it is made.

What is logged where rows are made is said where they are asked for, once for all workers.
"""

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
from multiprocessing.connection import Connection

from eirene.agent.batch.runner import RowWork, one_row
from eirene.agent.detectors import cached
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import EireneError
from eirene.core.logs import get_logger
from eirene.core.records import Record
from eirene.feedback_model.embedded.critic import EmbeddedFeedback

_OURS = "eirene"
_FORMAT = logging.Formatter()


@dataclass(frozen=True, slots=True)
class Said:
    """A line of a log that can be sent to another process: its wording and what is put in are kept apart."""

    name: str
    level: int
    wording: str
    values: tuple[object, ...]
    traceback: str | None


def level_here() -> int:
    """From which level on this process wants to hear of the package."""
    return logging.getLogger(_OURS).getEffectiveLevel()


def listen(level: int, tell: Callable[[Said], None]) -> None:
    """From here on, what this process logs goes to `tell`, from any of its threads; of the package from `level` on."""
    logging.getLogger().addHandler(_Listener(tell))
    logging.getLogger(_OURS).setLevel(level)


def say(said: Said) -> None:
    """Logs it as if it had been said in this process."""
    logger = logging.getLogger(said.name)
    if logger.isEnabledFor(said.level):
        record = logger.makeRecord(said.name, said.level, "", 0, said.wording, said.values, None)
        record.exc_text = said.traceback
        logger.handle(record)


class _Listener(logging.Handler):
    def __init__(self, tell: Callable[[Said], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        wording, values = _parts(record)
        traceback = record.exc_text or (_FORMAT.formatException(record.exc_info) if record.exc_info else None)
        with suppress(OSError):  # nobody hears it any more
            self._tell(Said(record.name, record.levelno, wording, values, traceback))


def _parts(record: logging.LogRecord) -> tuple[str, tuple[object, ...]]:
    """The wording and plain values, which any process can read; the whole line where it cannot be had in parts."""
    if isinstance(record.msg, str) and isinstance(record.args, tuple):
        values = tuple(v if type(v) in (str, int, float) else str(v) for v in record.args)
        with suppress(TypeError, ValueError):
            if not values or record.msg % values:
                return record.msg, values
    return record.getMessage(), ()


_KEPT = 512  # scores that a detector remembers: those of the rows under way

PARENTS_OWN = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
"""What a terminal sends to all its processes and the parent alone handles: what is under way is finished."""

MakeParts = Callable[[], Parts]

Reply = tuple[str, Record | EireneError | Said | None]
"""`ready` once; then for each row of a chunk, in its order, `record` with it; `error` with what no other row could do
better with. Between them `said` with a line of the log."""

logger = get_logger(__name__)


def serve(pipe: Connection, make: MakeParts, settings: Settings, variables: dict[str, str], log_level: int) -> None:
    """Works until the other end of the pipe is closed, or gone, in an environment of these variables."""
    os.environ.clear()  # that of the process that this is a copy of may be an old one
    os.environ.update(variables)
    for number in PARENTS_OWN:
        signal.signal(number, signal.SIG_IGN)
    sender = _Sender(pipe)
    listen(log_level, sender.say)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        runner = ChunkRunner(make(), settings)
        sender.send(("ready", None))
        asyncio.run(_serve(pipe, sender, runner))


async def _serve(pipe: Connection, sender: _Sender, runner: ChunkRunner) -> None:
    while True:
        chunk: list[RowWork] = pipe.recv()  # blocks: there is nothing else to do
        try:
            runner.prepare(chunk)
            for work in chunk:
                sender.send(("record", await runner.one(work)))
        except EireneError as error:
            sender.send(("error", error))


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

    def say(self, said: Said) -> None:
        """Sends a line of the log, now or with what is sent next."""
        self._waiting.append(("said", said))
        if self._turn.acquire(blocking=False):
            try:
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
