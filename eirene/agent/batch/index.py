"""What a batch journal's lines say in short, 88 bytes each, in a file beside it: a million rows are known in a moment.

The index is made of the journal and can be made again: nothing depends on it but time. It is written after the lines
are on disk, so that it may lack the last ones, and is checked against the journal before it is believed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from eirene.reading.dataset import id_number
from eirene.records import Record

STATUSES = ("accepted", "complete", "kept", "abstained", "failed")
ENTRY = np.dtype(
    [
        ("end", "<u8"),  # where the line ends in the journal, in bytes
        ("id", "<u8"),
        ("hash", "<u8"),
        ("status", "<u8"),  # a number in STATUSES
        ("calls", "<u4"),
        ("retries", "<u4"),
        ("cache_hits", "<u8"),
        ("input_tokens", "<u8"),
        ("output_tokens", "<u8"),
        ("cached_tokens", "<u8"),
        ("cost_usd", "<f8"),  # NaN where it is not known
        ("seconds", "<f8"),
    ]
)
Entries = NDArray[np.void]
Read = Callable[[int, int], bytes]
"""The journal's bytes from one place to another."""
OnScan = Callable[[int, int], None]
"""Told how many bytes of how many have been read."""

_BOUNDS = [2 ** (8 * ENTRY[at].itemsize) for at in range(1, 10)]  # what each whole number has room for
_MAGIC = b"eirene-index-1\n\n"
_CHECKED = 64  # lines looked at before an index is believed
_BLOCK = 2**22
_SOME = 2**14
_BEGIN = re.compile(rb'\{"id":("(?:[^"\\]|\\.)*"),"question":"')
_END = re.compile(rb',"hash":"([0-9a-f]{16})"\}\n?\Z')


def index_path(journal: Path) -> Path:
    """Where the index of a journal is."""
    return journal.with_name(journal.name + ".index")


def entry_of(record: Record, *, hash: str, end: int) -> tuple[Any, ...]:
    """The entry of a line with this record that ends at `end`."""
    return _entry(record.id, hash, record.status, record.usage.model_dump(), end)


def entry_in(line: bytes, *, end: int) -> tuple[Any, ...]:
    """The entry of a line as it stands in a journal; raises `ValueError` for one that is no such line."""
    data = _outline(line) or from_json(line)
    if not isinstance(data, dict):
        raise ValueError("is no JSON object")
    try:
        found = _entry(data["id"], data["hash"], data["status"], data["usage"], end)
    except KeyError as error:
        raise ValueError(f"has no {error.args[0]!r}") from None
    except (TypeError, AttributeError) as error:
        raise ValueError(f"holds something of another kind: {error}") from None
    if not all(isinstance(n, int) and 0 <= n < bound for n, bound in zip(found[1:10], _BOUNDS, strict=True)):
        raise ValueError("has a number that is none of a batch's")
    if not all(isinstance(n, (int, float)) for n in found[10:]):
        raise ValueError("has a cost or a time that is no number")
    return found


def _outline(line: bytes) -> dict[str, Any] | None:
    """What an entry needs of a line in the form in which batches write them, None for any other.

    The texts between are not read, which is most of a line: a quote inside a text has a backslash before it, so that
    what is looked for stands for itself. Two lines that have run into one another are not taken for one.
    """
    begin, end = _BEGIN.match(line), _END.search(line, max(len(line) - 40, 0))
    status, usage = line.find(b',"status":"'), line.rfind(b',"usage":{')
    if begin is None or end is None or not 0 < status < usage or line.find(b'{"id":', 1) >= 0:
        return None
    try:
        return {
            "id": from_json(begin[1]),
            "status": line[status + 11 : line.index(b'"', status + 11)].decode(),
            "usage": from_json(line[usage + 9 : line.index(b"}", usage) + 1]),
            "hash": end[1].decode(),
        }
    except ValueError:
        return None


def _entry(name: str, hash: str, status: str, usage: dict[str, Any], end: int) -> tuple[Any, ...]:
    cost = usage["cost_usd"]
    return (
        end, id_number(name), int(hash, 16), STATUSES.index(status), usage["calls"], usage["retries"],
        usage.get("cache_hits", 0), usage["input_tokens"], usage["output_tokens"], usage["cached_tokens"],
        np.nan if cost is None else cost, usage["seconds"],
    )  # fmt: skip


def entries_of(found: Iterable[tuple[Any, ...]]) -> Entries:
    """Entries as an array; of those that are not in it yet only some are held."""
    found, blocks = iter(found), [np.empty(0, ENTRY)]
    while some := list(islice(found, _SOME)):
        blocks.append(np.array(some, ENTRY))
    return np.concatenate(blocks)


def known_entries(journal: Path, *, size: int, read: Read) -> Entries:
    """The entries of the index beside a journal of `size` bytes, those that fit it; none where it cannot be believed.

    Some lines all over the journal, the last one among them, must be where the index has them.
    """
    try:
        data = np.fromfile(index_path(journal), np.uint8)
    except OSError:
        return np.empty(0, ENTRY)
    n = (len(data) - len(_MAGIC)) // ENTRY.itemsize
    if n < 1 or data[: len(_MAGIC)].tobytes() != _MAGIC:
        return np.empty(0, ENTRY)
    entries: Entries = data[len(_MAGIC) : len(_MAGIC) + n * ENTRY.itemsize].view(ENTRY)
    if not bool(np.all(entries["end"][1:] > entries["end"][:-1])):
        return np.empty(0, ENTRY)
    entries = entries[: int(np.searchsorted(entries["end"], size, side="right"))]
    looked_at = np.unique(np.linspace(0, len(entries) - 1, _CHECKED).astype(int)) if len(entries) else ()
    return entries if all(_fits(entries, int(at), read) for at in looked_at) else np.empty(0, ENTRY)


def _fits(entries: Entries, at: int, read: Read) -> bool:
    begin, end = int(entries["end"][at - 1]) if at else 0, int(entries["end"][at])
    line = read(begin, end)
    try:
        found = entries_of([entry_in(line, end=end)])
    except ValueError:
        return False
    return line.find(b"\n") == len(line) - 1 and found.tobytes() == entries[at].tobytes()


def scan(read: Read, *, begin: int, size: int, on_scan: OnScan | None = None) -> Iterator[tuple[bytes, int]]:
    """The journal's whole lines from `begin` on, each with where it ends. Of the journal, some MiB are held.

    It ends where nothing more can be read: whoever only looks on may meet a run that takes a torn line away.
    """
    rest, at = b"", begin
    while at < size and (block := read(at, min(at + _BLOCK, size))):
        at += len(block)
        *lines, rest = (rest + block).split(b"\n")
        end = at - len(rest) - sum(len(line) + 1 for line in lines)
        for line in lines:
            end += len(line) + 1
            yield line, end
        if on_scan is not None:
            on_scan(at, size)


class IndexFile:
    """The index, open for appending. What cannot be written is left out: a later run makes it again."""

    def __init__(self, journal: Path, entries: Entries, *, n_known: int) -> None:
        """`n_known` of the entries stand in the file already."""
        self._path = index_path(journal)
        self._handle = -1
        with suppress(OSError):
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o666)
            self.rewrite(entries, n_known=n_known)

    def rewrite(self, entries: Entries, *, n_known: int = 0) -> None:
        """Leaves `n_known` entries as they are in the file, and puts the others in the place of the rest."""
        if self._handle < 0:
            return
        os.ftruncate(self._handle, len(_MAGIC) + n_known * ENTRY.itemsize if n_known else 0)
        os.lseek(self._handle, 0, os.SEEK_END)
        if not n_known:
            os.write(self._handle, _MAGIC)
        self.append(entries[n_known:])

    def append(self, entries: Entries) -> None:
        """Adds entries, all or none."""
        if self._handle < 0:
            return
        before = os.fstat(self._handle).st_size
        data = entries.tobytes()
        try:
            written = os.write(self._handle, data) if data else 0
        except OSError:
            written = 0
        if written < len(data):
            with suppress(OSError):
                os.ftruncate(self._handle, before)
            self.close()

    def remove(self) -> None:
        """Takes the file away."""
        with suppress(OSError):
            os.unlink(self._path)
        self.close()

    def close(self) -> None:
        """Lets go of the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
