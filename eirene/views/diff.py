"""Diff of two answers: by sentence, and by word within a changed sentence.

The pieces lose nothing: those marked `same` and `gone`, joined, are the old text; `same` and `new` are the new one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from eirene.text.matching import BoundedMatcher
from eirene.text.sentences import split_sentences

Kind = Literal["same", "gone", "new"]
DiffLineKind = Literal["same", "gone", "new", "changed", "moved away", "moved here"]

_WORDS = re.compile(r"\w+(?:['’]\w+)*|\s+|[^\w\s]")
_ALIKE = 0.5  # share of words in common from which two sentences count as one, reworded
_MOST_PAIRS = 10_000  # past this many sentence pairs a block is shown as replaced: a comparison must not take minutes
_MOST_COUNTED = 1_000_000  # so it is past this many words, each counted once for every sentence that it is held against
_MOST_WORDS = 2_000  # and a sentence, past this many words


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
    a = [s.raw for s in split_sentences(old)]
    b = [s.raw for s in split_sentences(new)]
    lines: list[DiffLine] = []
    matcher = BoundedMatcher([s.strip() for s in a], [s.strip() for s in b])
    for _, i, i_end, j, j_end in matcher.get_opcodes():
        lines += _block(a[i:i_end], b[j:j_end])
    return _with_moves(lines)


def _block(a: Sequence[str], b: Sequence[str]) -> Iterator[DiffLine]:
    at_a = at_b = 0
    for i, j in [*_pairs(a, b), (len(a), len(b))]:
        yield from (DiffLine("gone", (DiffPiece("gone", s),)) for s in a[at_a:i])
        yield from (DiffLine("new", (DiffPiece("new", s),)) for s in b[at_b:j])
        if i < len(a):
            yield _pair(a[i], b[j])
        at_a, at_b = i + 1, j + 1


def _pair(old: str, new: str) -> DiffLine:
    kind: DiffLineKind = "same" if old.strip() == new.strip() else "changed"
    return DiffLine(kind, (DiffPiece("same", old),) if old == new else tuple(_words(old, new)))


def _pairs(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """Which sentences belong together: the pairing in order with the greatest sum of likenesses."""
    if not a or not b:
        return []
    if [s.strip() for s in a] == [s.strip() for s in b]:
        return [(n, n) for n in range(len(a))]
    if len(a) * len(b) > _MOST_PAIRS:
        return []
    words_a, words_b = [_counted(s) for s in a], [_counted(s) for s in b]
    if len(b) * sum(map(len, words_a)) + len(a) * sum(map(len, words_b)) > _MOST_COUNTED:
        return []
    like = [[_likeness(x, y) for y in words_b] for x in words_a]
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]  # best[i][j]: of a[i:] and b[j:]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], like[i][j] + best[i + 1][j + 1])
    result, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if like[i][j] > 0 and best[i][j] == like[i][j] + best[i + 1][j + 1]:
            result.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return result


def _counted(text: str) -> Counter[str]:
    return Counter(w.lower() for w in _WORDS.findall(text) if not w.isspace())


def _likeness(a: Counter[str], b: Counter[str]) -> float:
    """Dice's coefficient of the words, 0 where it is under the line that makes two sentences one."""
    dice = 2 * sum((a & b).values()) / max(1, a.total() + b.total())
    return dice if dice >= _ALIKE else 0.0


def _words(old: str, new: str) -> Iterator[DiffPiece]:
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    if max(len(a), len(b)) > _MOST_WORDS:
        yield from (DiffPiece("gone", old), DiffPiece("new", new))
        return
    for tag, i, i_end, j, j_end in BoundedMatcher(a, b).get_opcodes():
        gone, added = "".join(a[i:i_end]), "".join(b[j:j_end])
        if tag == "equal":
            yield DiffPiece("same", gone)
            continue
        if gone:
            yield DiffPiece("gone", gone)
        if added:
            yield DiffPiece("new", added)


def _with_moves(lines: Sequence[DiffLine]) -> tuple[DiffLine, ...]:
    """Names a sentence that went from one place and came back, word for word, at another."""
    gone, new = (Counter(_text(x) for x in lines if x.kind == kind) for kind in ("gone", "new"))
    left = {"gone": gone & new, "new": gone & new}
    result = []
    for line in lines:
        moved = line.kind in left and left[line.kind][_text(line)] > 0
        if moved:
            left[line.kind][_text(line)] -= 1
        result.append(replace(line, kind="moved away" if line.kind == "gone" else "moved here") if moved else line)
    return tuple(result)


def _text(line: DiffLine) -> str:
    return "".join(p.text for p in line.pieces).strip()
