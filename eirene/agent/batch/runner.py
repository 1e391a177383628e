"""The seam between the batch engine and whatever does the work: this process, others, or other machines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import Protocol

from eirene.records import Item, Record


@dataclass(frozen=True, slots=True)
class Work:
    """One row to be made. `hash` stands for the item and everything that its record will hang on."""

    item: Item
    hash: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """One row made. A record with status `failed` is one as well."""

    work: Work
    record: Record


class Source:
    """The work of a run, for several who take from it side by side."""

    def __init__(self, work: Iterable[Work | None]) -> None:
        self.is_over = False
        self._waiting = iter(work)
        self._news = asyncio.Event()

    def take(self, n: int) -> list[Work]:
        """Up to `n` pieces; none where it `is_over`, or where there are none until there is news."""
        taken: list[Work] = []
        while len(taken) < n and not self.is_over:
            try:
                work = next(self._waiting)
            except StopIteration:
                self.close()
                break
            if work is None:
                break
            taken.append(work)
        return taken

    def tell(self) -> None:
        """There is news: an outcome has been yielded."""
        self._news.set()
        self._news = asyncio.Event()

    def close(self) -> None:
        """Nothing more is given out."""
        self.is_over = True
        self.tell()

    async def news(self) -> None:
        """Waits for the next news."""
        await self._news.wait()


class Runner(Protocol):
    """Makes records of work."""

    def run(self, work: Iterable[Work | None]) -> AsyncGenerator[Outcome, None]:
        """Yields an outcome for each piece of work, in the order in which they end.

        None among the work: no more for now; ask again when an outcome has been yielded. It does not come while nothing
        is under way.

        `work` is pulled from the thread of the event loop, and only as far as there is room: what is held in memory
        does not grow with the data. It may end early, when no more is wanted; what is under way then is still finished
        and yielded. Closing the generator, or cancelling the task that waits for it, ends what is under way at once.
        What every other row would meet as well (a refused key, a used-up quota: `eirene.agent.hopeless`) is raised as
        its `BackendError`, after everything else under way was yielded. A row that fails by itself is a record with
        status `failed`.
        """
        ...
