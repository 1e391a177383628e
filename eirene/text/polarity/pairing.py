"""Pairing of the words of two sentences: the same word, a word of the same meaning by the table, or its opposite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from eirene.text.matching import BoundedMatcher, Span
from eirene.text.polarity.antonyms import poles_of, turned_stems
from eirene.text.polarity.marks import MarkedSentence

_MOST = 60
"""Words of either sentence without a partner that are compared by meaning: the rest is other words anyway."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which word of one sentence (index in `MarkedSentence.words`) is which of the other, and the pairs of opposites.

    `shared`: how many content words behind the openings have a partner (opposites count); `share`: the same as a share
    of the sentence that has fewer of them; `closeness`: as a share of both (Dice).
    """

    partner: dict[int, int]
    partner_back: dict[int, int]
    opposites: tuple[Span, ...]
    shared: int
    share: float
    closeness: float


def pair_words(a: MarkedSentence, b: MarkedSentence) -> Pairing:
    """Pairs words in order first, then those that moved, then by meaning."""
    partner: dict[int, int] = {}
    for i, j, size in BoundedMatcher([w.stem for w in a.words], [w.stem for w in b.words]).get_matching_blocks():
        partner.update((i + n, j + n) for n in range(size))
    _pair_moved(a, b, partner)
    opposites = _pair_by_meaning(a, b, partner)
    own, other = a.claimed, b.claimed
    shared = sum(n in partner for n in own)
    fewest, both = min(len(own), len(other)), len(own) + len(other)
    return Pairing(
        partner,
        {j: i for i, j in partner.items()},
        tuple(opposites),
        shared,
        min(1.0, shared / fewest) if fewest else 0.0,
        min(1.0, 2 * shared / both) if both else 0.0,
    )


def _pair_moved(a: MarkedSentence, b: MarkedSentence, partner: dict[int, int]) -> None:
    taken = set(partner.values())
    places = defaultdict(list)
    for n in range(len(b.words) - 1, -1, -1):
        if b.words[n].is_content and n not in taken:
            places[b.words[n].stem].append(n)
    for n, word in enumerate(a.words):
        if word.is_content and n not in partner and places.get(word.stem):
            partner[n] = places[word.stem].pop()


def _pair_by_meaning(a: MarkedSentence, b: MarkedSentence, partner: dict[int, int]) -> list[Span]:
    """Pairs words of opposite or of the same meaning, the nearest in place first; gives the opposites."""
    taken = set(partner.values())
    rest_a = [n for n in range(len(a.words)) if n not in partner][:_MOST]
    rest_b = [n for n in range(len(b.words)) if n not in taken][:_MOST]
    if not rest_a or not rest_b:
        return []
    by_pole: dict[tuple[int, int], list[int]] = defaultdict(list)
    by_stem: dict[str, list[int]] = defaultdict(list)
    for j in rest_b:
        for place in poles_of(b.words[j].stem):
            by_pole[place].append(j)
        by_stem[b.words[j].stem].append(j)
        for root in turned_stems(b.words[j].word):
            by_stem["-" + root].append(j)
    opposites = []
    for i in rest_a:
        for j, is_opposite in sorted(_candidates(a, i, by_pole, by_stem), key=lambda row: abs(row[0] - i)):
            if j in taken or (is_opposite and not is_same_place(a, b, i, j, partner)):
                continue
            partner[i] = j
            taken.add(j)
            if is_opposite:
                opposites.append((i, j))
            break
    return opposites


def _candidates(
    a: MarkedSentence, i: int, by_pole: dict[tuple[int, int], list[int]], by_stem: dict[str, list[int]]
) -> Iterator[tuple[int, bool]]:
    word = a.words[i]
    for line, pole in poles_of(word.stem):
        for j in by_pole.get((line, 1 - pole), ()):
            yield j, True
        for j in by_pole.get((line, pole), ()):
            yield j, False
    for root in (*turned_stems(word.word),):
        for j in by_stem.get(root, ()):
            yield j, True
    for j in by_stem.get("-" + word.stem, ()):
        yield j, True


def is_same_place(a: MarkedSentence, b: MarkedSentence, i: int, j: int, partner: dict[int, int]) -> bool:
    """Whether two words stand in the same place: the content word before or behind one is that of the other.

    Or the very words on both sides are the same; else the two are about different things.
    """
    near_b = {n for n in (_next(b, j, 1), _next(b, j, -1)) if n is not None}
    near_a = [n for n in (_next(a, i, 1), _next(a, i, -1)) if n is not None]
    if any(partner.get(n, -1) in near_b for n in near_a):
        return True
    before = partner.get(i - 1) == j - 1 if i and j else i == j
    behind = partner.get(i + 1) == j + 1 if i + 1 < len(a.words) else j + 1 == len(b.words)
    return before and behind


def _next(reading: MarkedSentence, at: int, step: int) -> int | None:
    for n in range(at + step, at + 8 * step, step):
        if 0 <= n < len(reading.words) and reading.words[n].is_content:
            return n
    return None
