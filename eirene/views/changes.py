"""Changes between two texts in a few words, and how much of a long comparison is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, TypeVar

from eirene.views.diff import DiffLine, DiffLineKind

_Entry = TypeVar("_Entry")
_CALM_RUN = 6  # calm entries in a row up to which all are shown; of more, the middle is counted
_LITTLE = 0.25  # under this share of the original a comparison tells little: it is a list of all that went and came
_FEW, _MANY = 8, 30  # changed sentences that are shown of a rewrite that shares little, and of any other
_DRAWN = 40  # changed sentences that a page shows before it folds the rest
SIGNS: Mapping[DiffLineKind, str] = {
    "same": "", "changed": "~", "gone": "−", "moved away": "−", "new": "+", "moved here": "+"
}  # fmt: skip
"""The sign of a line on a page."""
_DONE: tuple[tuple[DiffLineKind, str], ...] = (
    ("new", "added"), ("changed", "reworded"), ("gone", "removed"), ("moved here", "moved"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """The lines to show, a number where so many unchanged ones are left out, and a note on what is not shown."""

    lines: tuple[DiffLine | int, ...]
    note: str


def changes_in_words(lines: Sequence[DiffLine]) -> str:
    """`1 sentence added, 2 reworded`; "" where no sentence changed."""
    counts = Counter(line.kind for line in lines)
    said = [(counts[kind], word) for kind, word in _DONE if counts[kind]]
    if not said:
        return ""
    (n, word), *more = said
    first = f"{n:,} sentence{'' if n == 1 else 's'} {word}"
    return ", ".join([first, *(f"{n:,} {word}" for n, word in more)])


def shown_diff(lines: Sequence[DiffLine]) -> ShownDiff:
    """The comparison without the middle of long unchanged runs, cut where a rewrite is long or shares little."""
    share = _shared(lines)
    changed = sum(line.kind != "same" for line in lines)
    most = _FEW if share < _LITTLE else _MANY
    if changed <= most:
        return ShownDiff(_calm(lines), "")
    kept, seen = list[DiffLine](), 0
    for line in lines:
        seen += line.kind != "same"
        if seen > most:
            break
        kept.append(line)
    why = f"The rewrite shares {share:.0%} of the original with it. " if share < _LITTLE else ""
    note = f"{why}Of {changed:,} changed sentences the first {most} are shown."
    return ShownDiff(_calm(kept), note)


class HasKind(Protocol):
    """A line of a comparison, in whatever form."""

    @property
    def kind(self) -> DiffLineKind:
        """What was done to the sentence."""


_Line = TypeVar("_Line", bound=HasKind)


def folds(lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    """The lines in runs for a page: with the title of a fold, or with "" where they are open. Nothing is left out."""
    shown: list[_Line] = []
    for title, run in _runs(lines):
        if not title:
            shown += run
        elif run:
            yield from [("", shown)] if shown else []
            yield f"{len(run):,} {title}", run
            shown = []
    yield from [("", shown)] if shown else []


def _runs(lines: Sequence[_Line]) -> Iterator[tuple[str, list[_Line]]]:
    drawn = 0
    for is_same, group in groupby(lines, key=lambda line: line.kind == "same"):
        run = list(group)
        if is_same:
            ends = 2 if len(run) > _CALM_RUN else len(run)
            yield "", run[:ends]
            yield "unchanged sentences", run[ends : max(ends, len(run) - 2)]
            yield "", run[max(ends, len(run) - 2) :]
            continue
        room = max(0, _DRAWN - drawn)
        drawn += len(run)
        yield "", run[:room]
        yield "more changed sentences", run[room:]


def calmed(entries: Sequence[_Entry], is_calm: Callable[[_Entry], bool]) -> Iterator[_Entry | int]:
    """The entries, with the middle of a long run of calm ones replaced by its length."""
    for calm, group in groupby(entries, key=is_calm):
        run = list(group)
        if not calm or len(run) <= _CALM_RUN:
            yield from run
            continue
        yield from run[:2]
        yield len(run) - 4
        yield from run[-2:]


def _calm(lines: Sequence[DiffLine]) -> tuple[DiffLine | int, ...]:
    found = calmed(lines, lambda line: line.kind == "same")
    return tuple(found)


def _shared(lines: Sequence[DiffLine]) -> float:
    """The share of the old text's characters that stand in the new one."""
    sizes = Counter[str]()
    for line in lines:
        moved = line.kind == "moved away"
        for piece in line.pieces:
            sizes["same" if moved else piece.kind] += len(piece.text)
    old = sizes["same"] + sizes["gone"]
    return sizes["same"] / old if old else 0.0
