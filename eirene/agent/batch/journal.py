"""The journal of a batch: a line for each finished row, the record and its hash, of which only an index is held."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticSerializationError

from eirene.agent.batch.index import (
    STATUSES,
    Entries,
    IndexFile,
    OnScan,
    entries_of,
    entry_in,
    entry_of,
    known_entries,
    scan,
)
from eirene.agent.batch.runner import Outcome
from eirene.agent.journal_file import JournalFile, check_torn
from eirene.errors import InputError
from eirene.io import parse_json
from eirene.texts import whole

_COPIED = 2**24


class BatchJournal:
    """The journal in a file, which is made where there is none; use it as a context manager.

    `entries` says in short what stood in it when it was opened, or was left by `drop`, a line each
    (`eirene.agent.batch.index`). A last line that was cut off is taken away; one that lacks only its end is kept.
    Raises `InputError` where another process holds the file, or a line is none of a batch, or an id stands twice.
    """

    def __init__(self, path: str | Path, *, on_scan: OnScan | None = None) -> None:
        self.path = Path(path)
        self.repaired_bytes = 0
        self._file = JournalFile(self.path)
        try:
            known = known_entries(self.path, size=self._file.size, read=self._file.read)
            self.entries = self._with_rest(known, on_scan)
            self._index = IndexFile(self.path, self.entries, n_known=len(known))
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error is not None and self._file.is_new and self._file.is_open and not self._file.size:
            self._index.remove()  # nothing has come of it
            self._file.remove()
        self.close()

    def append(self, outcomes: Sequence[Outcome]) -> None:
        """Adds a line for each; when this returns all are on disk. Raises `OSError` where they cannot be written."""
        lines = [line_of(outcome) for outcome in outcomes]
        ends = np.cumsum([len(line) for line in lines]) + self._file.size
        self._file.append(b"".join(lines))
        found = (entry_of(o.record, hash=o.work.hash, end=int(end)) for o, end in zip(outcomes, ends, strict=True))
        self._index.append(entries_of(found))

    def record(self, at: int) -> dict[str, Any]:
        """The line of entry `at`."""
        begin = int(self.entries["end"][at - 1]) if at else 0
        line: dict[str, Any] = parse_json(self._file.read(begin, int(self.entries["end"][at])), where=str(self.path))
        return line

    def drop(self, which: NDArray[np.bool_]) -> None:
        """Takes lines out, so that their work is done again. The new file appears at once, or the old one stays."""
        if not which.any():
            return
        ends = self.entries["end"].astype(np.int64)
        sizes = np.diff(ends, prepend=0)
        self._file.replace(self._kept(ends, sizes, which))
        kept = self.entries[~which].copy()
        kept["end"] = np.cumsum(sizes[~which])
        self.entries = kept
        self._index.rewrite(kept)

    def close(self) -> None:
        """Lets go of the files."""
        self._index.close()
        self._file.close()

    def _kept(self, ends: NDArray[np.int64], sizes: NDArray[np.int64], which: NDArray[np.bool_]) -> Iterator[bytes]:
        """The bytes of the lines that stay, run by run."""
        edges = np.flatnonzero(np.diff(which.astype(np.int8), prepend=1, append=1))
        for first, after in zip(edges[::2], edges[1::2], strict=True):
            begin, end = int(ends[first] - sizes[first]), int(ends[after - 1])
            while begin < end:
                upto = min(begin + _COPIED, end)
                yield self._file.read(begin, upto)
                begin = upto

    def _with_rest(self, known: Entries, on_scan: OnScan | None) -> Entries:
        begin = int(known["end"][-1]) if len(known) else 0
        self._mend(begin)
        lines = scan(self._file.read, begin=begin, size=self._file.size, on_scan=on_scan)
        fresh = (self._entry(n, line, end) for n, (line, end) in enumerate(lines, start=len(known) + 1))
        entries = np.concatenate([known, entries_of(fresh)])
        self._refuse_twins(entries)
        return entries

    def _entry(self, number: int, line: bytes, end: int) -> tuple[Any, ...]:
        try:
            return entry_in(line, end=end)
        except ValueError as error:
            where = f"{self.path}, line {number}"
            raise InputError(f"is no line of a batch's journal: {error}", where=where) from None

    def _mend(self, begin: int) -> None:
        """Repairs a last line that was cut off."""
        at = self._file.size
        while at > begin and b"\n" not in (tail := self._file.read(max(at - _COPIED, begin), at)):
            at -= len(tail)
        at = begin if at <= begin else max(at - _COPIED, begin) + tail.rindex(b"\n") + 1
        if at == self._file.size:
            return
        rest = self._file.read(at)
        try:
            entry_in(rest, end=0)
        except ValueError:
            check_torn(rest, self.path)
            self.repaired_bytes = self._file.size - at
            self._file.cut(at)
        else:
            self._file.append(b"\n")

    def _refuse_twins(self, entries: Entries) -> None:
        order = np.argsort(entries["id"], kind="stable")
        same = np.flatnonzero(entries["id"][order][1:] == entries["id"][order][:-1])
        if len(same):
            first, second = sorted(int(order[same[0] + n]) + 1 for n in (0, 1))
            raise InputError(
                f"has the same id as line {first}; take one of the lines out", where=f"{self.path}, line {second}"
            )


def failed(entries: Entries) -> NDArray[np.bool_]:
    """Which entries are of failed rows."""
    found: NDArray[np.bool_] = entries["status"] == STATUSES.index("failed")
    return found


def line_of(outcome: Outcome) -> bytes:
    """The record's JSON with the hash as its last key, so that a line that was cut off has none."""
    try:
        text = outcome.record.model_dump_json()
    except PydanticSerializationError:  # half a surrogate pair, in an error's message or from a model of one's own
        text = whole(outcome.record.to_json())
    return f'{text[:-1]},"hash":"{outcome.work.hash}"}}\n'.encode()
