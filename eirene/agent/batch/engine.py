"""Refines a data set: rows streamed in, finished ones onto disk at once, and a rerun does only what is missing."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eirene.agent.batch.control import Control, Limits, Writer, admitted, until_over
from eirene.agent.batch.entries import DAMAGED, ENTRY
from eirene.agent.batch.journal import BatchJournal, Totals, failed, rescue
from eirene.agent.batch.resume import OnLook, Wanted, look, standing
from eirene.agent.batch.runner import Outcome, Runner, Work
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record
from eirene.data import Dataset
from eirene.data.dataset import id_number
from eirene.data.journal_file import OnScan

logger = get_logger(__name__)

OnRow = Callable[[Record], None]


@dataclass(frozen=True, slots=True)
class Again:
    """Which rows that are in the journal are done again: failed ones, those made with another configuration, and those
    whose lines are damaged."""

    failed: bool = False
    changed: bool = False
    damaged: bool = False


@dataclass(slots=True)
class Batch:
    """A data set and its journal, held against each other, before or after a run. See `open_batch`.

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
    under_way: dict[str, Work] = field(default_factory=dict)
    stopped: str | None = None

    @property
    def n_left(self) -> int:
        """Rows that are not in the journal."""
        return self.n_rows - self.n_done - self.made.rows

    def items(self) -> Iterator[Item]:
        """The rows that are missing, read one at a time; those that came to the file since are not among them."""
        whole = len(self.missing) == self.n_rows
        return islice((self.dataset if whole else self.dataset.part(self.missing)).items(), len(self.missing))

    def work(self) -> Iterator[Work]:
        """The same, with their hashes."""
        return (Work(item, self.hashes.of(item)) for item in self.items())

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
        batch = _opened(journal, dataset, hashes, look(dataset, hashes, settings, on_look), again)
        journal.mend()  # not before it is known that the run goes on in this file
        yield batch


def _opened(journal: BatchJournal, dataset: Dataset, hashes: RowHash, wanted: Wanted, again: Again) -> Batch:
    found = standing(wanted, journal.entries)
    if found.changed.any() and not again.changed:
        raise InputError(_changed(journal, hashes, int(found.changed.argmax()), int(found.changed.sum())),
                         where=str(journal.path))  # fmt: skip
    outdated = found.changed | (journal.entries["status"] == DAMAGED)
    if again.failed:
        outdated |= failed(journal.entries) & np.isin(journal.entries["id"], wanted.ids)
    kept = journal.entries
    if outdated.any():
        kept = kept[~outdated]
        found = standing(wanted, kept)
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
    limits = Limits() if limits is None else limits

    def on_written(outcome: Outcome) -> None:
        batch.totals.add(outcome.record)
        batch.made.add(outcome.record)
        if on_row is not None:
            on_row(outcome.record)

    def on_fault(error: OSError) -> None:
        control.stop(f"the journal cannot be written: {error.strerror}")

    if batch.outdated.any():
        batch.journal.drop(batch.outdated)
        batch.journal.entries, batch.outdated = np.empty(0, ENTRY), np.zeros(0, np.bool_)
    if limits.deadline_s is not None:
        control.stop_after(limits.deadline_s, f"--deadline {limits.deadline_s:g}")
    writer = Writer(batch.journal, on_written=on_written, on_fault=on_fault)
    try:
        await until_over(_pull(runner, _admitted(batch, limits, control, writer), batch.under_way, writer), control)
    finally:
        control.close()
        batch.stopped = control.reason
        try:
            await writer.finish()
        except OSError as error:
            raise rescue(writer.waiting, error) from None


def _admitted(batch: Batch, limits: Limits, control: Control, writer: Writer) -> Iterator[Work | None]:
    """The work, as the limits let it in: None for none until a row under way has ended."""
    under_way = batch.under_way

    def reached() -> str | None:
        n = len(under_way) + len(writer.waiting)
        return limits.reached(batch.totals, made=batch.made, under_way=n)

    # Where no row is known and none is under way, all that was begun waits for the disk.
    for work in admitted(
        batch.work(), control, reached=reached, is_busy=lambda: bool(under_way), is_known=lambda: batch.totals.rows > 0
    ):
        if work is not None:
            under_way[work.item.id] = work
        yield work


async def _pull(runner: Runner, work: Iterator[Work | None], under_way: dict[str, Work], writer: Writer) -> None:
    async with aclosing(runner.run(work)) as outcomes:
        async for outcome in outcomes:
            if under_way.pop(outcome.work.item.id, None) is None:
                logger.warning("a second outcome for the row %r is left out", outcome.work.item.id)
                continue
            await writer.put(outcome)
