"""Places of faults: from characters of the text after that are at fault to objections against the edits there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eirene.gate.checks.base import EditCase, Objection
from eirene.text import quoting
from eirene.text.edits.words import SentenceEdit

_QUOTED = 80
"""Most characters of a text that an objection quotes."""


@dataclass(frozen=True, slots=True)
class PlacedFault:
    """Characters of the text after (offsets) that should not be there, and why. `whole`: the sentence is the fault."""

    start: int
    end: int
    why: str
    whole: bool = False


def objections_at(case: EditCase, faults: Iterable[PlacedFault]) -> Iterator[Objection]:
    """One objection for each changed edit that holds a fault, with the first fault's reason.

    It names the changed words at fault where every fault of the edit lies among those; else the whole edit. Faults
    between sentences and in kept ones are passed over.
    """
    places = sorted((e.after[0], e.after[1], n) for n, e in case.changed() if e.after)
    starts = [place[0] for place in places]
    found: dict[int, list[PlacedFault]] = {}
    for fault in faults:
        at = max(bisect_right(starts, fault.start) - 1, 0)
        while at < len(places) and places[at][0] < fault.end:
            if places[at][1] > fault.start:
                found.setdefault(places[at][2], []).append(fault)
            at += 1
    for n in sorted(found):
        yield Objection(n, found[n][0].why, _words_of(case.edits[n], found[n]))


def _words_of(edit: SentenceEdit, faults: list[PlacedFault]) -> tuple[int, ...] | None:
    if edit.before is None or any(f.whole for f in faults):
        return None
    chosen: set[int] = set()
    spans = [w.after for w in edit.words]
    for fault in faults:
        hit = [n for n, (start, end) in enumerate(spans) if start < fault.end and fault.start < end]
        if not hit:
            return None
        chosen.update(hit)
        if len(chosen) == len(spans):
            return None
    return tuple(sorted(chosen))


def quoted(text: str) -> str:
    """A text in quotation marks for an objection: on one line, of at most 80 characters."""
    return quoting.quoted(text, _QUOTED)
