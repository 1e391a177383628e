"""Attribution check: an argument stays with its side, and who says it stays named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.alignment.comparison import cue_of
from eirene.alignment.placement import placement
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.sides import compared
from eirene.text.clauses import opening_length
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span

_OF_SIDES = re.compile(
    r"\b(?:sides?|attribut\w*|misplac\w*|belongs?|mov(?:e|ed|ing)|place|order|opponents?|supporters?|critics?|whose|who)\b",
    re.IGNORECASE,
)
_ELSEWHERE = 0.5
"""Probability from which a clause is taken to say an argument in the mouth of another side."""
_STRAYED = 0.1
"""How much that probability may rise where a sentence was moved that nobody asked to move."""


def attribution(case: EditCase) -> Iterator[Objection]:
    """Objects to edits after which an argument stands in the mouth of another side, or in nobody's, and did not before.

    Speaks only of items with two perspectives or more.
    """
    names = [group.name for group in case.given.groups]
    if case.given.source != "perspectives" or len(names) < 2:
        return
    after, before = _strays(case, case.after), _strays(case, case.before)
    for n, edit in case.changed():
        if edit.after is None:
            continue
        new = _worst(after, edit.after)
        old = _worst(before, edit.before) if edit.before is not None else 0.0
        strayed = edit.kind == "moved" and new - old >= _STRAYED and not _may_move(case, edit)
        if strayed or (new >= _ELSEWHERE and old < _ELSEWHERE):
            yield Objection(n, "puts an argument in the mouth of another side", falsifies=True)
        elif _renamed(case, edit, names) and new >= old - _STRAYED:
            yield Objection(n, "changes which side says it", falsifies=True)


def _strays(case: EditCase, text: str) -> list[tuple[Span, float]]:
    """The clauses of a text with the probability that they say an argument in the mouth of another side."""
    comparison = compared(case, text)
    if comparison is None or case.encoder is None or not comparison.alignment.arguments:
        return []
    found = placement(comparison, case.encoder)
    units = (comparison.alignment.units[u] for u in found.atoms)
    return [((unit.start, unit.end), float(p)) for unit, p in zip(units, found.elsewhere, strict=True)]


def _may_move(case: EditCase, edit: SentenceEdit) -> bool:
    """Whether a finding calls the sentence misplaced, or a reason in free words says who should say it, or where."""
    if edit.before is None:
        return False
    start, end = edit.before
    here = [a for a in case.asked if start <= a.end and a.start <= end]
    return any(a.kind == "misplaced" or (a.kind is None and _OF_SIDES.search(a.reason)) for a in here)


def _worst(strays: list[tuple[Span, float]], span: Span) -> float:
    return max((p for (start, end), p in strays if start < span[1] and span[0] < end), default=0.0)


def _renamed(case: EditCase, edit: SentenceEdit, names: list[str]) -> bool:
    """Whether the opening of a sentence named one side and now names another, or none, and nobody asked for it."""
    if edit.before is None or _may_move(case, edit):
        return False
    old, new = case.old(edit), case.new(edit)
    told = cue_of(old[: opening_length(old)], names)
    return told is not None and cue_of(new[: opening_length(new)], names) != told
