"""Sides in a case: a text of it compared with its arguments, for the checks that judge by arguments."""

from __future__ import annotations

from collections.abc import Iterator

from eirene.agent.gate.checks.base import EditCase
from eirene.alignment.align import Alignment
from eirene.alignment.comparison import Comparison, compare_sides
from eirene.text.clauses import units_of
from eirene.text.matching import Span
from eirene.text.sentences import split_sentences

_CLAIMLESS = 0.5


def compared(case: EditCase, text: str) -> Comparison | None:
    """A text of the case compared with its sides, as the detectors do; None without sides, or without an encoder."""
    if case.given.source != "perspectives" or case.encoder is None:
        return None
    sides = [(group.name, group.arguments) for group in case.given.groups]
    return compare_sides(sides, text, case.encoder, question=case.question)


def texts_compared(case: EditCase) -> Iterator[str]:
    """The texts whose vectors `compared` takes for both texts of the case, and the question where claims are new."""
    if case.given.source != "perspectives":
        return
    yield from (" ".join(argument.split()) for argument in case.given.arguments)
    for text in (case.before, case.after):
        yield from (unit.text for unit in units_of(text, split_sentences(text)))
    if any(edit.kind in ("added", "removed") for edit in case.edits):
        yield case.question


def claims_in(alignment: Alignment, span: Span) -> list[int]:
    """The clauses (as indices of units) within a span of the text that claim something."""
    atoms = (u for group in alignment.atoms for u in group)
    inside = (u for u in atoms if alignment.units[u].start < span[1] and span[0] < alignment.units[u].end)
    return [u for u in inside if alignment.p_claimless[u] < _CLAIMLESS]
