"""Rows of a check with chosen scores and faults."""

from __future__ import annotations

from eirene.core.quality import QualityRow, RowFault
from eirene.core.scores import ArgumentScore, Scores, Unscored

NONE = Unscored(unscored="not in this test")


def row(name: str, coverage: float | None = 0.0, *, given: str = "g", answer: str = "a", **more: object) -> QualityRow:
    """A row whose one argument has this coverage error; without it the row is unscored."""
    if coverage is None:
        scores, why = {"alignment": Scores.none("in French")}, "alignment: in French"
    else:
        argument = ArgumentScore(group="pro", n=1, coverage=coverage)
        scores, why = {"alignment": Scores(hallucination=NONE, coverage=coverage, arguments=(argument,))}, None
    told = {"claims": 2, "sides": True, "why": why, **more}
    return QualityRow(id=name, given=given, answer=answer, scores=scores, **told)  # type: ignore[arg-type]


def faulty(name: str, *kinds: str) -> QualityRow:
    """A row with passages that has faults of these kinds."""
    faults = tuple(RowFault(kind=kind, text=f"{kind} text", evidence="It was so.") for kind in kinds)  # type: ignore[arg-type]
    return row(name, faults=faults, sides=False)
