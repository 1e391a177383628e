"""The lines of a batch's journal: a record, its hash and a checksum a line; what they add up to; a run's status.

A line that does not fit its checksum, or is none of a batch's, is never believed.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError

from eirene.agent.batch.runner import RowOutcome
from eirene.core.display import Printed
from eirene.core.errors import InputError
from eirene.core.records import STATUSES, ErrorInfo, Record, Status
from eirene.core.usage import Usage
from eirene.data.journal import JournalLine, OnScan, is_held, scan
from eirene.data.json_rows import cannot_read
from eirene.data.line_checksum import sealed
from eirene.text.unicode import mend_surrogates

_COUNTS = ("calls", "retries", "cache_hits", "input_tokens", "output_tokens", "cached_tokens")
_END = re.compile(rb'"hash": ?"[0-9a-f]{16}"\}\s*\Z')
_END_LENGTH = 40
_LOOKED_AT = 10_000  # lines of a file before it is called something else


class BatchLine(BaseModel):
    """What a resume needs of a line; the rest of its record is passed over unread."""

    model_config = ConfigDict(frozen=True)

    id: str
    hash: str
    status: Status
    usage: Usage
    signature: str = ""
    error: ErrorInfo | None = None


def read_lines(
    path: Path, lines: Iterable[JournalLine], *, damaged_ok: bool = False
) -> Iterator[tuple[JournalLine, BatchLine | None]]:
    """The lines, each with what it says; None for a damaged one, which without `damaged_ok` is an `InputError`.

    So is a file that has lines and no whole one, or none among its first ones.
    """
    is_ours, damage, fault = False, None, ""
    for line in lines:
        row = None if line.fault is not None else batch_line(line.text)
        is_ours = is_ours or row is not None
        if row is None and damage is None:
            damage, fault = line, line.fault or "is no line of a batch"
        if damage is not None and is_ours and not damaged_ok:
            raise InputError(
                f"{fault}; eirene batch --replace-damaged, or replace_damaged=True in Python, has such rows made again "
                "and keeps the lines in a file of their own",
                where=f"{path}, line {damage.number}",
            )
        if not is_ours and line.number == _LOOKED_AT:
            break
        if row is not None or damaged_ok:
            yield line, row
    if damage is not None and not is_ours:
        said = f"line {damage.number}: {fault}; it is left as it is, name another file"
        raise InputError(f"is no journal of a batch: {said}", where=str(path))


def batch_line(text: bytes) -> BatchLine | None:
    """What a line says; None for one that is none of a batch, or has more behind its hash (a checksum's remains)."""
    if _END.search(text, max(len(text) - _END_LENGTH, 0)) is None:
        return None
    try:
        return BatchLine.model_validate_json(text)
    except ValidationError:
        return None


def line_text(outcome: RowOutcome) -> bytes:
    """The line of a row without its checksum: the record's JSON and the hash."""
    try:
        text = outcome.record.model_dump_json()
    except PydanticSerializationError:  # half a surrogate pair, in an error's message or from a model of one's own
        text = mend_surrogates(outcome.record.to_json())
    return f'{text[:-1]},"hash":"{outcome.work.hash}"}}'.encode()


def save_unwritten(outcomes: Sequence[RowOutcome], error: OSError) -> OSError:
    """Writes the rows to a file in the system's folder for temporary ones; the error to raise says where it is."""
    n = len(outcomes)
    try:
        handle, name = tempfile.mkstemp(prefix="eirene-batch-", suffix=".jsonl")
        with os.fdopen(handle, "wb") as file:
            file.writelines(sealed(line_text(outcome)) + b"\n" for outcome in outcomes)
    except OSError:
        said = f"{n} finished rows could be written nowhere and will be made again"
    else:
        said = f"{n} finished rows are in {name}; append them to the journal before the next run"
    return OSError(error.errno, f"{error.strerror}; {said}", error.filename)


@dataclass(slots=True, repr=False)
class Totals:
    """Rows by status, and their usage. An unknown cost makes the sum unknown."""

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    _counts: list[int] = field(default_factory=lambda: [0] * len(_COUNTS))
    _seconds: float = 0.0
    _cost_usd: float | None = 0.0

    def add(self, row: Record | BatchLine) -> None:
        """Counts one more row."""
        used = row.usage
        self.statuses[row.status] += 1
        self._counts = [n + getattr(used, name) for n, name in zip(self._counts, _COUNTS, strict=True)]
        self._seconds += used.seconds
        unknown = self._cost_usd is None or used.cost_usd is None
        self._cost_usd = None if unknown else (self._cost_usd or 0.0) + (used.cost_usd or 0.0)

    @property
    def usage(self) -> Usage:
        """The sum of what the rows took."""
        counts = dict(zip(_COUNTS, self._counts, strict=True))
        return Usage(**counts, seconds=self._seconds, cost_usd=self._cost_usd)

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.statuses.values())

    def __repr__(self) -> str:
        counts = (f", {status}={n}" for status, n in self.statuses.items() if n)
        return f"Totals(rows={self.rows}{''.join(counts)})"


@dataclass(frozen=True, slots=True, repr=False)
class BatchStatus(Printed):
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

    Raises `InputError` where there is none, or a line is none of a batch.
    """
    totals, kinds, path = Totals(), Counter[str](), Path(path)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size  # a run that drops lines puts another file in the place of this one
            for _, row in read_lines(path, scan(file, size=size, on_scan=on_scan)):
                assert row is not None
                totals.add(row)
                if row.status == "failed":
                    kinds[row.error.kind if row.error else "unknown"] += 1
    except (OSError, ValueError) as error:
        raise cannot_read(str(path), error) from None
    if size and not totals.rows and not is_held(path):
        raise InputError("is no journal of a batch: its only line was cut off; name another file", where=str(path))
    return BatchStatus(totals, dict(kinds.most_common()), is_held(path))
