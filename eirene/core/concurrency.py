"""Where async code meets what is not: coroutines for callers that cannot wait, threads beside an event loop.

Work done side by side: as many pieces under way as there is room for, each pulled when its place is free.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import contextvars
import functools
import os
import queue
import sys
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from eirene.text.cancellation import cancel_scope

T = TypeVar("T")

_LAST_S = 3.0
"""Seconds that the end of the process waits for threads that were left behind."""
_SMALL = 4_000
"""Characters that are worked on sooner than a thread begins to."""


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], *, name: str, timeout_s: float | None = None) -> T:
    """What the coroutine returns or raises. `make` makes it in the thread in which it is run; `name` is that thread's.

    That is a thread of its own where there is a `timeout_s`, and where someone else's loop runs in the calling thread
    (a notebook); it sees the caller's context variables, such as the LangGraph run that the call is a part of. Raises
    `TimeoutError` where the time is up, whatever the coroutine is at; what it does is then left behind, as
    by `in_thread`.
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


def in_thread(work: Callable[[], T], *, name: str, timeout_s: float | None = None) -> T:
    """What `work` returns or raises, done in a thread of its own, which sees the caller's context variables.

    Raises `TimeoutError` where it is not done in time. The thread is then left behind, as it is where the caller is
    interrupted: its next look at `check_cancelled` ends it, and so does the end of the process.
    """
    outcome: Future[T] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # handed to the caller below, whatever it is
            outcome.set_exception(error)

    with cancel_scope():
        _start(functools.partial(contextvars.copy_context().run, run), name)
        return outcome.result(timeout_s)


async def off_loop(work: Callable[[], T], *, characters: int) -> T:
    """What `work` returns; in a thread where it is about so much text that the event loop would stand still."""
    return work() if characters <= _SMALL else await asyncio.to_thread(work)


class DaemonExecutor(ThreadPoolExecutor):
    """Threads for `asyncio.to_thread` that hold up nobody's end: neither their event loop's nor the process's.

    The executor of the standard library waits, when its loop closes and again when the process ends, for whatever still
    runs; work that was left behind may take a minute to look up.
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
        """Ends the threads that have nothing to do, and waits for none."""
        for _ in range(self._started):
            self._work.put(None)

    def _serve(self) -> None:
        while (run := self._work.get()) is not None:
            run()
            del run  # an idle thread would keep what it last worked on
            self._idle.release()


@contextlib.contextmanager
def short_switch_interval() -> Generator[None, None, None]:
    """A thread that scores gives way to the event loop within half a millisecond, rather than five.

    The loop lets go of the interpreter with every write to a socket, and would wait as long to get it back.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _run(make: Callable[[], Coroutine[Any, Any, T]], begun: list[Callable[[], object]] | None = None) -> T:
    """`asyncio.run` of a task that has no result: as it closes, asyncio spells the result out, in milliseconds for a
    record, in the message of an error that nobody sees. What ends the task from another thread is put into `begun`."""
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
def _let_them_see_it() -> None:
    """Gives threads that were left behind a moment to end by themselves: native code dislikes a process that goes."""
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
    """Yields what `do` makes of each piece, as the pieces end; no more than `room()` of them are under way.

    None among the work: no more until something has been yielded; it must not come while nothing is under way. Where a
    piece, or the work itself, raises, those under way are finished and yielded, and then it is raised. Closing the
    generator, or cancelling the task that waits for it, ends what is under way at once.
    """
    waiting = iter(work)
    under_way: set[asyncio.Task[_R]] = set()
    fault: BaseException | None = None
    try:
        while True:
            if fault is None:
                try:
                    _fill(under_way, waiting, do, room)
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
