"""The journal of a batch: a line for each finished row, the record, its hash and a checksum; and its status.

Of each line an entry is held (`eirene.agent.batch.entries`), and only while a batch is opened. A line that does not
fit its checksum, or is none of a batch's, is never believed.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticSerializationError, from_json

from eirene.agent.batch.entries import DAMAGED, Entries, Totals, damaged_entry, entries_of, entry_in, failed, is_entry
from eirene.agent.batch.runner import RowOutcome
from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.logs import get_logger
from eirene.data.journal_file import JournalFile, OnScan, Read, is_held, read_lines
from eirene.data.json_rows import cannot_read
from eirene.data.line_checksum import sealed
from eirene.text.unicode import mend_surrogates

logger = get_logger(__name__)

_COPIED = 2**24
_LOOKED_AT = 10_000  # lines of a file before it is called something else
_NAMED = 5  # numbers of lines in a message


class JournalDamage:
    """The lines of a journal that are none, or no more: how many, the first numbers, what is wrong with the first."""

    def __init__(self, path: Path) -> None:
        self.n = 0
        self._path = path
        self._first: list[int] = []
        self._why = ""

    def add(self, number: int, why: str) -> None:
        """One more, whose number counts from 1."""
        self.n += 1
        self._why = self._why or why
        if len(self._first) < _NAMED:
            self._first.append(number)

    def told(self) -> str:
        """Which lines, and why: `line 3 (is no JSON object)`."""
        numbers = ", ".join(map(str, self._first))
        more = f" and {self.n - _NAMED:,} more" if self.n > _NAMED else ""
        return f"line{'s' * (self.n > 1)} {numbers}{more} ({'the first: ' * (self.n > 1)}{self._why})"

    def error(self) -> InputError:
        """For a journal that has other, whole lines."""
        return InputError(
            f"is damaged in {self.told()}; --replace-damaged has the rows made again and keeps such lines in a file of "
            "their own",
            where=str(self._path),
        )

    def no_journal(self, why: str) -> InputError:
        """For a file without one whole line of a batch."""
        return InputError(
            f"is no journal of a batch: {self.told() if self.n else why}; it is left as it is, name another file",
            where=str(self._path),
        )


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

    def append(self, outcomes: Sequence[RowOutcome]) -> None:
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
            place = _set_aside(self.path, self._bytes_of(ends, sizes, damaged))
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
        damage = JournalDamage(self.path)
        lines = enumerate(self._file.lines(is_entry, on_scan=on_scan), start=1)
        entries = entries_of(_entry(number, line, end, damage) for number, (line, end) in lines)
        if len(entries) == damage.n and self._file.size:
            raise damage.no_journal("its only line was cut off")
        if damage.n and not damaged_ok:
            raise damage.error()
        self._refuse_duplicates(entries)
        return entries

    def _refuse_duplicates(self, entries: Entries) -> None:
        order = np.flatnonzero(entries["status"] != DAMAGED)
        order = order[np.argsort(entries["id"][order], kind="stable")]
        same = np.flatnonzero(entries["id"][order][1:] == entries["id"][order][:-1])
        if len(same):
            first, second = sorted(int(order[same[0] + n]) + 1 for n in (0, 1))
            raise InputError(
                f"has the same id as line {first}; take one of the lines out", where=f"{self.path}, line {second}"
            )


def _entry(number: int, line: bytes, end: int, damage: JournalDamage) -> tuple[Any, ...]:
    try:
        return entry_in(line, end=end)
    except ValueError as error:
        damage.add(number, str(error))
        if number == damage.n == _LOOKED_AT:
            raise damage.no_journal("") from None  # need not be read to its end
        return damaged_entry(end)


def line_of(outcome: RowOutcome) -> bytes:
    """The record's JSON, the hash and the checksum, which stands last: a line that was cut off has none."""
    try:
        text = outcome.record.model_dump_json()
    except PydanticSerializationError:  # half a surrogate pair, in an error's message or from a model of one's own
        text = mend_surrogates(outcome.record.to_json())
    return sealed(f'{text[:-1]},"hash":"{outcome.work.hash}"}}'.encode()) + b"\n"


def save_unwritten(outcomes: Sequence[RowOutcome], error: OSError) -> OSError:
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


def _set_aside(journal: Path, lines: Iterator[bytes]) -> Path:
    """Puts lines into a new file beside the journal, and says where."""
    for n in count(1):
        place = journal.with_name(f"{journal.name}.damaged" + ("" if n == 1 else f"-{n}"))
        with suppress(FileExistsError), place.open("xb") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
            return place
    raise AssertionError("unreachable: the numbers do not end")


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """What the lines of a journal add up to. `failures`: failed rows by the kind of their error."""

    totals: Totals
    failures: dict[str, int]
    is_held: bool

    def to_json(self) -> str:
        """One line of JSON."""
        rows, usage = self.totals.rows, self.totals.usage
        data: dict[str, Any] = {
            "rows": rows,
            "statuses": self.totals.statuses,
            "accepted_share": self.totals.statuses["accepted"] / rows if rows else None,
            "failures": self.failures,
            "usage": usage.model_dump(),
            "is_held": self.is_held,
        }
        return json.dumps(data, ensure_ascii=False, allow_nan=False)


def read_status(path: str | Path, *, on_scan: OnScan | None = None) -> BatchStatus:
    """The status of a journal; nothing is written, and a line that is just being written is left out.

    A last line that lacks nothing but its end counts, as it does where the run goes on. Raises `InputError` where there
    is none, or lines are none of a batch, whose numbers it names.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:

            def read(begin: int, end: int) -> bytes:
                file.seek(begin)
                return file.read(end - begin)

            size = os.fstat(file.fileno()).st_size  # a run that drops lines puts another file in the place of this one
            entries = _entries(path, size, read, on_scan)
            kinds = Counter(_kind(read, entries, int(at)) for at in np.flatnonzero(failed(entries)))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise cannot_read(str(path), error) from None
        raise InputError(f"is no journal of a batch: {error}", where=str(path)) from None
    return BatchStatus(Totals.of(entries), dict(kinds.most_common()), is_held(path))


def _entries(path: Path, size: int, read: Read, on_scan: OnScan | None) -> Entries:
    damage = JournalDamage(path)
    lines = enumerate(read_lines(read, size=size, is_whole=is_entry, on_scan=on_scan), start=1)
    entries = entries_of(_undamaged(lines, damage))
    if damage.n:
        raise damage.error() if len(entries) else damage.no_journal("")
    if size and not len(entries) and not is_held(path):
        raise damage.no_journal("its only line was cut off")
    return entries


def _undamaged(lines: Iterable[tuple[int, tuple[bytes, int]]], damage: JournalDamage) -> Iterator[tuple[Any, ...]]:
    for number, (line, end) in lines:
        try:
            yield entry_in(line, end=end)
        except ValueError as error:
            damage.add(number, str(error))


def _kind(read: Read, entries: Entries, at: int) -> str:
    line = from_json(read(int(entries["end"][at - 1]) if at else 0, int(entries["end"][at])))
    return str((line.get("error") or {}).get("kind", "unknown"))
