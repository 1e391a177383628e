"""Replacements at offsets: made, and those chosen that overlap none before them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


class Replacement(Protocol):
    """`text[start:end]` becomes `new`: a deletion where `new` is empty, an insertion where `start == end`."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def new(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`: a deletion where `new` is empty, an insertion where `start == end`."""

    start: int
    end: int
    new: str = ""


def apply_edits(text: str, edits: Iterable[Replacement]) -> str:
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


def _place(edit: Replacement) -> tuple[int, bool]:
    return edit.start, edit.end > edit.start
