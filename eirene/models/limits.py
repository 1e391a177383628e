"""How many calls may be under way at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

from eirene.errors import InputError

DEFAULT_CONCURRENCY = 32


class Limiter:
    """Lets at most `max_concurrent` calls through at a time; share one between all parts that use one provider.

    Belongs to whoever makes it: there is no global. It may outlive an event loop, and counts for each loop apart.
    """

    def __init__(self, max_concurrent: int = DEFAULT_CONCURRENCY) -> None:
        if max_concurrent < 1:
            raise InputError(f"concurrency must be at least 1, got {max_concurrent}", field="concurrency")
        self.max_concurrent = max_concurrent
        # asyncio's semaphore is tied to the loop in which someone first waited for it.
        self._semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Waits for a free place and holds it."""
        loop = asyncio.get_running_loop()
        if loop not in self._semaphores:
            self._semaphores[loop] = asyncio.Semaphore(self.max_concurrent)
        async with self._semaphores[loop]:
            yield
