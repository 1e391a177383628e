"""Sides in a case: a text of it compared with its arguments, and the arguments that it makes twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eirene.alignment.align import Alignment
from eirene.alignment.comparison import Comparison, compare_sides
from eirene.alignment.placement import Repeat, alike_repeats, repeats
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
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


def repeated_argument(case: EditCase) -> Iterator[Objection]:
    """Objects to an added sentence all of whose claims are arguments that the text after makes elsewhere, in the same
    way (`eirene.alignment.placement.alike_repeats`).
    """
    found = compared(case, case.after)
    if found is not None and case.encoder is not None:
        yield from _twice(case, found, alike_repeats(found.alignment, case.encoder))


def argument_made_twice(case: EditCase) -> Iterator[Objection]:
    """The same where the two need not be alike. It asks less, and so tells only what a removal mended: nothing is lost
    with a sentence whose argument is still made.
    """
    found = compared(case, case.after)
    if found is not None:
        yield from _twice(case, found, repeats(found.alignment))


def _twice(case: EditCase, found: Comparison, pairs_found: Iterable[Repeat]) -> Iterator[Objection]:
    added = [(n, edit) for n, edit in case.changed() if edit.kind == "added" and edit.after is not None]
    pairs = [(r.unit, r.earlier) for r in pairs_found]
    twins = {a: b for pair in pairs for a, b in (pair, pair[::-1])}
    for n, edit in added:
        assert edit.after is not None
        claims = claims_in(found.alignment, edit.after)
        others = [twins[u] for u in claims if u in twins and twins[u] not in claims]
        if claims and len(others) == len(claims):
            yield Objection(n, f"says again: {quoted(found.alignment.units[others[0]].text)}")
