"""A batch: rows of a data set streamed in, refined, put on disk at once; a rerun (resume) does only what is missing."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eirene.agent.batch.control import Budget, Control, Limits
from eirene.agent.batch.entries import DAMAGED, ENTRY, Entries, Totals, failed
from eirene.agent.batch.journal import BatchJournal, save_unwritten
from eirene.agent.batch.rows import run_rows
from eirene.agent.batch.runner import RowOutcome, RowWork, Runner
from eirene.agent.critics import critique_from_notes
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.records import Item, Record
from eirene.data import Dataset
from eirene.data.dataset import id_number
from eirene.data.journal_file import OnScan
from eirene.text.sentences import split_sentences

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
    says why the run ended with rows left, None where it did not. `outdated`: lines that a run takes out of the journal
    before it makes their rows again; until then, and where nothing is run, they stay.
    """

    journal: BatchJournal
    dataset: Dataset
    hashes: RowHash
    n_rows: int
    n_done: int
    n_others: int
    totals: Totals
    made: Totals
    missing: array[int]
    outdated: NDArray[np.bool_]
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

    def only(self, places: Iterable[int]) -> None:
        """Leaves a run no more than these of the missing rows; the lines of the others stay in the journal."""
        self.missing = array("q", sorted(places))
        if self.outdated.any():
            ids = [id_number(item.id) for item in self.items()]
            entries = self.journal.entries
            self.outdated = self.outdated & (np.isin(entries["id"], ids) | (entries["status"] == DAMAGED))


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
    with BatchJournal(out, on_scan=on_scan, damaged_ok=again.damaged) as journal:
        batch = _opened(journal, dataset, hashes, _read_wanted(dataset, hashes, settings, on_look), again)
        journal.mend()  # not before it is known that the run goes on in this file
        yield batch


def _opened(journal: BatchJournal, dataset: Dataset, hashes: RowHash, wanted: WantedRows, again: Again) -> Batch:
    found = _matched(wanted, journal.entries)
    if found.changed.any() and not again.changed:
        raise InputError(_changed(journal, hashes, int(found.changed.argmax()), int(found.changed.sum())),
                         where=str(journal.path))  # fmt: skip
    outdated = found.changed | (journal.entries["status"] == DAMAGED)
    if again.failed:
        outdated |= failed(journal.entries) & np.isin(journal.entries["id"], wanted.ids)
    kept = journal.entries
    if outdated.any():
        kept = kept[~outdated]
        found = _matched(wanted, kept)
    else:
        journal.entries = np.empty(0, ENTRY)  # a line each: no more needed
    return Batch(
        journal, dataset, hashes, n_rows=len(wanted.ids), n_done=found.n_done, n_others=found.n_others,
        totals=Totals.of(kept), made=Totals(), missing=array("q", found.missing.tobytes()), outdated=outdated,
    )  # fmt: skip


def _changed(journal: BatchJournal, hashes: RowHash, at: int, n: int) -> str:
    line = journal.record(at)
    before = line.get("signature")
    why = "another input row, or other models" if before == hashes.signature else (
        f"other settings: {before}, now {hashes.signature}"
    )  # fmt: skip
    more = f" (and {n - 1} more)" if n > 1 else ""
    return (
        f"has the row {line.get('id')!r}{more} made from {why}; name another file for --out, or give --replace-changed "
        "to have such rows made again"
    )


async def run_batch(
    batch: Batch, runner: Runner, *, limits: Limits | None = None, control: Control, on_row: OnRow | None = None
) -> None:
    """Has the missing rows made, until none is left, `control` stops the run, or a limit is reached.

    A row is on disk before `on_row` hears of it. What the runner raises is raised when everything finished is on disk;
    so is the `OSError` of a disk that takes no more, whose message says where rows stand that it did not take.
    """

    def on_written(outcome: RowOutcome) -> None:
        batch.totals.add(outcome.record)
        batch.made.add(outcome.record)
        if on_row is not None:
            on_row(outcome.record)

    if batch.outdated.any():
        batch.journal.drop(batch.outdated)
        batch.journal.entries, batch.outdated = np.empty(0, ENTRY), np.zeros(0, np.bool_)
    budget = Budget(Limits() if limits is None else limits, batch.totals, batch.made)
    try:
        await run_rows(
            runner.run, batch.work(), write=batch.journal.append, on_written=on_written, control=control, budget=budget,
            under_way=batch.under_way, save_unwritten=save_unwritten,
        )  # fmt: skip
    finally:
        batch.stopped = control.reason


@dataclass(frozen=True, slots=True)
class WantedRows:
    """The rows of the data in their order, 16 bytes each: what stands for the id, and the hash."""

    ids: NDArray[np.uint64]
    hashes: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class JournalMatch:
    """What a journal has of the rows that are wanted.

    `missing`: places in the data; `changed`: which entries of the journal have the id of a row and another hash;
    `n_others`: entries that no row of the data asks for.
    """

    missing: NDArray[np.int64]
    changed: NDArray[np.bool_]
    n_done: int
    n_others: int


def _read_wanted(dataset: Dataset, hashes: RowHash, settings: Settings, on_look: OnLook | None = None) -> WantedRows:
    """Reads all rows before anything is spent on one.

    Raises `InputError` for one that cannot be used, for two with one id, and in mode human for one without its notes.
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
    return WantedRows(np.frombuffer(ids, np.uint64), np.frombuffer(found, np.uint64))


def _matched(wanted: WantedRows, entries: Entries) -> JournalMatch:
    """Holds the rows against the journal."""
    changed = np.zeros(len(entries), np.bool_)
    if not len(entries):
        return JournalMatch(np.arange(len(wanted.ids)), changed, 0, 0)
    order = np.argsort(entries["id"], kind="stable")
    at = order[np.minimum(np.searchsorted(entries["id"][order], wanted.ids), len(entries) - 1)]
    is_there = entries["id"][at] == wanted.ids
    is_same = is_there & (entries["hash"][at] == wanted.hashes)
    changed[at[is_there & ~is_same]] = True
    return JournalMatch(
        missing=np.flatnonzero(~is_same),
        changed=changed,
        n_done=int(is_same.sum()),
        n_others=len(entries) - int(is_there.sum()),
    )
