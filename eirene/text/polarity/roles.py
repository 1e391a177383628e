"""Roles exchanged: two parts of a sentence that changed places around a verb, a "than" or a "because"."""

from __future__ import annotations

from collections.abc import Sequence

from eirene.text.english import AUXILIARIES, is_third_person, looks_like_base
from eirene.text.matching import Span
from eirene.text.polarity.marks import MarkedSentence, SentenceWord


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOST = 60
"""Words between the first and the last difference; more is no exchange of two parts."""
_PIVOTS = _words(
    """than because since so therefore hence if unless before after from to over by of against into for above below
    under without despite until through toward towards in at on upon within across behind beyond near that who
    which
    outweigh outweighs"""
)
_JOINS = _words("and or nor as well both with between , ; while whereas but vs versus")
_DROPPED = frozenset(["a", "an", "the", ",", ".", "!", "?"])


def exchanged(a: MarkedSentence, b: MarkedSentence) -> tuple[Span, Span] | None:
    """Offsets in both sentences of the stretch in which two parts changed places; None where none did.

    "Crime causes poverty" for "Poverty causes crime"; not "pens and books" for "books and pens", nor a passive.
    """
    one = [w for w in a.words[a.opening :] if w.word not in _DROPPED]
    two = [w for w in b.words[b.opening :] if w.word not in _DROPPED]
    if len(one) != len(two) or sorted(w.stem for w in one) != sorted(w.stem for w in two):
        return None
    same = [_key(x) == _key(y) for x, y in zip(one, two, strict=True)]
    if all(same):
        return None
    first, end = same.index(False), len(same) - same[::-1].index(False)
    x, y = one[first:end], two[first:end]
    if len(x) > _MOST or not _is_exchange(x, y):
        return None
    return (x[0].start, x[-1].end), (y[0].start, y[-1].end)


def _key(word: SentenceWord) -> str:
    return "be" if word.word in ("is", "are", "was", "were") else word.stem


def _is_exchange(x: Sequence[SentenceWord], y: Sequence[SentenceWord]) -> bool:
    """Whether x is P M Q and y is Q M P, with content in P and Q and a word in M that has two sides."""
    n = len(x)
    old, new = [_key(w) for w in x], [_key(w) for w in y]
    for p in range(1, n - 1):
        if new[n - p :] != old[:p] or not any(w.is_content for w in x[:p]):
            continue
        for q in range(1, n - p):
            if new[:q] == old[n - q :] and new[q : n - p] == old[p : n - q] and any(w.is_content for w in x[n - q :]):
                return _has_sides(x[p : n - q], x[:p])
    return False


def _has_sides(middle: Sequence[SentenceWord], before: Sequence[SentenceWord]) -> bool:
    words = [w.word for w in middle]
    if not words or all(w in _JOINS for w in words):
        return False
    if all(w in AUXILIARIES for w in words):
        return False  # "Cost is the problem" for "The problem is cost"
    return any(w in _PIVOTS or looks_like_base(w) or is_third_person(w) or w.endswith("ed") for w in words)
