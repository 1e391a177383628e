"""Signs: the negations and opposites that two sentences do not share, and that do not cancel each other out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from eirene.text.matching import Span
from eirene.text.polarity.mark_words import COMPARES, DENIES
from eirene.text.polarity.marks import MarkedSentence, PolarityMark, SentenceWord
from eirene.text.polarity.pairing import Pairing, is_same_place


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
    """How many negations each word has."""
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
