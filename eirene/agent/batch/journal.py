"""The journal of a batch: a line for each finished row, the record, its hash and a checksum; it is read when opened.

Of each line an entry is held (`eirene.agent.batch.entries`), and only while a batch is opened. A line that does not
fit its checksum, or is none of a batch's, is never believed.

Where finished rows go that the journal's disk does not take: they have been paid for.

What the rows of a batch add up to.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticSerializationError

from eirene.agent.batch.damage import Damage, set_aside
from eirene.agent.batch.entries import DAMAGED, STATUSES, Entries, damaged_entry, entries_of, entry_in
from eirene.agent.batch.runner import Outcome
from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.logs import get_logger
from eirene.core.records import Record
from eirene.core.usage import Usage
from eirene.data.journal_file import JournalFile, OnScan, scan
from eirene.data.line_checksum import sealed
from eirene.text.unicode import mend_surrogates

logger = get_logger(__name__)

_COPIED = 2**24
_LOOKED_AT = 10_000  # lines of a file before it is called something else


class BatchJournal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `entries` says in short what stood in it when it was opened, or was left by `drop`, a line each
    (`eirene.agent.batch.entries`). Opening writes nothing: a file of something else stays as it is, byte for byte.
    `mend` sees to a last line that was cut off behind whole ones, and so do `append` and `drop`. Raises `InputError`
    for such a file, for one that another process holds, for an id that stands twice and, without `damaged_ok`, for
    lines that are damaged.
    """

    def __init__(self, path: str | Path, *, on_scan: OnScan | None = None, damaged_ok: bool = False) -> None:
        self.path = Path(path)
        self._file = JournalFile(self.path)
        try:
            self.entries = self._read(on_scan, damaged_ok=damaged_ok)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and self._file.is_new and self._file.is_open and not self._file.size:
            self._file.remove()  # nothing has come of it
        self.close()

    def mend(self) -> None:
        """Gives a last line the end that it lacks, or takes away one that was cut off: its row is missing."""
        self._file.mend()

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Adds a line for each; when this returns all are on disk. Raises `OSError` where they cannot be written."""
        self._file.append(b"".join(line_of(outcome) for outcome in outcomes))

    def record(self, at: int) -> dict[str, Any]:
        """The line of entry `at`."""
        begin = int(self.entries["end"][at - 1]) if at else 0
        line: dict[str, Any] = parse_json(self._file.read(begin, int(self.entries["end"][at])), where=str(self.path))
        return line

    def drop(self, which: NDArray[np.bool_]) -> None:
        """Takes lines out, so that their work is done again. The new file appears at once, or the old one stays.

        Lines that are damaged go to a new file beside the journal: they may be all that is left of what was paid for.
        """
        if not which.any():
            return
        self.mend()
        ends = self.entries["end"].astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        damaged = which & (self.entries["status"] == DAMAGED)
        if damaged.any():
            place = set_aside(self.path, self._bytes_of(ends, sizes, damaged))
            logger.warning("%d damaged lines of %s are in %s now", int(damaged.sum()), self.path, place)
        self._file.replace(self._bytes_of(ends, sizes, ~which))
        kept = self.entries[~which].copy()
        kept["end"] = np.cumsum(sizes[~which])
        self.entries = kept

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()

    def _bytes_of(self, ends: NDArray[np.int64], sizes: NDArray[np.int64], which: NDArray[np.bool_]) -> Iterator[bytes]:
        """The bytes of these lines, run by run."""
        edges = np.flatnonzero(np.diff(which.astype(np.int8), prepend=0, append=0))
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            begin, end = int(ends[first] - sizes[first]), int(ends[after - 1])
            while begin < end:
                upto = min(begin + _COPIED, end)
                yield self._file.read(begin, upto)
                begin = upto

    def _read(self, on_scan: OnScan | None, *, damaged_ok: bool) -> Entries:
        damage = Damage(self.path)
        lines = enumerate(scan(self._file.read, size=self._file.size, on_scan=on_scan), start=1)
        entries = entries_of(_entry(number, line, end, damage) for number, (line, end) in lines)
        end = int(entries["end"][-1]) if len(entries) else 0
        rest = self._file.read(end)
        last = whole_entry(rest, end=end + len(rest) + 1) if rest else []
        if len(entries) == damage.n and not last and self._file.size:
            raise damage.no_journal("its only line was cut off")
        if damage.n and not damaged_ok:
            raise damage.error()
        self._file.ends_at(end, lacks=b"\n" if last else b"")
        entries = np.concatenate([entries, entries_of(last)])
        self._refuse_twins(entries)
        return entries

    def _refuse_twins(self, entries: Entries) -> None:
        order = np.flatnonzero(entries["status"] != DAMAGED)
        order = order[np.argsort(entries["id"][order], kind="stable")]
        same = np.flatnonzero(entries["id"][order][1:] == entries["id"][order][:-1])
        if len(same):
            first, second = sorted(int(order[same[0] + n]) + 1 for n in (0, 1))
            raise InputError(
                f"has the same id as line {first}; take one of the lines out", where=f"{self.path}, line {second}"
            )


def _entry(number: int, line: bytes, end: int, damage: Damage) -> tuple[Any, ...]:
    try:
        return entry_in(line, end=end)
    except ValueError as error:
        damage.add(number, str(error))
        if number == damage.n == _LOOKED_AT:
            raise damage.no_journal("") from None  # need not be read to its end
        return damaged_entry(end)


def whole_entry(line: bytes, *, end: int) -> list[tuple[Any, ...]]:
    """The entry of a last line that lacks nothing but its end: it has been paid for, and was not cut off."""
    try:
        return [entry_in(line, end=end)]
    except ValueError:
        return []


def failed(entries: Entries) -> NDArray[np.bool_]:
    """Which entries are of failed rows."""
    found: NDArray[np.bool_] = entries["status"] == STATUSES.index("failed")
    return found


def line_of(outcome: Outcome) -> bytes:
    """The record's JSON, the hash and the checksum, which stands last: a line that was cut off has none."""
    try:
        text = outcome.record.model_dump_json()
    except PydanticSerializationError:  # half a surrogate pair, in an error's message or from a model of one's own
        text = mend_surrogates(outcome.record.to_json())
    return sealed(f'{text[:-1]},"hash":"{outcome.work.hash}"}}'.encode()) + b"\n"


def rescue(outcomes: Sequence[Outcome], error: OSError) -> OSError:
    """Writes the rows to a file in the system's folder for temporary ones; the error to raise says where it is."""
    n = len(outcomes)
    try:
        handle, name = tempfile.mkstemp(prefix="eirene-batch-", suffix=".jsonl")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(line_of(outcome) for outcome in outcomes)
        except OSError:
            os.unlink(name)
            raise
    except OSError:
        said = f"{n} finished rows could be written nowhere and will be made again"
    else:
        said = f"{n} finished rows are in {name}; append them to the journal before the next run"
    return OSError(error.errno, f"{error.strerror}; {said}", error.filename)


@dataclass(slots=True)
class Totals:
    """Rows by status, and their usage. An unknown cost makes the sum unknown."""

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(cls, entries: Entries) -> Totals:
        """Of the lines of a journal, of which none is damaged."""
        counts = np.bincount(entries["status"].astype(np.int64), minlength=len(STATUSES))
        cost = float(entries["cost_usd"].sum())
        usage = Usage(
            **{
                name: int(entries[name].sum())
                for name in ("calls", "retries", "cache_hits", "input_tokens", "output_tokens", "cached_tokens")
            },
            cost_usd=None if math.isnan(cost) else cost,
            seconds=float(entries["seconds"].sum()),
        )
        return cls(dict(zip(STATUSES, counts.tolist(), strict=True)), usage)

    def add(self, record: Record) -> None:
        """Counts one more row."""
        self.statuses[record.status] += 1
        self.usage = self.usage + record.usage

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.statuses.values())
