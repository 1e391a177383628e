"""Attribution check: an argument stays with its side, and who says it stays named."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.alignment.comparison import cue_of
from eirene.alignment.placement import placement
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.sides import claims_in, compared
from eirene.text.clauses import opening_length
from eirene.text.edits import SentenceEdit
from eirene.text.matching import Span

_OF_SIDES = re.compile(
    r"\b(?:sides?|attribut\w*|misplac\w*|belongs?|mov(?:e|ed|ing)|place|order|opponents?|supporters?|critics?|whose|who)\b",
    re.IGNORECASE,
)
_ELSEWHERE = 0.5
"""Probability from which a clause is taken to say an argument in the mouth of another side."""
_SURE = 0.9
"""Probability from which a new sentence surely says an argument."""
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
        if edit.kind == "moved" and not _may_move(case, edit) and (new - old >= _STRAYED or _has_turned(case, edit)):
            yield Objection(n, "stands among what another side says", falsifies=True)
        elif (new >= _ELSEWHERE and old < _ELSEWHERE) or (edit.kind == "added" and _is_misled(case, edit.after)):
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


def _has_turned(case: EditCase, edit: SentenceEdit) -> bool:
    """Whether a sentence that moved stands where another side is named as speaking, and not its argument's own."""
    assert edit.before is not None and edit.after is not None
    before, after = compared(case, case.before), compared(case, case.after)
    if before is None or after is None:
        return False
    told = {before.told[u] for u in claims_in(before.alignment, edit.before)}
    found = after.alignment
    for unit in claims_in(found, edit.after):
        argument = int(found.best_argument[unit])
        own = after.groups[argument] if argument >= 0 and found.p_says[argument, unit] >= _ELSEWHERE else None
        if after.told[unit] not in told and (own is None or after.told[unit] != own):
            return True
    return False


def _may_move(case: EditCase, edit: SentenceEdit) -> bool:
    """Whether a finding calls the sentence misplaced, or a reason in free words says who should say it, or where."""
    if edit.before is None:
        return False
    start, end = edit.before
    here = [a for a in case.asked if start <= a.end and a.start <= end]
    return any(a.kind == "misplaced" or (a.kind is None and _OF_SIDES.search(a.reason)) for a in here)


def _is_misled(case: EditCase, span: Span) -> bool:
    """Whether a new sentence surely says an argument of one side while another is named as speaking.

    Of sentences that were there the company that they keep counts too; a new one is judged by who is said to say it.
    """
    comparison = compared(case, case.after)
    if comparison is None or (case.asked and all(a.kind is None for a in case.asked)):  # a person's notes say where
        return False
    found = comparison.alignment
    for unit in claims_in(found, span):
        argument, told = int(found.best_argument[unit]), comparison.told[unit]
        is_sure = argument >= 0 and found.p_says[argument, unit] >= _SURE and argument not in comparison.shared
        if is_sure and told is not None and told != comparison.groups[argument]:
            return True
    return False


def _worst(strays: list[tuple[Span, float]], span: Span) -> float:
    return max((p for (start, end), p in strays if start < span[1] and span[0] < end), default=0.0)


def _renamed(case: EditCase, edit: SentenceEdit, names: list[str]) -> bool:
    """Whether the opening of a sentence named one side and now names another, or none, and nobody asked for it."""
    if edit.before is None or _may_move(case, edit):
        return False
    old, new = case.old(edit), case.new(edit)
    told = cue_of(old[: opening_length(old)], names)
    return told is not None and cue_of(new[: opening_length(new)], names) != told
