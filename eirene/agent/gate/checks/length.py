"""Length check: additions out of proportion to what was asked and given, and a text of which little is left."""

from __future__ import annotations

from collections.abc import Iterator

from eirene.agent.gate.checks.base import EditCase, Objection

_ROOM = 800
"""Characters that may be added to any text, however short."""
_ASKED = 400
"""Characters more for each place that something is asked for."""
_GIVEN = 1.5
"""Characters more for each character that was given: an argument is introduced and attributed."""
_LEFT = 0.35
"""Least share of a text that stays where nothing was asked to go."""
_SHORT = 400
"""Texts up to so many characters may become as short as they like."""
_BLOWN_UP = 4
"""Times its length that a reworded sentence may have, beside the room that any text has."""


def length(case: EditCase) -> Iterator[Objection]:
    """Objects to the additions past the room there is, the last first, and to removals that leave little.

    There is room for as much again as the text before has, for the given texts, and for every place asked for. Only
    gross cases: what one addition says is for the other checks.
    """
    grown = [(n, _growth(case, n)) for n, _ in case.changed()]
    room = _room(case)
    surplus = sum(more for _, more in grown) - room
    for n, more in reversed(grown):
        blown = case.edits[n].before is not None and more > _BLOWN_UP * len(case.old(case.edits[n])) + _ROOM
        if more > 0 and (surplus > 0 or blown):
            surplus -= more
            yield Objection(n, f"more text than was asked for: {more} characters where there is room for {room}")
    yield from _shrunk(case)


def _growth(case: EditCase, n: int) -> int:
    edit = case.edits[n]
    return len(case.new(edit)) - len(case.old(edit))


def _room(case: EditCase) -> int:
    before = len(case.before)
    given = sum(map(len, case.given_texts))
    if case.given.source == "context":  # passages are for looking up, not for copying
        given = min(given, before + _ROOM)
    return max(before, _ROOM) + int(_GIVEN * given) + _ASKED * len(case.asked)


def _shrunk(case: EditCase) -> Iterator[Objection]:
    """The removals of a rewrite that leaves little of the text before, but for those that were asked for."""
    before = len(case.before)
    if before <= _SHORT or len(case.after) >= _LEFT * before:
        return
    left = "".join(case.after.split())
    for n, edit in case.changed():
        if edit.kind != "removed" or case.asked_at(edit):
            continue
        gone = "".join(case.old(edit).split())
        if len(left) <= 20_000 and gone and gone not in left:
            yield Objection(n, f"of {before} characters {len(case.after)} are left, and nobody asked for that")
