"""The engine for many rows: side by side, within limits, retried and resumed from a journal, each on disk as it comes.

`run_rows` has work done by any runner and writes what comes of it; a batch, a synthesis and `RowJournal` are put on
it. `RowJournal` makes a row of each case and keeps the rows in a journal of their own.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Generic, Protocol, Self, TypeVar

from pydantic import BaseModel

from eirene.agent.batch.control import Budget, Control, until_stopped
from eirene.core.concurrency import run_bounded
from eirene.core.errors import FormError, InputError
from eirene.core.logs import get_logger
from eirene.core.validation import validated
from eirene.data.journal import Line, open_journal

logger = get_logger(__name__)

_GRACE_S = 600.0
"""Seconds that rows under way have to end where the journal cannot be written."""
_AT_ONCE = 256
_HELD = 1024
"""Outcomes that may wait for the disk before the runner is made to wait for it."""


class Keyed(Protocol):
    """Work and its outcome, which have the same key; no other work has it."""

    @property
    def key(self) -> str: ...


W = TypeVar("W", bound=Keyed)
O = TypeVar("O", bound=Keyed)  # noqa: E741
Run = Callable[[Iterable[W | None]], AsyncGenerator[O, None]]
"""Yields an outcome for each piece of work (see `eirene.agent.batch.runner.Runner.run`)."""


async def run_rows(
    run: Run[W, O],
    work: Iterable[W],
    *,
    write: Callable[[Sequence[O]], None],
    on_written: Callable[[O], None],
    control: Control | None = None,
    budget: Budget | None = None,
    under_way: dict[str, W] | None = None,
    save_unwritten: Callable[[Sequence[O], OSError], OSError] = lambda _, error: error,
) -> None:
    """Has work done until none is left, `control` stops it or a limit of the `budget` is reached.

    `write` puts outcomes on disk, in a thread; `on_written` hears of each that is there. `under_way` is kept up to
    date. What the runner raises is raised when everything finished is on disk; so is the `OSError` of a disk that takes
    no more, as `save_unwritten` makes it of the outcomes that it did not take.
    """
    control = Control(grace_s=_GRACE_S) if control is None else control
    under_way = {} if under_way is None else under_way

    def on_fault(error: OSError) -> None:
        control.stop(f"the journal cannot be written: {error.strerror}")

    if budget is not None and budget.limits.deadline_s is not None:
        control.stop_after(budget.limits.deadline_s, f"--deadline {budget.limits.deadline_s:g}")
    writer = JournalWriter(write, on_written=on_written, on_fault=on_fault)
    let_in = _let_in(work, under_way, writer, control, budget)
    try:
        is_limited = budget is not None and budget.limits.is_of_spending
        await until_stopped(_pull(run(let_in), under_way, writer, is_limited=is_limited), control)
    finally:
        control.close()
        try:
            await writer.finish()
        except OSError as error:
            raise save_unwritten(writer.waiting, error) from None


def _let_in(
    work: Iterable[W], under_way: dict[str, W], writer: JournalWriter[O], control: Control, budget: Budget | None
) -> Iterator[W | None]:
    """The work, as the limits let it in, until the run is stopped: None for none until something under way has ended,
    which may cost less than it was taken for."""
    for piece in work:
        while budget is not None and control.reason is None:
            reason = budget.reached(len(under_way) + len(writer.waiting))
            if reason is None:
                break
            if under_way:
                yield None
            elif budget.spent.rows:
                control.stop(reason)
            else:  # all that was begun waits for the disk
                break
        if control.reason is not None:
            return
        under_way[piece.key] = piece
        yield piece


async def _pull(
    run: AsyncGenerator[O, None], under_way: dict[str, W], writer: JournalWriter[O], *, is_limited: bool
) -> None:
    async with aclosing(run) as outcomes:
        async for outcome in outcomes:
            if under_way.pop(outcome.key, None) is None:
                logger.warning("a second outcome for the row %r is left out", outcome.key)
                continue
            await writer.put(outcome)
            if is_limited and not under_way:  # whether a limit is reached is not guessed where it can be known
                await writer.written()


class JournalWriter(Generic[O]):
    """Writes beside the event loop: outcomes that end while the disk is busy share the next wait for it.

    After the first `OSError` nothing more is written until `finish`, which tries again once: `on_fault` hears of it.
    What `on_written` raises holds up no row: `finish` raises it when all are on disk.
    """

    def __init__(
        self, write: Callable[[Sequence[O]], None], *, on_written: Callable[[O], None],
        on_fault: Callable[[OSError], None],
    ) -> None:  # fmt: skip
        self.waiting: list[O] = []
        self._write = write
        self._on_written = on_written
        self._on_fault = on_fault
        self._fault: OSError | None = None
        self._unheard: Exception | None = None
        self._writing: asyncio.Task[None] | None = None

    async def put(self, outcome: O) -> None:
        """Takes an outcome; from here on it will be written, whatever becomes of the caller."""
        self.waiting.append(outcome)
        if self._writing is None and self._fault is None:
            self._writing = asyncio.create_task(self._work())
        if len(self.waiting) > _HELD and self._writing is not None:
            await asyncio.shield(self._writing)

    async def written(self) -> None:
        """Waits until what was taken is on disk, or cannot be written."""
        while self._writing is not None:
            await asyncio.shield(self._writing)

    async def finish(self) -> None:
        """Waits until all is on disk. Raises `OSError` where it cannot be written; `waiting` then has what is not."""
        while self._writing is not None:
            await self._writing
        while self.waiting:
            await self._write_some()
        if self._unheard is not None:
            raise self._unheard

    async def _work(self) -> None:
        try:
            while self.waiting:
                await self._write_some()
        except OSError as error:
            self._fault = error
            self._on_fault(error)
        finally:
            self._writing = None

    async def _write_some(self) -> None:
        some = self.waiting[:_AT_ONCE]
        await asyncio.to_thread(self._write, some)
        del self.waiting[: len(some)]
        for outcome in some:
            try:
                self._on_written(outcome)
            except Exception as error:  # the listener's own: the rows behind this one are paid for as well
                self._unheard = self._unheard or error


Case = TypeVar("Case")
V = TypeVar("V")
Row = TypeVar("Row", bound=BaseModel)


_key_of: Callable[[BaseModel], str] = attrgetter("key")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKind(Generic[Row]):
    """How rows, which have a `key`, are read. `name`: what they are in words, such as `rows of a critic`.

    `fault`: why a row of the journal cannot be gone on from, said of the journal; None where it can. `place`: what is
    to be named anew then.
    """

    model: type[Row]
    name: str
    is_failed: Callable[[Row], bool]
    fault: Callable[[Row], str | None] = lambda _: None
    place: str = "file"


@dataclass(frozen=True, slots=True)
class MadeRows(Generic[Row]):
    """The rows, in the order of the cases; how many cases found theirs in the journal; how many rows in it are of no
    case."""

    rows: tuple[Row, ...]
    n_from_journal: int
    n_left_out: int


@dataclass(frozen=True, slots=True)
class _KeyedValue(Generic[V]):
    """A case, or its row."""

    key: str
    value: V


class RowJournal(Generic[Row]):
    """Rows of one kind by their keys, in a journal that a rerun goes on from (None: in memory); a context manager.

    Of two lines of a key the later counts: a row that failed, and was made again, may stand there as well. Raises
    `InputError` for a journal that another run holds, or of something else.
    """

    def __init__(self, path: str | Path | None, kind: RowKind[Row]) -> None:
        self.rows: dict[str, Row] = {}
        self._kind = kind
        self._journal = None if path is None else open_journal(path, on_line=self._take)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._journal is not None:
            self._journal.close()

    async def make(
        self,
        cases: Iterable[tuple[str, Case]],
        make: Callable[[str, Case], Awaitable[Row]],
        *,
        concurrency: int,
        retry_failed: bool = False,
        on_row: Callable[[Row], None] | None = None,
    ) -> MadeRows[Row]:
        """A row for each case, which comes with its key; two cases of one key share a row.

        Up to `concurrency` cases are under way. A row is on disk before `on_row` hears of it. What is there is not made
        again, but what failed is, with `retry_failed`. Where `make` raises, the cases under way are finished and
        written, and then it is raised.
        """
        if concurrency < 1:
            raise InputError(f"concurrency must be at least 1, got {concurrency}", field="concurrency")
        if self._journal is not None:
            self._journal.mend()
        wanted = list(cases)
        keys = {key for key, _ in wanted}
        if retry_failed:
            self._drop({key for key in keys if key in self.rows and self._kind.is_failed(self.rows[key])})
        todo: dict[str, Case] = {}
        for key, case in wanted:
            if key not in self.rows:
                todo.setdefault(key, case)

        async def one(piece: _KeyedValue[Case]) -> _KeyedValue[Row]:
            return _KeyedValue(piece.key, await make(piece.key, piece.value))

        def on_written(made: _KeyedValue[Row]) -> None:
            self.rows[made.key] = made.value
            if on_row is not None:
                on_row(made.value)

        await run_rows(
            lambda work: run_bounded(work, one, room=lambda: concurrency),
            (_KeyedValue(key, case) for key, case in todo.items()), write=self._write, on_written=on_written,
        )  # fmt: skip
        rows = tuple(self.rows[key] for key, _ in wanted)
        return MadeRows(rows, len(keys) - len(todo), len(self.rows) - len(keys))

    def _take(self, line: Line) -> None:
        kind = self._kind
        try:
            row = validated(kind.model, line)
        except FormError:
            raise InputError(f"holds something else than {kind.name}; name another {kind.place}") from None
        fault = kind.fault(row)
        if fault is not None:
            raise InputError(f"{fault}; name another {kind.place}")
        self.rows[_key_of(row)] = row

    def _write(self, some: Sequence[_KeyedValue[Row]]) -> None:
        if self._journal is not None:
            self._journal.append([made.value.model_dump(mode="json") for made in some])

    def _drop(self, keys: set[str]) -> None:
        """Takes the rows of these keys out; other lines stay byte for byte."""
        if self._journal is not None and keys:
            lines = ((line, json.loads(line.text)) for line in self._journal.lines())
            self._journal.drop(
                [(line.begin, line.end) for line, value in lines if _key_of(validated(self._kind.model, value)) in keys]
            )
        for key in keys:
            del self.rows[key]
