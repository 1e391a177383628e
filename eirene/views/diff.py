"""Diff of two answers, by sentence and by word; the edits of a round; and what changed, in words.

A view of `eirene.text.edits`. The pieces lose nothing: those marked `same` and `gone`, joined, are the old text; `same`
and `new` are the new one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from eirene.core.records import EditDecision, Round
from eirene.text.edits.pieces import laid_out
from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.words import SentenceEdit, WordEdit, shared_runs
from eirene.text.matching import Span
from eirene.text.quoting import quoted

Kind = Literal["same", "gone", "new"]
DiffLineKind = Literal["same", "gone", "new", "changed", "moved away", "moved here"]
CALM_RUN = 6  # calm entries in a row up to which all are shown; of more, the middle is counted
_DRAWN = 40  # changed sentences that are shown before the rest is folded
SIGNS: Mapping[DiffLineKind, str] = {
    "same": "", "changed": "~", "gone": "−", "moved away": "−", "new": "+", "moved here": "+"
}  # fmt: skip
"""The sign of a line on a page."""
_DONE: tuple[tuple[DiffLineKind, str], ...] = (
    ("new", "added"), ("changed", "reworded"), ("gone", "removed"), ("moved here", "moved"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A run of text that is in both answers (`same`), in the old alone (`gone`) or in the new alone (`new`)."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One sentence of the comparison, white space around it included.

    `faults`: the words for what was wrong with it in the original; `missing` for one that was not in it.
    """

    kind: DiffLineKind
    pieces: tuple[DiffPiece, ...]
    faults: tuple[str, ...] = ()

    def done(self, piece: DiffPiece) -> str:
        """What was done to a piece of the line, in words; "" for nothing."""
        if self.kind in ("moved away", "moved here"):
            return "moved from here" if self.kind == "moved away" else "moved to here"
        return {"same": "", "gone": "removed", "new": "added"}[piece.kind]


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


def changes_in_words(lines: Sequence[DiffLine]) -> str:
    """`1 sentence added, 2 reworded`; "" where no sentence changed."""
    counts = Counter(line.kind for line in lines)
    said = [(counts[kind], word) for kind, word in _DONE if counts[kind]]
    if not said:
        return ""
    (n, word), *more = said
    first = f"{n:,} sentence{'' if n == 1 else 's'} {word}"
    return ", ".join([first, *(f"{n:,} {word}" for n, word in more)])


def folds(lines: Sequence[DiffLine]) -> Iterator[tuple[str, list[DiffLine]]]:
    """The lines in runs: with the title of a fold, or with "" where they are open. Nothing is left out."""
    shown: list[DiffLine] = []
    for title, run in _runs(lines):
        if not title:
            shown += run
        elif run:
            yield from [("", shown)] if shown else []
            yield f"{len(run):,} {title}", run
            shown = []
    yield from [("", shown)] if shown else []


def _runs(lines: Sequence[DiffLine]) -> Iterator[tuple[str, list[DiffLine]]]:
    drawn = 0
    for is_same, group in groupby(lines, key=lambda line: line.kind == "same"):
        run = list(group)
        if is_same:
            ends = 2 if len(run) > CALM_RUN else len(run)
            yield "", run[:ends]
            yield "unchanged sentences", run[ends : max(ends, len(run) - 2)]
            yield "", run[max(ends, len(run) - 2) :]
            continue
        room = max(0, _DRAWN - drawn)
        drawn += len(run)
        yield "", run[:room]
        yield "more changed sentences", run[room:]


_LONGEST = 200
"""Characters of an edit's words that are shown."""


@dataclass(frozen=True, slots=True)
class ShownEdit:
    """An edit that was undone: what was done about it, in words, and why."""

    what: str
    why: str


def edits_taken(round_: Round) -> str:
    """How many edits a rewrite had and how many were taken, and what it corrected; "" where no edit was judged."""
    whole = [d for d in round_.edits if d.kind != "characters"]
    if not whole:
        return ""
    taken = sum(d.taken for d in whole)
    text = f"{taken} of {len(whole)} edit{'' if len(whole) == 1 else 's'} taken"
    return text + (f"; faults corrected: {'; '.join(round_.mended)}" if round_.mended else "")


def edits_undone(round_: Round) -> tuple[ShownEdit, ...]:
    """The edits that were undone, in the order of the rewrite."""
    return tuple(ShownEdit(_what(d), d.why or "") for d in round_.edits if not d.taken)


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
