"""Where async code meets what is not: coroutines for callers that cannot wait, threads beside an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


def run_blocking(make: Callable[[], Coroutine[Any, Any, T]], *, name: str) -> T:
    """What the coroutine returns or raises. `make` makes it in the thread in which it is run; `name` is that thread's.

    Where someone else's loop runs in the calling thread (a notebook), a thread of our own has room for another; it sees
    the caller's context variables, such as the LangGraph run that the call is a part of.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _run(make)
    outcome: list[T] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(_run(make))
        except BaseException as error:  # handed to the caller below, whatever it is
            failure.append(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), name=name)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return outcome[0]


@contextlib.contextmanager
def switching_often() -> Generator[None, None, None]:
    """A thread that scores gives way to the event loop within half a millisecond, rather than five.

    The loop lets go of the interpreter with every write to a socket, and would wait as long to get it back.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _run(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """`asyncio.run` of a task that has no result: as it closes, asyncio spells the result out, in milliseconds for a
    record, in the message of an error that nobody sees."""
    outcome: list[T] = []

    async def drive() -> None:
        outcome.append(await make())

    asyncio.run(drive())
    return outcome[0]
