"""Baseline files of a check: JSON Lines, a first line that says how the rows were measured, then a row each.

Every line has a checksum. A baseline that was measured otherwise is refused: its scores say nothing about today's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eirene.core.errors import InputError
from eirene.core.quality import QualityRow
from eirene.core.validation import FrozenModel, described, validated
from eirene.data.json_rows import JsonBytes, Row, read_source
from eirene.data.line_checksum import DamagedError, check_seal, sealed, without_seal

_KEY = "eirene_baseline"
_FORM = 1
_ANEW = "write it anew with --write-baseline, from the answers that it was made of"


@dataclass(frozen=True)
class Baseline:
    """The rows of a baseline by id, and the file's name."""

    name: str
    rows: Mapping[str, QualityRow]


class _Head(FrozenModel):
    eirene_baseline: int
    measured_by: dict[str, str]
    rows: int


def baseline_text(rows: Sequence[QualityRow], versions: Mapping[str, str]) -> str:
    """The text of a baseline file."""
    head = _Head(eirene_baseline=_FORM, measured_by=dict(versions), rows=len(rows))
    return "".join(_line(value.model_dump(mode="json")) for value in (head, *rows))


def _line(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return sealed(text.encode("utf-8")).decode("utf-8") + "\n"


def read_baseline(path: str, versions: Mapping[str, str]) -> Baseline:
    """The baseline in a file; raises `InputError` for another file, a damaged one, and one measured otherwise."""
    source = read_source(path)
    if not source.data.strip():
        raise InputError(f"is empty and no baseline; {_ANEW}", where=path)
    lines = iter(source.rows())
    head = _head(next(lines), path)
    _check_seals(source)
    _check_versions(head.measured_by, versions, path)
    rows = dict(_rows(lines))
    if len(rows) != head.rows:
        raise InputError(f"has {len(rows)} rows of the {head.rows} that were written; {_ANEW}", where=path)
    return Baseline(path, rows)


def _head(row: Row, path: str) -> _Head:
    data = row.data
    if not isinstance(data, dict) or _KEY not in data:
        raise InputError(f"is no baseline of `eirene check`, its first line is {described(data)}", where=path)
    if data[_KEY] != _FORM:
        raise InputError(f"is a baseline of form {data[_KEY]!r}, and this version reads {_FORM}; {_ANEW}", where=path)
    return validated(_Head, without_seal(data), where=row.where)


def _check_seals(source: JsonBytes) -> None:
    """Raises `InputError` for a line without its checksum: who took it out may have changed the rest as well."""
    for n, line in enumerate(source.data.splitlines(), start=1):
        try:
            is_whole = not line.strip() or check_seal(line)
        except DamagedError:
            return  # which reading the rows says, with the place
        if not is_whole:
            said = f"has no checksum, so that nobody can tell what it was; {_ANEW}"
            raise InputError(said, where=f"{source.name}, line {n}")


def _rows(lines: Iterable[Row]) -> Iterable[tuple[str, QualityRow]]:
    seen: set[str] = set()
    for line in lines:
        data = without_seal(line.data) if isinstance(line.data, dict) else line.data
        row = validated(QualityRow, data, where=line.where)
        if row.id in seen:
            raise InputError(f"has the id {row.id!r} twice", where=line.where)
        seen.add(row.id)
        yield row.id, row


def _check_versions(old: Mapping[str, str], new: Mapping[str, str], path: str) -> None:
    """The scores of two versions of a detector, or of two detectors, cannot be compared."""
    name = next((name for name in (*new, *old) if old.get(name) != new.get(name)), None)
    if name is None:
        return
    was, now = (f"{name} {there[name]}".strip() if name in there else f"without {name}" for there in (old, new))
    raise InputError(
        f"was measured otherwise ({was}; this run: {now}), so that the scores cannot be compared; {_ANEW}", where=path
    )
