"""Repeated-argument check: a new sentence makes an argument that another sentence makes, in other words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from eirene.agent.gate.checks.base import EditCase, Objection
from eirene.agent.gate.checks.places import quoted
from eirene.agent.gate.checks.sides import claims_in, compared
from eirene.alignment.comparison import Comparison
from eirene.alignment.placement import Repeat, alike_repeats, repeats


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
