"""Pairing of the words of two sentences: the same word, a word of the same meaning by the table, or its opposite.

And their signs: the negations and opposites that the two do not share, and that do not cancel each other out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from eirene.text.matching import BoundedMatcher, Span
from eirene.text.polarity.antonyms import poles_of, turned_stems
from eirene.text.polarity.marks import COMPARES, DENIES, MarkedSentence, PolarityMark, SentenceWord

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


class Sign(NamedTuple):
    """A turned sign with its offsets: in the first sentence, in the second one, or, for opposites, in both."""

    before: Span | None
    after: Span | None


class _OpenNegation(NamedTuple):
    """A negation that the other sentence does not have; `is_sure`: it has the negated word, in the same place."""

    mark: PolarityMark
    is_sure: bool


def strict_signs(a: MarkedSentence, b: MarkedSentence, pairing: Pairing) -> Iterator[Sign]:
    """Every turned sign: for sentences that share most of their words."""
    yield from _signs(a, b, pairing, strict=True)


def sure_signs(a: MarkedSentence, b: MarkedSentence, pairing: Pairing) -> Iterator[Sign]:
    """The turned signs that no paraphrase would make up for: none where the sentences differ in other such words."""
    if not _has_other_means(a, b, pairing):
        yield from _signs(a, b, pairing, strict=False)


def _signs(a: MarkedSentence, b: MarkedSentence, pairing: Pairing, *, strict: bool) -> Iterator[Sign]:
    lost = _open_negations(a, b, pairing.partner)
    gained = _open_negations(b, a, pairing.partner_back)
    _cancel(lost, gained, pairing, strict=strict)
    for i, j in pairing.opposites:
        one, other = a.words[i], b.words[j]
        if not strict and not (one.is_content and other.is_content):
            continue
        if not (_take_over(lost, i) or _take_over(gained, j)):
            yield Sign((one.start, one.end), (other.start, other.end))
    yield from (Sign(None, (mark.start, mark.end)) for mark, is_sure in gained if is_sure or strict)
    yield from (Sign((mark.start, mark.end), None) for mark, is_sure in lost if is_sure or strict)


def _open_negations(a: MarkedSentence, b: MarkedSentence, partner: dict[int, int]) -> list[_OpenNegation]:
    """Negations of `a` whose word is not negated in `b`."""
    theirs = _negated(b)
    own = _negated(a)
    found = []
    for mark in a.marks:
        if mark.kind != "negation" or (mark.head is not None and not own[mark.head] % 2):
            continue  # two negations of one word are none
        other = None if mark.head is None else partner.get(mark.head)
        if other is None or mark.head is None:
            found.append(_OpenNegation(mark, False))
        elif not theirs[other] % 2:
            found.append(_OpenNegation(mark, is_same_place(a, b, mark.head, other, partner)))
    return found


def _negated(reading: MarkedSentence) -> Counter[int]:
    return Counter(m.head for m in reading.marks if m.kind == "negation" and m.head is not None)


def _cancel(lost: list[_OpenNegation], gained: list[_OpenNegation], pairing: Pairing, *, strict: bool) -> None:
    """Takes out pairs of negations that only moved; with words changed as well, any two may be the same one."""
    for one in list(lost):
        for other in gained:
            if not (one.is_sure and other.is_sure) and (not strict or _share_scope(one.mark, other.mark, pairing)):
                lost.remove(one)
                gained.remove(other)
                break


def _share_scope(a: PolarityMark, b: PolarityMark, pairing: Pairing) -> bool:
    if a.head is None or b.head is None:
        return a.head is b.head
    inside = any(b.head <= pairing.partner.get(n, -1) < b.reach for n in range(a.head, a.reach))
    return inside or (a.head not in pairing.partner and b.head not in pairing.partner_back)


def _take_over(negations: list[_OpenNegation], word: int) -> bool:
    """Whether one of the negations bears on a word that became its opposite; it is used up by that."""
    for row in negations:
        head = row.mark.head
        if head is not None and head <= word < row.mark.reach:
            negations.remove(row)
            return True
    return False


def _has_other_means(a: MarkedSentence, b: MarkedSentence, pairing: Pairing) -> bool:
    """Whether one sentence has a condition, a comparison or a word of denial ("prevents", "impossible") of its own."""
    if sum(m.kind == "condition" for m in a.marks) != sum(m.kind == "condition" for m in b.marks):
        return True
    rest = [*_unpaired(a, pairing.partner), *_unpaired(b, pairing.partner_back)]
    return any(w.stem in DENIES or w.word in COMPARES for w in rest)


def _unpaired(reading: MarkedSentence, partner: dict[int, int]) -> Iterator[SentenceWord]:
    """The words without a partner that are no negations themselves."""
    negations = [(m.start, m.end) for m in reading.marks if m.kind == "negation"]
    for n, word in enumerate(reading.words):
        if n not in partner and not any(start <= word.start < end for start, end in negations):
            yield word
