"""Makes a row of each case, several at once, and keeps the rows in a journal that a rerun goes on from."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel

from eirene.core.errors import FormError, InputError
from eirene.core.validation import validated
from eirene.data.journal import Journal

Case = TypeVar("Case")
Row = TypeVar("Row", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowKind(Generic[Row]):
    """How rows are read and told apart. `name`: what they are in words, such as `rows of a critic`.

    `fault`: why a row of the journal belongs to another evaluation, in words; None where it does not.
    """

    model: type[Row]
    name: str
    is_failed: Callable[[Row], bool]
    fault: Callable[[Row], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class MadeRows(Generic[Row]):
    """The rows, in the order of the cases, and how many cases found theirs in the journal."""

    rows: tuple[Row, ...]
    n_from_journal: int


async def make_rows(
    cases: Sequence[tuple[str, Case]],
    make: Callable[[str, Case], Awaitable[Row]],
    *,
    kind: RowKind[Row],
    journal: str | Path | None,
    concurrency: int,
    retry_failed: bool,
    on_row: Callable[[Row], None] | None,
) -> MadeRows[Row]:
    """A row for each case, which comes with its key; two cases of one key share a row.

    With `journal`, a row is on disk before another is begun in its place, and a rerun makes what is missing (and what
    failed, with `retry_failed`). The first exception of `make` stops the others and is raised; so is `InputError` for a
    journal of something else.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, got {concurrency}", field="concurrency")
    # Rows that failed, and were tried again, may stand there as well: of two lines of a key the later counts.
    with nullcontext() if journal is None else Journal(journal, later_wins=True) as held:
        done = {} if held is None else _rows_in(held, kind)
        if held is not None and retry_failed:
            failed = {key for key, _ in cases if key in done and kind.is_failed(done[key])}
            held.drop(failed)
            done = {key: row for key, row in done.items() if key not in failed}
        todo = {key: case for key, case in cases if key not in done}
        n_known = len({key for key, _ in cases}) - len(todo)

        def keep(key: str, row: Row) -> None:
            if held is not None:
                held.append(row.model_dump(mode="json"))
            done[key] = row
            if on_row is not None:
                on_row(row)

        await _make_all(todo, make, keep, concurrency=concurrency)
    return MadeRows(tuple(done[key] for key, _ in cases), n_known)


async def _make_all(
    todo: dict[str, Case],
    make: Callable[[str, Case], Awaitable[Row]],
    keep: Callable[[str, Row], None],
    *,
    concurrency: int,
) -> None:
    """Rows are kept as they come, in any order: a slow one holds up no other."""
    slots = asyncio.Semaphore(concurrency)
    is_over = False  # a task that is waiting for its turn would begin before its cancellation reaches it

    async def one(key: str, case: Case) -> None:
        nonlocal is_over
        async with slots:
            if is_over:
                return
            try:
                row = await make(key, case)
            except BaseException:
                is_over = True
                raise
            keep(key, row)

    try:
        async with asyncio.TaskGroup() as group:
            for key, case in todo.items():
                group.create_task(one(key, case))
    except ExceptionGroup as raised:
        raise raised.exceptions[0] from None


def _rows_in(journal: Journal, kind: RowKind[Row]) -> dict[str, Row]:
    found: dict[str, Row] = {}
    for n, (key, line) in enumerate(journal.lines.items(), start=1):
        where = f"{journal.path}, line {n}"
        try:
            found[key] = validated(kind.model, line)
        except FormError:
            raise InputError(f"holds something else than {kind.name}; name another file", where=where) from None
        fault = kind.fault(found[key])
        if fault is not None:
            raise InputError(f"{fault}; name another file", where=where)
    return found
