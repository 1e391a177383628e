"""Sentence edits: each sentence of two texts kept, reworded, added, removed or moved.

Sentences are paired, in order or moved, one to one or one to a few; inside a reworded one the changed words are edits
of their own, so that one of them can be undone alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from eirene.text.cancellation import check_cancelled
from eirene.text.edits.pieces import folded, piece_spans, spaced
from eirene.text.edits.words import SentenceEdit, word_edits, word_tokens
from eirene.text.form import is_form
from eirene.text.matching import BoundedMatcher, Span


def sentence_edits(before: str, after: str) -> tuple[SentenceEdit, ...]:
    """The edits that turn one text into the other, in reading order; a removed sentence stands where it stood.

    Every sentence that is not blank is in exactly one edit. One that differs only in white space is kept, unless it is
    structure. Of a sentence that is said twice the first is kept, or reworded, and the second added, or removed. Past
    some thousand changed sentences all that differ are removed and added.
    """
    a, b = piece_spans(before), piece_spans(after)
    pairs = paired([before[slice(*s)] for s in a], [after[slice(*s)] for s in b])
    return edits_of_pairs(before, after, pairs)


def edits_of_pairs(before: str, after: str, pairs: Sequence[SentencePair]) -> tuple[SentenceEdit, ...]:
    """The same for two texts whose sentences are paired already, by their place among those that are not blank."""
    return tuple(_in_reading_order(before, after, (piece_spans(before), piece_spans(after)), pairs))


def _in_reading_order(
    before: str, after: str, spans: tuple[Sequence[Span], Sequence[Span]], pairs: Sequence[SentencePair]
) -> Iterator[SentenceEdit]:
    a, b = spans
    moved_away = {pair.first_before for pair in pairs if pair.is_moved}
    moved_here = {pair.first_after: pair for pair in pairs if pair.is_moved}
    at_a = at_b = 0
    for pair in [*(p for p in pairs if not p.is_moved), None]:
        i, j = (pair.first_before, pair.first_after) if pair else (len(a), len(b))
        yield from (SentenceEdit("removed", a[n], None) for n in range(at_a, i) if n not in moved_away)
        for n in range(at_b, j):
            moved = moved_here.get(n)
            yield _edit(before, after, spans, moved) if moved else SentenceEdit("added", None, b[n])
        if pair:
            yield _edit(before, after, spans, pair)
            at_a, at_b = pair.last_before + 1, pair.last_after + 1


def _edit(before: str, after: str, spans: tuple[Sequence[Span], Sequence[Span]], pair: SentencePair) -> SentenceEdit:
    a, b = spans
    old = a[pair.first_before][0], a[pair.last_before][1]
    new = b[pair.first_after][0], b[pair.last_after][1]
    was, now = before[slice(*old)], after[slice(*new)]
    if was == now or (spaced(was) == spaced(now) and not is_form(was)):
        return SentenceEdit("moved" if pair.is_moved else "kept", old, new)
    return SentenceEdit("moved" if pair.is_moved else "reworded", old, new, word_edits(before, after, old, new))


_ALIKE = 0.5
"""Share of words in common from which two sentences count as one, reworded."""
_ALIKE_ELSEWHERE = 0.6
"""The same for sentences that do not stand in order."""
_MOST_JOINED = 4
"""Sentences that one may be split in, at most."""


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Sentences `first_before` to `last_before` of one text that are `first_after` to `last_after` of the other."""

    first_before: int
    last_before: int
    first_after: int
    last_after: int
    is_moved: bool = False


def paired(before: Sequence[str], after: Sequence[str]) -> list[SentencePair]:
    """The pairs of sentences, those in order first, in the order of the texts; every sentence is in one at most.

    Sentences that are the same but for case, white space, quotes and invisible characters go first, then those that
    share most words. Of one that is said twice the first is paired.
    """
    board = _Board([folded(text) for text in before], [folded(text) for text in after])
    exact = _exact(board.before, board.after)
    for i, j in exact:
        board.pair(i, j)
    for i, j in _same_elsewhere(board):
        board.pair(i, j, is_moved=True)
    shared = SharedWords(board.before, board.after)
    for a, b in board.gaps():
        for i, j in best_in_order(shared.of(a, b, _ALIKE), a, b):
            board.pair(i, j)
    _join_parts(board, shared, frozenset(exact))
    a, b = board.free()
    for i, j in best_elsewhere(shared.of(a, b, _ALIKE_ELSEWHERE), a, b):
        board.pair(i, j, is_moved=True)
    return board.pairs()


@dataclass
class _Board:
    """What is paired so far; the sentences are folded texts."""

    before: Sequence[str]
    after: Sequence[str]
    in_order: dict[int, int] = field(default_factory=dict)
    moved: dict[int, int] = field(default_factory=dict)
    joined: dict[tuple[int, int], SentencePair] = field(default_factory=dict)
    taken_before: set[int] = field(default_factory=set)
    taken_after: set[int] = field(default_factory=set)

    def pair(self, i: int, j: int, *, is_moved: bool = False) -> None:
        (self.moved if is_moved else self.in_order)[i] = j
        self.taken_before.add(i)
        self.taken_after.add(j)

    def free(self) -> tuple[list[int], list[int]]:
        return (
            [i for i in range(len(self.before)) if i not in self.taken_before],
            [j for j in range(len(self.after)) if j not in self.taken_after],
        )

    def gaps(self) -> Iterator[tuple[list[int], list[int]]]:
        """The free sentences of both texts between two pairs in order, where both texts have some."""
        at_i = at_j = 0
        for i, j in [*sorted(self.in_order.items()), (len(self.before), len(self.after))]:
            a = [n for n in range(at_i, i) if n not in self.taken_before]
            b = [n for n in range(at_j, j) if n not in self.taken_after]
            if a and b:
                yield a, b
            at_i, at_j = i + 1, j + 1

    def pairs(self) -> list[SentencePair]:
        ordered = [self.joined.get((i, j)) or SentencePair(i, i, j, j) for i, j in sorted(self.in_order.items())]
        return ordered + [SentencePair(i, i, j, j, is_moved=True) for i, j in sorted(self.moved.items())]


def _exact(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int]]:
    """The same sentences in the same order. Where one stands several times, its first places are taken."""
    found = [
        (i + n, j + n)
        for op, i, i_end, j, _ in BoundedMatcher(a, b).get_opcodes()
        if op == "equal"
        for n in range(i_end - i)
    ]
    at_a, at_b = _places(a), _places(b)
    result, last = [], (-1, -1)
    for i, _ in found:
        last = _next(at_a[a[i]], last[0]), _next(at_b[a[i]], last[1])
        result.append(last)
    return result


def _places(keys: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = defaultdict(list)
    for n, key in enumerate(keys):
        places[key].append(n)
    return places


def _next(places: Sequence[int], past: int) -> int:
    return places[bisect_right(places, past)]


def _same_elsewhere(board: _Board) -> list[tuple[int, int]]:
    a, b = board.free()
    places: dict[str, deque[int]] = defaultdict(deque)
    for j in b:
        places[board.after[j]].append(j)
    return [(i, places[board.before[i]].popleft()) for i in a if places.get(board.before[i])]


def _join_parts(board: _Board, shared: SharedWords, exact: frozenset[tuple[int, int]]) -> None:
    """Takes into a reworded pair the sentences beside it that hold the rest of its words: one was split in two."""
    for i, j in board.in_order.items():
        if (i, j) in exact:
            continue
        first, last = _parts(shared.before[i], shared.after, j, board.taken_after, shared)
        if first < last:
            board.joined[i, j] = SentencePair(i, i, first, last)
            board.taken_after.update(range(first, last + 1))
            continue
        first, last = _parts(shared.after[j], shared.before, i, board.taken_before, shared)
        board.joined[i, j] = SentencePair(first, last, j, j)
        board.taken_before.update(range(first, last + 1))


def _parts(
    whole: Counter[str], words: Sequence[Counter[str]], at: int, taken: set[int], shared: SharedWords
) -> tuple[int, int]:
    """The first and the last of the sentences around `at` that the `whole` was split in, or was joined from."""
    first = last = at
    said = words[at]
    while last - first + 1 < _MOST_JOINED:
        beside = [n for n in (last + 1, first - 1) if 0 <= n < len(words) and n not in taken]
        part = next((n for n in beside if shared.adds(whole, said, words[n])), None)
        if part is None:
            break
        first, last, said = min(first, part), max(last, part), said + words[part]
    return first, last


_MOST_PAIRS = 10_000
"""Past this many sentence pairs a block counts as replaced: a comparison must not take minutes."""
_MOST_COUNTED = 1_000_000
"""So it does past this many words, each counted once for every sentence that it is compared with."""


class SharedWords:
    """How many words sentences share. A word that many sentences of a text have says little about which is which."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        self.before = [_counted(text) for text in before]
        self.after = [_counted(text) for text in after]
        seen = [Counter(word for words in side for word in words) for side in (self.before, self.after)]
        self._weight = {word: 1 / max(n[word] for n in seen) for n in seen for word in n}

    def of(self, a: Sequence[int], b: Sequence[int], least: float) -> NDArray[np.float64] | None:
        """Dice's coefficients of weighted words, 0 below `least`; None where they would be too many to count."""
        if not a or not b or len(a) * len(b) > _MOST_PAIRS:
            return None
        n_words = len(b) * sum(len(self.before[i]) for i in a) + len(a) * sum(len(self.after[j]) for j in b)
        if n_words > _MOST_COUNTED:
            return None
        check_cancelled()
        left, right = [self.before[i] for i in a], [self.after[j] for j in b]
        weights_a, weights_b = [self._total(x) for x in left], [self._total(y) for y in right]
        dice = np.array(
            [
                [2 * self._common(x, y) / max(wx + wy, 1e-9) for y, wy in zip(right, weights_b, strict=True)]
                for x, wx in zip(left, weights_a, strict=True)
            ]
        )
        return np.where(dice >= least, dice, 0.0)

    def adds(self, whole: Counter[str], said: Counter[str], part: Counter[str]) -> bool:
        """Whether a sentence is most likely the part of the `whole` that is not `said` yet."""
        left = whole - said
        common = left & part
        return common.total() >= 2 and self._common(left, part) >= self._total(part) / 2

    def _total(self, words: Counter[str]) -> float:
        return sum(n * self._weight[word] for word, n in words.items())

    def _common(self, a: Counter[str], b: Counter[str]) -> float:
        a, b = (a, b) if len(a) <= len(b) else (b, a)
        return sum(min(n, b[word]) * self._weight[word] for word, n in a.items() if word in b)


def _counted(text: str) -> Counter[str]:
    """The words of a sentence; its other signs where it has no word."""
    found = word_tokens(text)
    return Counter([word for word in found if word[0].isalnum()] or found)


def best_in_order(like: NDArray[np.float64] | None, a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """The pairing in order with the greatest sum of likenesses."""
    if like is None:
        return []
    values = like.tolist()
    best = [[0.0] * (len(b) + 1) for _ in range(len(a) + 1)]  # best[i][j]: of a[i:] and b[j:]
    for i in reversed(range(len(a))):
        for j in reversed(range(len(b))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], values[i][j] + best[i + 1][j + 1])
    result, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if values[i][j] > 0 and best[i][j] == values[i][j] + best[i + 1][j + 1]:
            result.append((a[i], b[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return result


def best_elsewhere(like: NDArray[np.float64] | None, a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    """The likest pairs wherever they stand, the likest of all first."""
    if like is None:
        return []
    found = sorted(((-like[x, y], i, j) for x, i in enumerate(a) for y, j in enumerate(b) if like[x, y] > 0))
    result: dict[int, int] = {}
    used: set[int] = set()
    for _, i, j in found:
        if i not in result and j not in used:
            result[i] = j
            used.add(j)
    return list(result.items())
