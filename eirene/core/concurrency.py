"""Concurrency: coroutines run from sync code, threads beside an event loop, bounded concurrent work."""

from __future__ import annotations

import asyncio
import atexit
import contextvars
import functools
import os
import queue
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from eirene.text.cancellation import cancel_scope

T = TypeVar("T")

_LAST_S = 3.0
"""Seconds that the exit of the process waits for abandoned threads."""
_SMALL = 4_000
"""Characters that are processed faster than a thread starts."""


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], *, name: str, timeout_s: float | None = None) -> T:
    """Runs a coroutine to its end from sync code. `make` makes it in the thread that runs it.

    With a `timeout_s`, or where an event loop runs in the calling thread (a notebook), that is a new thread of the
    given name, which sees the caller's context variables. Raises `TimeoutError` when the time is up, whatever the
    coroutine is doing; its work is then abandoned, as by `in_thread`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        if timeout_s is None:
            return _run(make)
    begun: list[Callable[[], object]] = []
    try:
        return in_thread(lambda: _run(make, begun), name=name, timeout_s=timeout_s)
    except BaseException:
        for cancel in begun:
            cancel()
        raise


def in_thread(work: Callable[[], T], *, name: str, timeout_s: float | None = None, grace_s: float = 0.0) -> T:
    """Calls `work` in a new thread, which sees the caller's context variables.

    Raises `TimeoutError` where it is not done in time. The thread is then abandoned, as it is when the caller is
    interrupted: it ends at its next `check_cancelled`, or with the process. `grace_s`: how long that end is waited for
    after the timeout, for work that uses what the caller may close (a database connection).
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # raised in the caller below
            outcome.set_exception(error)

    try:
        with cancel_scope():
            _start(functools.partial(contextvars.copy_context().run, run), name)
            return outcome.result(timeout_s)
    except TimeoutError:
        futures.wait([outcome], grace_s)
        raise


async def off_loop(work: Callable[[], T], *, characters: int) -> T:
    """Calls `work`: in a thread where it processes so many characters that the event loop would stall."""
    return work() if characters <= _SMALL else await asyncio.to_thread(work)


class DaemonExecutor(ThreadPoolExecutor):
    """Daemon threads for `asyncio.to_thread`, which delay neither the end of their event loop nor the process's exit.

    The standard library's executor waits for running work in both cases; abandoned work may take a minute to notice.
    """

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self._most = threads
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._started = 0
        self._idle = threading.Semaphore(0)
        _executors.add(self)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """As in the base class, in a daemon thread."""
        future: Future[T] = Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(fn(*args, **kwargs))
                except BaseException as error:  # the waiting side's to raise
                    future.set_exception(error)

        self._work.put(run)
        if not self._idle.acquire(blocking=False) and self._started < self._most:
            self._started += 1
            _start(self._serve, f"eirene-{self._started}")
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends idle threads, and waits for none."""
        for _ in range(self._started):
            self._work.put(None)

    def _serve(self) -> None:
        while (run := self._work.get()) is not None:
            run()
            del run  # or an idle thread keeps its last work alive
            self._idle.release()


def _run(make: Callable[[], Coroutine[Any, Any, T]], begun: list[Callable[[], object]] | None = None) -> T:
    """`asyncio.run`. Appends to `begun` what cancels the task from another thread.

    The task itself has no result: as it closes, asyncio would format it, in milliseconds for a record.
    """
    outcome: list[T] = []

    async def drive() -> None:
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        loop.set_default_executor(DaemonExecutor(usable_cores()))
        if begun is not None and task is not None:
            begun.append(lambda: loop.is_closed() or loop.call_soon_threadsafe(task.cancel))
        outcome.append(await make())

    asyncio.run(drive())
    return outcome[0]


_daemons: weakref.WeakSet[threading.Thread] = weakref.WeakSet()
_executors: weakref.WeakSet[DaemonExecutor] = weakref.WeakSet()


def _start(work: Callable[[], object], name: str) -> None:
    thread = threading.Thread(target=work, name=name, daemon=True)
    _daemons.add(thread)
    thread.start()


@atexit.register
def _join_abandoned() -> None:
    """Gives abandoned threads a moment to end: native code may crash in an exiting process."""
    until = time.monotonic() + _LAST_S
    for executor in list(_executors):
        executor.shutdown()
    for thread in list(_daemons):
        thread.join(max(0.0, until - time.monotonic()))


def usable_cores() -> int:
    """The cores that this process may run on."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usable or 1


_W = TypeVar("_W")
_R = TypeVar("_R")


async def run_bounded(
    work: Iterable[_W | None], do: Callable[[_W], Coroutine[Any, Any, _R]], *, room: Callable[[], int]
) -> AsyncGenerator[_R, None]:
    """Yields the result of `do` for each piece of work as it completes, with at most `room()` running at once.

    A None among the work: take no more until a result was yielded; something must be running then. Where a piece, or
    the iterator, raises, the running ones are finished and yielded first. Closing the generator, or cancelling the task
    that waits for it, cancels what is running.
    """
    waiting = iter(work)
    under_way: set[asyncio.Task[_R]] = set()
    fault: BaseException | None = None
    try:
        while True:
            if fault is None:
                try:
                    _fill(under_way, waiting, do, room)
                except Exception as error:  # of the iterator, such as a file that is gone
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


def _fill(
    under_way: set[asyncio.Task[_R]],
    waiting: Iterator[_W | None],
    do: Callable[[_W], Coroutine[Any, Any, _R]],
    room: Callable[[], int],
) -> None:
    while len(under_way) < room():
        piece = next(waiting, None)
        if piece is None:
            return
        under_way.add(asyncio.create_task(do(piece)))
