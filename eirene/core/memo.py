"""Caches: `Memo`, a bounded LRU memory for threads and coroutines; `once` for functions; the folder."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from functools import wraps
from pathlib import Path
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Memo(Generic[K, V]):
    """The values of the `most` keys that were used last. Threads and event loops may share one."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()
        # The lock of a key's maker, as long as somebody holds or awaits it; it belongs to one event loop.
        self._turns: WeakValueDictionary[tuple[K, int], asyncio.Lock] = WeakValueDictionary()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> V | None:
        """The value of the key, None where there is none."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: K, value: V) -> None:
        """Stores a value, which is not None, and evicts the least recently used beyond the bound."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """The value of the key, else what `make` gives. Two threads may make the same value, which does no harm."""
        value = self.get(key)
        if value is None:
            value = make()
            self.put(key, value)
        return value

    async def get_or_await(
        self, key: K, make: Callable[[], Awaitable[V]], *, worth: Callable[[V], bool] | None = None
    ) -> V:
        """The value of the key, else what `make` gives, which is kept if it is `worth` it.

        One coroutine of an event loop makes it and the others wait; if it fails, the next one tries.
        """
        value = self.get(key)
        if value is not None:
            return value
        async with self._turns.setdefault((key, id(asyncio.get_running_loop())), asyncio.Lock()):
            value = self.get(key)
            if value is None:
                value = await make()
                if worth is None or worth(value):
                    self.put(key, value)
            return value


def once(make: Callable[[], V]) -> Callable[[], V]:
    """Calls a function at first need and keeps what it gives for the process. Other threads wait meanwhile.

    Where it raises, the next caller tries again.
    """
    lock, made = threading.Lock(), list[V]()

    @wraps(make)
    def run() -> V:
        with lock:
            if not made:
                made.append(make())
        return made[0]

    return run


def cache_folder() -> Path | None:
    """The folder for cached indexes: `EIRENE_CACHE`, else `XDG_CACHE_HOME`/eirene, else ~/.cache/eirene, if any."""
    own = os.environ.get("EIRENE_CACHE")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        return (Path(shared) if shared else Path.home() / ".cache") / "eirene"
    except RuntimeError:  # a user without a home
        return None
