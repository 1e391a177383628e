"""Edits of a round in words: how many the gate took, which it undid, and why; faults that were mended."""

from __future__ import annotations

from dataclasses import dataclass

from eirene.core.records import EditDecision, Round
from eirene.text.quoting import quoted

_LONGEST = 200
"""Characters of an edit's words that are shown."""


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit that was undone: what was done about it, in words, why, and the check of the gate that says so."""

    what: str
    why: str
    check: str


def edits_taken(round_: Round) -> str:
    """How many edits a rewrite had and how many were taken, and what it mended; "" where no edit was judged."""
    whole = [d for d in round_.edits if d.kind != "characters"]
    if not whole:
        return ""
    taken = sum(d.taken for d in whole)
    text = f"{taken} of {len(whole)} edit{'' if len(whole) == 1 else 's'} taken"
    return text + (f"; mended: {'; '.join(round_.mended)}" if round_.mended else "")


def edits_undone(round_: Round) -> tuple[ShownEdit, ...]:
    """The edits that were undone, in the order of the rewrite."""
    return tuple(ShownEdit(_what(d), d.why or "", d.check or "") for d in round_.edits if not d.taken)


def _what(edit: EditDecision) -> str:
    if edit.kind == "characters":
        return "taken out: hidden characters"
    if edit.kind == "added":
        return f"left out: {_quoted(edit.new)}"
    if edit.kind == "removed":
        return f"put back: {_quoted(edit.old)}"
    if edit.kind == "moved":
        return f"moved back: {_quoted(edit.old)}"
    if not edit.old.strip():
        return f"left out: {_quoted(edit.new)}"
    return f"put back: {_quoted(edit.old)}" + (f" for {_quoted(edit.new)}" if edit.new.strip() else "")


def _quoted(text: str) -> str:
    return quoted(text, _LONGEST)
