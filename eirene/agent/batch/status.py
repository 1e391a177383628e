"""How a batch stands, read from its journal, whether a run holds it or not."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import from_json

from eirene.agent.batch.entries import Entries, Totals, entries_of, entry_in, failed, is_entry
from eirene.agent.batch.journal import JournalDamage
from eirene.core.errors import InputError
from eirene.data.journal import OnScan, Read, is_held, read_lines
from eirene.data.json_rows import cannot_read


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
