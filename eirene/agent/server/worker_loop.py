"""A second event loop, in a thread of its own, for the work of requests: what holds it up holds up no connection.

Models, detectors and what LangChain and LangGraph do between them compute on their event loop now and then. The one
that serves connections must not be theirs, or no request is read meanwhile, not even one for `/healthz`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from eirene.core.concurrency import DaemonExecutor, usable_cores

T = TypeVar("T")


class WorkerLoop:
    """Starts with the first work, and ends with `close`; the end of the process does not wait for it."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    async def run(self, make: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the coroutine gives, run in the other loop. Cancelled here it is cancelled there, and not waited for."""
        if self._loop is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),), name="work", daemon=True)
            self._thread.start()
            ready.wait()
        assert self._loop is not None

        async def work() -> T:
            return await make()

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    async def close(self, *, within_s: float) -> None:
        """Cancels what is under way and waits for its end, as long as `within_s`."""
        if self._loop is None or self._stop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        await asyncio.to_thread(self._thread.join, within_s)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_default_executor(DaemonExecutor(usable_cores()))
        ready.set()
        await self._stop.wait()
