"""The runner on all cores: worker processes that load their own models and take rows in chunks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from logging import LogRecord
from multiprocessing import current_process, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess

from eirene.agent.batch.pool import Pool
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.batch.worker import PARENT_SIGNALS, Inherited, MakeParts, log_here, serve
from eirene.agent.settings import Settings
from eirene.core.concurrency import usable_cores
from eirene.core.errors import EireneError, WorkerError
from eirene.core.logs import get_logger
from eirene.core.records import Record

logger = get_logger(__name__)

CHUNK_ROWS = 32
"""Rows that a worker takes at a time: enough for full batches of the encoder, few enough to end close together."""

_DEATHS = 2
"""Workers that a row may take with it before it is given up."""

_STARTS = 3
"""Workers that may be killed one after another before their first row: by a machine that is short of memory, say."""

_UNGUARDED = 117
"""The exit code of a worker whose script, run anew for it, would start workers of its own."""

_ENDING_S = 2.0
"""Seconds from the end of a worker's pipe to that of the worker."""

_ONE_THREAD = {name: "1" for name in ("EIRENE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""One thread a process: the cores have a process each."""


class ProcessRunner:
    """Refines rows in worker processes, `workers` of them (default: one for each usable core).

    Each builds its parts with `make`, which is sent to it and so must be a module's function or a `functools.partial`
    of one. Records are those of this process, but for `usage.seconds`. When a worker dies, another does again what it
    had not finished; a row that takes two of them with it becomes a failed record. Processes begin anew, not as copies
    of this one: a script that runs this at its top level needs `if __name__ == "__main__":`.
    """

    def __init__(
        self, make: MakeParts, settings: Settings, *, workers: int | None = None, chunk_rows: int = CHUNK_ROWS
    ) -> None:
        self._make = make
        self._settings = settings
        self._workers = usable_cores() if workers is None else workers
        self._chunk_rows = chunk_rows

    async def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields the outcomes as they come. Raises `WorkerError` where a worker cannot even begin.

        What one worker raises is raised when the others have made the rows that they had taken.
        """
        pool = Pool(work, self._settings, workers=self._workers)
        with ThreadPoolExecutor(self._workers, "eirene-worker") as threads:
            handles = [_ProcessHandle(self._make, threads, pool, self._chunk_rows) for _ in range(self._workers)]
            async with aclosing(pool.run(handles)) as outcomes:
                async for outcome in outcomes:
                    yield outcome


@dataclass(slots=True)
class _ProcessHandle:
    """One worker's side in this process; a worker that dies is followed by another."""

    make: MakeParts
    threads: ThreadPoolExecutor
    pool: Pool
    chunk_rows: int
    process: BaseProcess | None = None
    pipe: Connection | None = None
    left: deque[RowWork] = field(default_factory=deque)

    @property
    def held(self) -> int:
        """Rows of the chunk that are not made."""
        return len(self.left)

    async def work(self) -> None:
        """Takes chunks until there are none left."""
        source = self.pool.source
        while not source.is_over:
            self.left.extend(self.pool.take(self.chunk_rows))
            if self.left:
                await self._chunk()
            elif not source.is_over:
                await source.news()

    async def _chunk(self) -> None:
        """All rows of a chunk. After a death its rows go one by one, so that the next death has a name."""
        left, alone = self.left, False
        while left:
            if self.process is None:
                await self._start()
            group = [left[0]] if alone else list(left)
            try:
                assert self.pipe is not None
                self.pipe.send(group)
                for _ in group:
                    record = await self._receive()
                    assert record is not None
                    await self.pool.put(RowOutcome(left.popleft(), record))
            except (EOFError, OSError):
                alone = True
                await self._died()

    async def _receive(self) -> Record | None:
        """What the worker sends next; None for its word that it is ready. What it logs is logged here on the way."""
        assert self.pipe is not None
        while True:
            value = await asyncio.get_running_loop().run_in_executor(self.threads, self.pipe.recv)
            if isinstance(value, EireneError):
                raise value
            if not isinstance(value, LogRecord):
                assert value is None or isinstance(value, Record)
                return value
            log_here(value)

    async def _died(self) -> None:
        """Counts a death against the row that the worker was at; the second one makes it a failed record."""
        how = self.end(wait_s=_ENDING_S)
        if self.pool.died(self.left[0]) == _DEATHS:
            why = f"worker processes ended at this row, the last {how}"
            await self.pool.give_up(self.left.popleft(), why, self.make())

    async def _start(self) -> None:
        """A worker that is ready. One that is killed before it is followed by another, up to `_STARTS` of them."""
        if getattr(current_process(), "_inheriting", False):  # this is a worker, which runs its script's top level
            os._exit(_UNGUARDED)
        for tried in range(1, _STARTS + 1):
            self._begin()
            try:
                await self._receive()
            except (EOFError, OSError):
                how = self.end(wait_s=_ENDING_S)
            else:
                return
            if not how.is_killed:
                raise WorkerError(_cannot_begin(how))
            logger.warning("a worker process ended before its first row, %s (start %d of %d)", how, tried, _STARTS)
        raise WorkerError(f"{_STARTS} worker processes ended before their first row, the last {how}")

    def _begin(self) -> None:
        context = _context()
        self.pipe, theirs = context.Pipe()
        with environment(_ONE_THREAD), _without_interrupts():
            arguments = (theirs, self.make, self.pool.settings, Inherited.here())
            self.process = context.Process(target=serve, args=arguments, daemon=True)
            self.process.start()
        theirs.close()  # else its end would not be seen here

    def end(self, *, wait_s: float = 0.0) -> _Ending:
        """Ends the worker, if there is one; one that is ending by itself gets `wait_s` for it. Says how it ended."""
        process, self.process = self.process, None
        if process is None or self.pipe is None:
            return _Ending(None)
        process.join(wait_s)
        code = process.exitcode
        process.kill()
        process.join()
        return _Ending(code)


@dataclass(frozen=True, slots=True)
class _Ending:
    """How a worker ended: `code` is its exit code, below 0 the signal's number, None where it had to be ended."""

    code: int | None

    @property
    def is_killed(self) -> bool:
        """Whether it had no part in it: the next one may live."""
        return self.code is None or self.code < 0

    def __str__(self) -> str:
        if self.code is None:
            return "without an exit code"
        return f"by {signal.Signals(-self.code).name}" if self.code < 0 else f"with exit code {self.code}"


def _cannot_begin(how: _Ending) -> str:
    if how.code == _UNGUARDED:
        return 'a script that starts workers must do so under `if __name__ == "__main__":`, since each worker reads it'
    return f"a worker process ended before its first row, {how}; its message stands above"


def _context() -> ForkServerContext | SpawnContext:
    """How workers begin: where it can be had, as copies of a process without threads that has imported everything."""
    if sys.platform != "linux":
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload([serve.__module__])
    return context


def workers_for(n_rows: int) -> int:
    """How many workers so many rows of the embedded backend are worth; 1 where starting them takes longer."""
    return usable_cores() if n_rows >= 2 * CHUNK_ROWS else 1


@contextmanager
def environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that a process started inside begins with; libraries read them when they are imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process started inside never sees Ctrl-C or a hangup; one that comes meanwhile reaches this process later."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set(PARENT_SIGNALS))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
