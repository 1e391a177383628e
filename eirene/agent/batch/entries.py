"""The index of a batch's journal in memory: 88 bytes a line, for a million rows; and what its rows add up to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import from_json

from eirene.core.records import Record
from eirene.core.usage import Usage
from eirene.data.dataset import id_number
from eirene.data.line_checksum import check_seal, check_unsealed

STATUSES = ("accepted", "complete", "kept", "abstained", "failed")
DAMAGED = len(STATUSES)
"""In the place of a status: the line is none that can be believed, and the rest of its entry says nothing."""
ENTRY = np.dtype(
    [
        ("end", "<u8"),  # where the line ends in the journal, in bytes
        ("id", "<u8"),
        ("hash", "<u8"),
        ("status", "<u8"),  # a number in STATUSES, or DAMAGED
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

_BOUNDS = [2 ** (8 * ENTRY[at].itemsize) for at in range(1, 10)]  # what each whole number has room for
_SOME = 2**14
_BEGIN = re.compile(rb'\{"id":("(?:[^"\\]|\\.)*"),"question":"')
_END = re.compile(rb',"hash":"([0-9a-f]{16})","line_crc32":"[0-9a-f]{8}"\}\s*\Z')
_END_LENGTH = 70


def entry_in(line: bytes, *, end: int) -> tuple[Any, ...]:
    """The entry of a line as it stands in a journal; raises `ValueError` for one that is no such line."""
    data = (_outline(line) if check_seal(line) else None) or _parsed(line)
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


def is_entry(line: bytes) -> bool:
    """Whether a last line lacks nothing but its end: it has been paid for, and was not cut off."""
    try:
        entry_in(line, end=0)
    except ValueError:
        return False
    return True


def damaged_entry(end: int) -> tuple[Any, ...]:
    """The entry of a line that ends at `end` and cannot be believed."""
    return (end, 0, 0, DAMAGED, 0, 0, 0, 0, 0, 0, 0.0, 0.0)


def _parsed(line: bytes) -> dict[str, Any]:
    """A whole line, in whatever form. One of an earlier version has no checksum, and nothing behind its hash."""
    data = from_json(line)
    if not isinstance(data, dict):
        raise ValueError("is no JSON object")
    if not check_seal(line):
        check_unsealed(data)
    return data


def _outline(line: bytes) -> dict[str, Any] | None:
    """What an entry needs of a checked line in the form in which batches write them, None for any other.

    The texts between are not read, which is most of a line: a quote inside a text has a backslash before it, so that
    what is looked for stands for itself. Two lines that have run into one another are not taken for one.
    """
    begin, end = _BEGIN.match(line), _END.search(line, max(len(line) - _END_LENGTH, 0))
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


def failed(entries: Entries) -> NDArray[np.bool_]:
    """Which entries are of failed rows."""
    found: NDArray[np.bool_] = entries["status"] == STATUSES.index("failed")
    return found


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
