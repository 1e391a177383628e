"""Edits of a text: which characters go and what comes in their place. The rest stays byte for byte."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`: a deletion where `new` is empty, an insertion where `start == end`."""

    start: int
    end: int
    new: str = ""


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits made. Insertions at one place keep their order and stand before a replacement there.

    Raises ValueError where two edits overlap or one lies outside the text.
    """
    pieces, at = [], 0
    for edit in sorted(edits, key=_place):
        if not at <= edit.start <= edit.end <= len(text):
            raise ValueError(f"edit {edit.start} to {edit.end} overlaps another or lies outside {len(text)} characters")
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def compatible(edits: Iterable[Edit]) -> list[Edit]:
    """Those edits that overlap none before them in the list, in the order of the text."""
    kept: list[Edit] = []
    for edit in edits:
        if not any(_overlap(edit, other) for other in kept):
            kept.append(edit)
    return sorted(kept, key=_place)


def _overlap(a: Edit, b: Edit) -> bool:
    return a.start < b.end and b.start < a.end


def _place(edit: Edit) -> tuple[int, bool]:
    return edit.start, edit.end > edit.start
