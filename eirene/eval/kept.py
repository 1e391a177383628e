"""What was paid for once is not paid for again: the latest results of asking models, by what was asked."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Turn:
    """Whose turn it is to ask, and how many ask or wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted_by: int = 0


class Kept(Generic[K, V]):
    """Up to `most` results. Who asks while another is at it waits for him, and asks himself only if he fails."""

    def __init__(self, most: int, *, worth: Callable[[V], bool]) -> None:
        self._most = most
        self._worth = worth
        self._known: OrderedDict[K, V] = OrderedDict()
        self._turns: dict[K, _Turn] = {}

    async def get(self, key: K, ask: Callable[[], Awaitable[V]]) -> V:
        """What is known for the key, else what `ask` gives, which is kept if it is `worth` it."""
        turn = self._turns.setdefault(key, _Turn())
        turn.wanted_by += 1
        try:
            async with turn.lock:
                if key not in self._known:
                    found = await ask()
                    if not self._worth(found):
                        return found
                    self._known[key] = found
                self._known.move_to_end(key)
                while len(self._known) > self._most:
                    self._known.popitem(last=False)
                return self._known[key]
        finally:
            turn.wanted_by -= 1
            if not turn.wanted_by:
                del self._turns[key]
