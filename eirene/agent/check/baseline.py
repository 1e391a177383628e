"""Baseline of a check: rows measured before, in a file of JSON Lines, and what has become of each since.

The first line says how the rows were measured, and has their checksum. A baseline that was changed, or measured
otherwise, is refused: its scores say nothing about today's.

An answer is worse if the gate would not let it take the place of the baseline's, and better if that holds the other way
round alone. One that was scored before and cannot be judged now (a refusal, dots, another language) is lost. The
tolerance is wider than the gate's: the gate compares two wordings of one answer, a check two answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.core.quality import QualityRow
from eirene.core.signature import digest
from eirene.core.validation import FrozenModel, described, validated
from eirene.data.json_rows import Row
from eirene.data.source import read_source
from eirene.gate.verdict import harm_by_scores

_KEY = "eirene_baseline"
_FORM = 2
_ANEW = "write it anew (--write-baseline, in Python write_baseline) from the answers that it was made of"

TOLERANCE = 0.2
"""Of error scores in [0, 1]; benchmarks/results/check.md has what this and others call worse."""
_WORSE = "worse than before: "

ChangeKind = Literal["worse", "better", "same", "lost", "changed question", "unscored", "new"]


@dataclass(frozen=True)
class Baseline:
    """The rows of a baseline by id, and the file's name."""

    name: str
    rows: Mapping[str, QualityRow]


class _Head(FrozenModel):
    eirene_baseline: int
    measured_by: dict[str, str]
    checksum: str


def baseline_text(rows: Sequence[QualityRow], versions: Mapping[str, str]) -> str:
    """The text of a baseline file."""
    head = _Head(eirene_baseline=_FORM, measured_by=dict(versions), checksum=_checksum(rows))
    values = (value.model_dump(mode="json") for value in (head, *rows))
    return "".join(f"{json.dumps(v, ensure_ascii=False, allow_nan=False, separators=(',', ':'))}\n" for v in values)


def _checksum(rows: Iterable[QualityRow]) -> str:
    return digest([row.model_dump(mode="json") for row in rows])


def read_baseline(path: str, versions: Mapping[str, str]) -> Baseline:
    """The baseline in a file; raises `InputError` for another file, a changed one, and one measured otherwise."""
    source = read_source(path)
    if not source.data.strip():
        raise InputError(f"is empty and no baseline; {_ANEW}", where=path)
    lines = iter(source.rows())
    head = _head(next(lines), path)
    _check_versions(head.measured_by, versions, path)
    rows = [validated(QualityRow, line.data, where=line.where) for line in lines]
    if _checksum(rows) != head.checksum:
        raise InputError(f"was changed since it was written, its checksum does not fit; {_ANEW}", where=path)
    return Baseline(path, {row.id: row for row in rows})


def _head(row: Row, path: str) -> _Head:
    data = row.data
    if not isinstance(data, dict) or _KEY not in data:
        raise InputError(f"is no baseline of `eirene check`, its first line is {described(data)}", where=path)
    if data[_KEY] != _FORM:
        raise InputError(f"is a baseline of form {data[_KEY]!r}, and this version reads {_FORM}; {_ANEW}", where=path)
    return validated(_Head, data, where=row.where)


def _check_versions(old: Mapping[str, str], new: Mapping[str, str], path: str) -> None:
    """The scores of two versions of a detector, or of two detectors, cannot be compared."""
    name = next((name for name in (*new, *old) if old.get(name) != new.get(name)), None)
    if name is None:
        return
    was, now = (f"{name} {there[name]}".strip() if name in there else f"without {name}" for there in (old, new))
    raise InputError(
        f"was measured otherwise ({was}; this run: {now}), so that the scores cannot be compared; {_ANEW}", where=path
    )


@dataclass(frozen=True, slots=True)
class RowChange:
    """A row beside its own in the baseline (`old`; None for a new one), and what has become of it, with the reason."""

    row: QualityRow
    old: QualityRow | None
    kind: ChangeKind
    why: str | None = None


def compare(rows: Sequence[QualityRow], old: Mapping[str, QualityRow], *, tolerance: float) -> Iterator[RowChange]:
    """What has become of each row, in their order. Raises `InputError` for a tolerance outside [0, 1]."""
    settings = Settings.of(tolerance=tolerance)
    for row in rows:
        before = old.get(row.id)
        yield RowChange(row, before, *_change(row, before, settings))


def _change(row: QualityRow, old: QualityRow | None, settings: Settings) -> tuple[ChangeKind, str | None]:
    if old is None:
        return "new", None
    if row.given != old.given:
        return "changed question", None
    if old.why:
        return "unscored", f"in the baseline: {old.why}"
    if row.why:
        return "lost", f"not judged any more: {row.why}"
    return _by_scores(row, old, settings)


def _by_scores(row: QualityRow, old: QualityRow, settings: Settings) -> tuple[ChangeKind, str | None]:
    worse = harm_by_scores(old.scores, row.scores, settings=settings)
    better = harm_by_scores(row.scores, old.scores, settings=settings)
    if worse is not None and worse.test == "unmeasured":
        return "lost", worse.why
    if better is not None and better.test == "unmeasured":
        return "unscored", better.why
    if worse is not None:
        return "worse", worse.why.removeprefix(_WORSE)
    return ("same" if better is None else "better"), None
