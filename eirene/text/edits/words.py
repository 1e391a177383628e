"""Edits as values: changed words and sentences, by offsets in both texts; replacements at offsets, made and chosen.

What is one change of words is one edit, what is two is two.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from eirene.text.matching import BoundedMatcher, Span
from eirene.text.unicode import UNSPACED_CLASS
from eirene.text.words import word_set

EditKind = Literal["kept", "reworded", "added", "removed", "moved"]


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words of a reworded sentence that changed: offsets in the text before and in the text after.

    One of the two spans may be empty: words that were put in, or left out, at that place.
    """

    before: Span
    after: Span


@dataclass(frozen=True, slots=True)
class SentenceEdit:
    """What became of a sentence: offsets in the text before and in the text after.

    The spans hold neither the white space around a sentence nor the list marker at the beginning of its line: those
    are layout. `before` is None for a sentence that was added, `after` for one that was removed. A `reworded` one has
    its changed words in order, and so has a `moved` one that was reworded too; where one sentence became two, or two
    became one, a span holds both.
    """

    kind: EditKind
    before: Span | None
    after: Span | None
    words: tuple[WordEdit, ...] = ()

    @property
    def mostly_stays(self) -> bool:
        """Whether at least half of a reworded sentence stayed (in characters): its changes can be judged one by one."""
        if self.kind != "reworded" or self.before is None:
            return False
        gone = sum(w.before[1] - w.before[0] for w in self.words)
        return gone <= 0.5 * (self.before[1] - self.before[0])


_MARKS = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0963\u0981-\u0dff\u200c\u200d\u20d0-\u20ff\ufe0f"
_LETTERS = rf"[^\W{UNSPACED_CLASS}][{_MARKS}]*+"
# A word with its apostrophes, a number with its points; every other visible or invisible sign is one by itself.
_TOKEN = re.compile(
    rf"(?>\d+(?:[.,]\d+)*)(?!\w)|(?>(?:{_LETTERS})+(?:['’](?:{_LETTERS})+)*)|\S"  # no "*+" for Python 3.11.4
)
_MOST_WORDS = 2_000
"""A sentence of more words than this counts as changed as a whole."""
_JOINTS = word_set("edits joints")
"""Words that join two changes to one, where they alone stand between them."""

Opcode = tuple[int, int, int, int]
"""Tokens `i` to `i_end` of one sentence became tokens `j` to `j_end` of the other."""


def word_tokens(text: str) -> list[str]:
    """The words and signs of a text: all that is no white space, joined, in order."""
    return _TOKEN.findall(text)


def word_edits(before: str, after: str, old: Span, new: Span) -> tuple[WordEdit, ...]:
    """The changed words between two sentences, as offsets in their texts; at least one where the words differ.

    Changes with nothing but a sign between them are one change, and so are replaced words with one small word between
    them; words that only came, or only went, at two places are two. A very long sentence is one change.
    """
    a, b = _token_spans(before, old), _token_spans(after, new)
    if max(len(a), len(b)) > _MOST_WORDS:
        return (WordEdit(old, new),)
    words_a, words_b = [before[slice(*s)] for s in a], [after[slice(*s)] for s in b]
    opcodes = BoundedMatcher(words_a, words_b).get_opcodes()
    changes = _joined([(i, i_end, j, j_end) for op, i, i_end, j, j_end in opcodes if op != "equal"], words_a)
    edits = tuple(WordEdit(_span(a, i, i_end, old), _span(b, j, j_end, new)) for i, i_end, j, j_end in changes)
    return edits or ((WordEdit(old, new),) if before[slice(*old)].split() != after[slice(*new)].split() else ())


def _token_spans(text: str, span: Span) -> list[Span]:
    return [found.span() for found in _TOKEN.finditer(text, *span)]


def _joined(codes: Sequence[Opcode], words: Sequence[str]) -> list[Opcode]:
    joined: list[Opcode] = []
    for code in codes:
        if joined and _is_one_change(joined[-1], code, words):
            joined[-1] = (joined[-1][0], code[1], joined[-1][2], code[3])
        else:
            joined.append(code)
    return joined


def _is_one_change(first: Opcode, second: Opcode, words: Sequence[str]) -> bool:
    between = words[first[1] : second[0]]
    if not between:
        return True
    replaced = [code[1] > code[0] and code[3] > code[2] for code in (first, second)]
    if not any(replaced) and (first[1] > first[0]) == (second[1] > second[0]):
        return False
    is_joint = any(replaced) and between[0].lower() in _JOINTS
    return len(between) == 1 and (is_joint or not between[0][0].isalnum())


def _span(spans: Sequence[Span], first: int, end: int, whole: Span) -> Span:
    if first < end:
        return spans[first][0], spans[end - 1][1]
    at = spans[first - 1][1] if first else whole[0]
    return at, at


def shared_runs(old: str, new: str) -> Iterator[tuple[str, str]]:
    """Two texts of the same words, which may differ in white space, in parts: what differs is in parts of its own."""
    a, b = _token_spans(old, (0, len(old))), _token_spans(new, (0, len(new)))
    if old == new or [old[slice(*s)] for s in a] != [new[slice(*s)] for s in b]:
        yield old, new
        return
    at = (0, 0)
    for (start, end), (new_start, new_end) in zip(a, b, strict=True):
        yield old[at[0] : start], new[at[1] : new_start]
        yield old[start:end], new[new_start:new_end]
        at = end, new_end
    yield old[at[0] :], new[at[1] :]


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
