"""Diff of two answers: by sentence, and by word within a changed sentence.

A view of `eirene.text.edits`. The pieces lose nothing: those marked `same` and `gone`, joined, are the old text; `same`
and `new` are the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from eirene.text.edits import SentenceEdit, WordEdit, sentence_edits
from eirene.text.edits.pieces import laid_out
from eirene.text.edits.words import shared_runs
from eirene.text.matching import Span

Kind = Literal["same", "gone", "new"]
DiffLineKind = Literal["same", "gone", "new", "changed", "moved away", "moved here"]


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A run of text that is in both answers (`same`), in the old alone (`gone`) or in the new alone (`new`)."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One sentence of the comparison, white space around it included."""

    kind: DiffLineKind
    pieces: tuple[DiffPiece, ...]


def diff(old: str, new: str) -> tuple[DiffLine, ...]:
    """The comparison of two texts, sentence by sentence, in reading order of the new text."""
    return tuple(_View(old, new, sentence_edits(old, new)).lines())


class _View:
    """The sentence edits of two texts as lines that hold the white space between the sentences as well."""

    def __init__(self, old: str, new: str, edits: Sequence[SentenceEdit]) -> None:
        self._old, self._new, self._edits = old, new, edits
        self._before = laid_out(old, [e.before for e in edits if e.before])
        self._after = laid_out(new, [e.after for e in edits if e.after])

    def lines(self) -> Iterator[DiffLine]:
        blank_old, blank_new = self._old * (not self._before), self._new * (not self._after)
        if blank_old or blank_new:  # one of them has no sentence: it is white space alone, or empty
            kind: DiffLineKind = "gone" if not blank_new else "new" if not blank_old else "same"
            yield DiffLine(kind, tuple(_pieces([(blank_old, blank_new)])))
        away = sorted((e.before for e in self._edits if e.kind == "moved" and e.before), reverse=True)
        for edit in self._edits:
            while away and edit.kind != "moved" and edit.before and away[-1] < edit.before:
                yield self._gone(away.pop(), "moved away")
            yield self._line(edit)
        while away:
            yield self._gone(away.pop(), "moved away")

    def _line(self, edit: SentenceEdit) -> DiffLine:
        if edit.after is None:
            assert edit.before is not None
            return self._gone(edit.before, "gone")
        new = self._after[edit.after]
        if edit.before is None or edit.kind == "moved":
            text = self._new[slice(*new)]
            return DiffLine("moved here" if edit.before else "new", (DiffPiece("new", text),))
        old = self._before[edit.before]
        pieces = _pieces(self._runs(old, new, edit.words))
        is_same = self._old[slice(*old)].strip() == self._new[slice(*new)].strip()
        return DiffLine("same" if is_same else "changed", tuple(pieces))

    def _gone(self, span: Span, kind: DiffLineKind) -> DiffLine:
        return DiffLine(kind, (DiffPiece("gone", self._old[slice(*self._before[span])]),))

    def _runs(self, old: Span, new: Span, words: Sequence[WordEdit]) -> Iterator[tuple[str, str]]:
        """The old text and the new one in parts: those between changed words, and the changed words."""
        i, j = old[0], new[0]
        for word in words:
            yield from shared_runs(self._old[i : word.before[0]], self._new[j : word.after[0]])
            yield self._old[slice(*word.before)], self._new[slice(*word.after)]
            i, j = word.before[1], word.after[1]
        yield from shared_runs(self._old[i : old[1]], self._new[j : new[1]])


def _pieces(runs: Iterable[tuple[str, str]]) -> Iterator[DiffPiece]:
    """The parts as pieces; neighbours of one kind are one."""
    for is_same, group in groupby(filter(any, runs), key=lambda run: run[0] == run[1]):
        parts = list(group)
        gone, new = "".join(a for a, _ in parts), "".join(b for _, b in parts)
        if is_same:
            yield from [DiffPiece("same", gone)] if gone else []
            continue
        yield from [DiffPiece("gone", gone)] if gone else []
        yield from [DiffPiece("new", new)] if new else []
