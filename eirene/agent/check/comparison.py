"""Answers compared with a baseline, row by row, by the gate's test of harm.

An answer is worse if the gate would not let it take the place of the baseline's, and better if that holds the other way
round alone. One that was scored before and cannot be judged now (a refusal, dots, another language) is lost. The
tolerance is wider than the gate's: the gate compares two wordings of one answer, a check two answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.agent.gate.verdict import harm_by_scores
from eirene.agent.settings import Settings
from eirene.core.quality import QualityRow

TOLERANCE = 0.2
"""Of error scores in [0, 1]; benchmarks/results/check.md has what this and others call worse."""
_WORSE = "worse than before: "

ChangeKind = Literal["worse", "better", "same", "lost", "changed question", "unscored", "new"]


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
        yield _change(row, old.get(row.id), settings)


def _change(row: QualityRow, old: QualityRow | None, settings: Settings) -> RowChange:
    if old is None:
        return RowChange(row, None, "new")
    if row.given != old.given:
        return RowChange(row, old, "changed question")
    if old.why:
        return RowChange(row, old, "unscored", f"in the baseline: {old.why}")
    if row.why:
        return RowChange(row, old, "lost", f"not judged any more: {row.why}")
    return _scored(row, old, settings)


def _scored(row: QualityRow, old: QualityRow, settings: Settings) -> RowChange:
    worse = harm_by_scores(old.scores, row.scores, settings=settings)
    better = harm_by_scores(row.scores, old.scores, settings=settings)
    if worse is not None and worse.test == "unmeasured":
        return RowChange(row, old, "lost", worse.why)
    if better is not None and better.test == "unmeasured":
        return RowChange(row, old, "unscored", better.why)
    if worse is not None:
        return RowChange(row, old, "worse", worse.why.removeprefix(_WORSE))
    return RowChange(row, old, "same" if better is None else "better")
