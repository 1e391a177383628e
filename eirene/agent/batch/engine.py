"""A batch: rows of a data set streamed in, refined, put on disk at once; a rerun (resume) does only what is missing."""

from __future__ import annotations

import os
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eirene.agent.batch.control import Budget, Control, Limits
from eirene.agent.batch.journal import BatchLine, Totals, line_text, read_lines, save_unwritten
from eirene.agent.batch.rows import run_rows
from eirene.agent.batch.runner import RowOutcome, RowWork, Runner
from eirene.agent.critics import critique_from_notes
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.core.signature import settings_changed
from eirene.data import Dataset
from eirene.data.dataset import id_number
from eirene.data.journal import Journal, JournalLine, OnScan
from eirene.text.sentences import split_sentences

logger = get_logger(__name__)

OnRow = Callable[[Record], None]
OnLook = Callable[[int], None]
"""Told how many rows of the data have been read."""


@dataclass(frozen=True, slots=True)
class Again:
    """Which rows that are in the journal are done again: failed ones, those made with another configuration, and those
    whose lines are damaged."""

    failed: bool = False
    changed: bool = False
    damaged: bool = False


@dataclass(slots=True)
class Batch:
    """A data set and its journal, compared with each other, before or after a run. See `open_batch`.

    `n_rows` in the data, `n_done` of them in the journal before the run; `n_others`: lines that no row asks for.
    `totals` are the journal's, `made` those of this run; `under_way` is the work that a runner has, by id. `stopped`
    says why the run ended with rows left, None where it did not. `outdated`: where lines begin and end that a run takes
    out of the journal, and the place of their row (below 0 for a damaged line); where nothing is run, they stay.
    """

    journal: Journal
    dataset: Dataset
    hashes: RowHash
    n_rows: int
    n_done: int
    n_others: int
    totals: Totals
    missing: array[int]
    outdated: NDArray[np.int64]
    made: Totals = field(default_factory=Totals)
    under_way: dict[str, RowWork] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def n_left(self) -> int:
        """Rows that are not in the journal."""
        return self.n_rows - self.n_done - self.made.rows

    def items(self) -> Iterator[Item]:
        """The rows that are missing, read one at a time; those that came to the file since are not among them."""
        whole = len(self.missing) == self.n_rows
        return islice((self.dataset if whole else self.dataset.part(self.missing)).items(), len(self.missing))

    def work(self) -> Iterator[RowWork]:
        """The same, with their hashes."""
        return (RowWork(item, self.hashes.of(item)) for item in self.items())

    def drop_outdated(self) -> None:
        """Takes the outdated lines out of the journal. Damaged ones go to a file beside it: they may be all that is
        left of what was paid for."""
        lost = self.outdated[self.outdated[:, 2] < 0]
        if len(lost):
            beside = self.journal.path.with_name(f"{self.journal.path.name}.damaged")
            with beside.open("ab") as file:
                file.writelines(self.journal.read(int(begin), int(end)) for begin, end, _ in lost)
                file.flush()
                os.fsync(file.fileno())
            logger.warning("%d damaged lines of %s are in %s now", len(lost), self.journal.path, beside)
        if len(self.outdated):
            self.journal.drop([(int(begin), int(end)) for begin, end, _ in self.outdated])
        self.outdated = self.outdated[:0]

    def tidy(self) -> None:
        """Takes out of the journal what a run would, where none is left to be made: outdated lines, a cut-off end."""
        self.drop_outdated()
        self.journal.mend()


@contextmanager
def open_batch(
    dataset: Dataset,
    *,
    out: str | Path,
    hashes: RowHash,
    settings: Settings,
    again: Again | None = None,
    on_look: OnLook | None = None,
    on_scan: OnScan | None = None,
) -> Iterator[Batch]:
    """Reads all rows, and the journal at `out`, which is locked until the end and made where there is none.

    Raises `InputError` for rows that cannot be used, for a journal that another run holds or that cannot be read, and
    for one that is damaged or whose rows were made with another configuration, unless `again` says so.
    """
    again = Again() if again is None else again
    with Journal(out) as journal:
        wanted = _WantedRows.read(dataset, hashes, settings, on_look)
        found = _JournalMatch(journal.path, wanted, again)
        lines = journal.lines(on_scan=on_scan, damaged_ok=True)  # a damaged line is named by `read_lines`
        for line, row in read_lines(journal.path, lines, damaged_ok=again.damaged):
            found.add(line, row)
        if found.changed is not None and not again.changed:
            raise InputError(_changed(found.changed, found.n_changed, hashes), where=str(journal.path))
        missing = array("q", np.sort(wanted.places[np.frombuffer(found.state, np.int8) != _DONE]).tobytes())
        yield Batch(
            journal, dataset, hashes, n_rows=len(wanted.ids), n_done=len(wanted.ids) - len(missing),
            n_others=found.n_others, totals=found.totals, missing=missing,
            outdated=np.frombuffer(found.outdated, np.int64).reshape(-1, 3),
        )  # fmt: skip


def _changed(row: BatchLine, n: int, hashes: RowHash) -> str:
    why = "another input row, or other models" if row.signature == hashes.signature else (
        f"other settings: {settings_changed(row.signature, hashes.signature)}"
    )  # fmt: skip
    more = f" (and {n - 1} more)" if n > 1 else ""
    return (
        f"has the row {row.id!r}{more} made from {why}; name another file, or have such rows made again: "
        "--replace-changed, or replace_changed=True in Python"
    )


async def run_batch(
    batch: Batch, runner: Runner, *, limits: Limits | None = None, control: Control, on_row: OnRow | None = None
) -> None:
    """Has the missing rows made, until none is left, `control` stops the run, or a limit is reached.

    A row is on disk before `on_row` hears of it. What the runner raises is raised when everything finished is on disk;
    so is the `OSError` of a disk that takes no more, whose message says where rows stand that it did not take.
    """

    def write(outcomes: Sequence[RowOutcome]) -> None:
        batch.journal.append(map(line_text, outcomes))

    def on_written(outcome: RowOutcome) -> None:
        batch.totals.add(outcome.record)
        batch.made.add(outcome.record)
        if on_row is not None:
            on_row(outcome.record)

    batch.drop_outdated()
    budget = Budget(Limits() if limits is None else limits, batch.totals, batch.made)
    try:
        await run_rows(
            runner.run, batch.work(), write=write, on_written=on_written, control=control, budget=budget,
            under_way=batch.under_way, save_unwritten=save_unwritten,
        )  # fmt: skip
    finally:
        batch.stopped = control.reason


_ABSENT, _OUTDATED, _DONE = 0, 1, 2
"""What a journal has of a row."""


@dataclass(frozen=True, slots=True)
class _WantedRows:
    """The rows of the data by what stands for their ids, rising, with their hashes and places: 24 bytes a row."""

    ids: array[int]
    hashes: array[int]
    places: NDArray[np.int64]

    @classmethod
    def read(cls, dataset: Dataset, hashes: RowHash, settings: Settings, on_look: OnLook | None) -> _WantedRows:
        """Reads all rows before anything is spent on one.

        Raises `InputError` for one that cannot be used, two with one id, and in mode human for one without its notes.
        """
        ids, found = array("Q"), array("Q")
        for n, item in enumerate(dataset.checked(), start=1):
            if settings.mode == "human":
                try:
                    critique_from_notes(item, split_sentences(item.answer))
                except InputError as error:
                    raise InputError(str(error), field=error.field, where=f"row {item.id!r}") from None
            ids.append(id_number(item.id))
            found.append(int(hashes.of(item), 16))
            if on_look is not None:
                on_look(n)
        order = np.argsort(np.frombuffer(ids, np.uint64))
        by_id = [array("Q", np.frombuffer(column, np.uint64)[order].tobytes()) for column in (ids, found)]
        return cls(by_id[0], by_id[1], order)

    def find(self, name: str) -> int | None:
        """Which of them has the id."""
        number = id_number(name)
        at = bisect_left(self.ids, number)
        return at if at < len(self.ids) and self.ids[at] == number else None


class _JournalMatch:
    """What the lines of a journal are to the rows that are wanted, line by line."""

    def __init__(self, path: Path, wanted: _WantedRows, again: Again) -> None:
        self.state = bytearray(len(wanted.ids))
        self.totals = Totals()
        self.n_others = self.n_changed = 0
        self.changed: BatchLine | None = None
        self.outdated = array("q")
        self._others: set[int] = set()
        self._path, self._wanted, self._again = path, wanted, again

    def add(self, line: JournalLine, row: BatchLine | None) -> None:
        """One more; raises `InputError` for the second line of a row, whether the data has the row or not."""
        if row is None:
            self.outdated.extend((line.begin, line.end, -1))
            return
        at, number = self._wanted.find(row.id), id_number(row.id)
        if number in self._others or (at is not None and self.state[at] != _ABSENT):
            said = f"has the id {row.id!r} of an earlier line; take one of the lines out"
            raise InputError(said, where=f"{self._path}, line {line.number}")
        if at is None:
            self._others.add(number)
            self.n_others += 1
            self.totals.add(row)
            return
        is_changed = int(row.hash, 16) != self._wanted.hashes[at]
        if is_changed:
            self.n_changed += 1
            self.changed = self.changed or row
        if is_changed or (self._again.failed and row.status == "failed"):
            self.state[at] = _OUTDATED
            self.outdated.extend((line.begin, line.end, int(self._wanted.places[at])))
            return
        self.state[at] = _DONE
        self.totals.add(row)
