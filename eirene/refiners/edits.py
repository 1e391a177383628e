"""Edits of a text: which characters go and what comes in their place. The rest stays byte for byte."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
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
    spans: list[tuple[int, int]] = []  # of the kept edits that replace something, in order, never overlapping
    points: list[int] = []  # of the kept insertions
    for edit in edits:
        at = bisect_left(spans, (edit.start, edit.end))
        if any(edit.start < end and start < edit.end for start, end in spans[max(at - 1, 0) : at + 1]):
            continue
        if edit.start == edit.end:
            insort(points, edit.start)
        elif bisect_right(points, edit.start) < bisect_left(points, edit.end):
            continue
        else:
            spans.insert(at, (edit.start, edit.end))
        kept.append(edit)
    return sorted(kept, key=_place)


def _place(edit: Edit) -> tuple[int, bool]:
    return edit.start, edit.end > edit.start
