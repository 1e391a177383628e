"""The interface between the batch engine and what makes the rows, and the runner of this process.

One row's failure is its record; a failure that the next row would meet as well stops the run.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from eirene.agent.detectors import cached
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.concurrency import run_bounded
from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.models.limits import Limiter


@dataclass(frozen=True, slots=True)
class RowWork:
    """One row to be made. `hash` stands for the item and everything that its record will hang on."""

    item: Item
    hash: str

    @property
    def key(self) -> str:
        """The item's id."""
        return self.item.id


@dataclass(frozen=True, slots=True)
class RowOutcome:
    """One row made. A record with status `failed` is one as well."""

    work: RowWork
    record: Record

    @property
    def key(self) -> str:
        """The item's id."""
        return self.work.item.id


class Runner(Protocol):
    """Makes records of work."""

    def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields an outcome for each piece of work, in the order in which they end.

        None among the work: no more for now; ask again when an outcome has been yielded. It does not come while nothing
        is under way.

        `work` is pulled from the thread of the event loop, and only as far as there is room: what is held in memory
        does not grow with the data. It may end early, when no more is wanted; what is under way then is still finished
        and yielded. Closing the generator, or cancelling the task that waits for it, ends what is under way at once.
        What every other row would meet as well (a refused key, a used-up quota: `eirene.agent.batch.runner`) is raised
        as its `BackendError`, after everything else under way was yielded. A row that fails by itself is a record with
        status `failed`.
        """


KEPT_A_ROW = 4
"""Scores that a detector remembers for each row under way: those of its own texts, in all rounds. Rows share none."""


class LocalRunner:
    """Refines rows in this process.

    `limiter` is the one that the parts' chat model has: twice as many rows as it lets calls through are under way, so
    that rows that compute leave no call's place empty. Without one (the embedded parts only compute) it is one row.
    """

    def __init__(self, parts: Parts, settings: Settings, *, limiter: Limiter | None = None) -> None:
        kept = KEPT_A_ROW * (1 if limiter is None else 2 * limiter.max_concurrent)
        parts = replace(parts, detectors=tuple(cached(d, most=kept) for d in parts.detectors))
        self._loop = Loop(parts, settings)
        self._limiter = limiter

    def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields the outcomes as they come; where one, or the work itself, raises, those under way are finished."""
        limiter = self._limiter
        room = (lambda: 1) if limiter is None else (lambda: 2 * limiter.now)
        return run_bounded(work, lambda piece: one_row(piece, self._loop), room=room)


logger = get_logger(__name__)


async def one_row(work: RowWork, loop: Loop) -> RowOutcome:
    """The row's outcome. Raises what every other row would meet as well, such as a refused key."""
    try:
        record = await loop.arun(work.item)
    except EireneError:
        raise
    # A fault of ours, or of a model of the user's own, that one text among a million brings out: the others go on.
    except Exception as error:
        logger.warning("row %r failed unexpectedly: %s: %s", work.item.id, type(error).__name__, error, exc_info=True)
        record = loop.failed(work.item, error)
    raise_permanent(record)
    return RowOutcome(work, record)


_BY_KIND = {kind.__name__: kind for kind in PERMANENT_ERRORS}
"""By the name that a record's `error.kind` has. The row that met one is not written: a rerun goes on from there."""


def raise_permanent(record: Record) -> None:
    """Raises what a record failed with, where it is one of these."""
    if record.error is not None and record.error.kind in _BY_KIND:
        raise _BY_KIND[record.error.kind](record.error.message)
