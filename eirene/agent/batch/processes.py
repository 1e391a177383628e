"""The runner on all cores: worker processes that load their own models and take rows in chunks."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any, cast

from eirene.agent.batch.pool import Pool, PoolShape, WorkerDiedError
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.batch.worker import Inherited, MakeParts, Replies, RowWorker, log_here
from eirene.agent.settings import Settings
from eirene.core.concurrency import usable_cores
from eirene.core.errors import WorkerError

CHUNK_ROWS = 32
"""Rows that a worker takes at a time: enough for full batches of the encoder, few enough to end close together."""

_ENDING_S = 2.0
"""Seconds from the end of a worker's pipe to that of the worker."""

_ONE_THREAD = {name: "1" for name in ("EIRENE_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
"""One thread a process: the cores have a process each."""

_PARENT_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGHUP") if hasattr(signal, name))
"""What a terminal sends to all its processes and the parent alone handles: what is under way is finished."""


class ProcessRunner:
    """Refines rows in worker processes, `workers` of them (default: one for each usable core).

    Each builds its parts with `make`, which is sent to it and so must be a module's function or a `functools.partial`
    of one. Records are those of this process, but for `usage.seconds`. When a worker dies, another does again what it
    had not finished; a row that takes three with it, the last one alone, becomes a failed record. Processes begin
    anew, not as copies of this one: a script that runs this at its top level needs `if __name__ == "__main__":`.
    """

    def __init__(
        self, make: MakeParts, settings: Settings, *, workers: int | None = None, chunk_rows: int = CHUNK_ROWS
    ) -> None:
        self._make, self._settings = make, settings
        self._shape = PoolShape(usable_cores() if workers is None else workers, chunk_rows=chunk_rows)

    def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields the outcomes as they come. Raises `WorkerError` where a worker cannot even begin."""
        threads = ThreadPoolExecutor(self._shape.workers, "eirene-worker")  # they end with the last worker
        new = partial(_Process, self._make, self._settings, threads)
        return Pool(work, new, self._settings, shape=self._shape, parts=self._make).run()


class _Process:
    def __init__(self, make: MakeParts, settings: Settings, threads: ThreadPoolExecutor) -> None:
        self._arguments = make, settings
        self._threads = threads
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    async def begin(self) -> None:
        """Starts it. Raises `WorkerError` where it ends by itself, as the next one would."""
        context = _context()
        self._pipe, theirs = context.Pipe()
        with environment(_ONE_THREAD), _without_interrupts():
            arguments = (theirs, *self._arguments, Inherited.here(), dict(os.environ))
            self._process = context.Process(target=serve, args=arguments, daemon=True)
            self._process.start()
        theirs.close()  # else its end would not be seen here
        try:
            reply, logged = await self._received()
        except WorkerDiedError as error:
            if self._process.exitcode is not None and self._process.exitcode >= 0:
                said = f"a worker process ended before its first row, {error}; its message stands above"
                raise WorkerError(said) from None
            raise
        log_here(logged)
        if isinstance(reply, str):
            raise WorkerError(f"a worker process could not begin: {reply}")

    async def rows(self, rows: list[RowWork]) -> AsyncIterator[Replies]:
        """Sends rows and waits for what comes of each."""
        assert self._pipe is not None
        with suppress(OSError):  # it is gone, which receiving tells
            self._pipe.send(rows)
        for _ in rows:
            yield cast("Replies", await self._received())

    def end(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    async def _received(self) -> Any:
        assert self._pipe is not None and self._process is not None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._pipe.recv)
        except (EOFError, OSError):
            self._process.join(_ENDING_S)
            code = self._process.exitcode
            how = "without an exit code" if code is None else f"with exit code {code}" if code >= 0 else (
                f"by {signal.Signals(-code).name}"
            )  # fmt: skip
            raise WorkerDiedError(how) from None


def serve(
    pipe: Connection, make: MakeParts, settings: Settings, inherited: Inherited, variables: dict[str, str]
) -> None:
    """Works in a process of its own until the other end of the pipe is closed, or gone."""
    os.environ.clear()  # that of the process that this is a copy of may be an old one
    os.environ.update(variables)
    for number in _PARENT_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    worker = RowWorker(make, settings, inherited)
    with suppress(EOFError, BrokenPipeError, ConnectionResetError), asyncio.Runner() as runner:
        pipe.send(worker.begin())
        while True:
            rows: list[RowWork] = pipe.recv()
            worker.encode(rows)
            for work in rows:
                pipe.send(runner.run(worker.rows([work], is_end=work is rows[-1])))


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
    before = signal.pthread_sigmask(signal.SIG_BLOCK, set(_PARENT_SIGNALS))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
