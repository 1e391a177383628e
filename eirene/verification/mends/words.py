"""Word proposals: an opposite in the place of a word, and a given word where two sentences are alike on either side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from eirene.text.leaning import refers
from eirene.text.matching import BoundedMatcher
from eirene.text.polarity.antonyms import are_opposites, listed_opposites
from eirene.text.specifics.number_words import SMALL
from eirene.text.words import STOP_WORDS, stem
from eirene.verification.mends.proposal import Proposal

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_MOST_WORDS = 120
_ENDINGS = ("ing", "ed", "est", "er", "ly", "s")
_BESIDE = 2
"""Words that must be alike on one side of a word in another's place."""
_SPELT_ALIKE = 0.6
"""Share of letters in common, in order, from which two words are spellings of one."""
_LONGEST = 3
"""Words that differ in a row, the first or last of which may be one in another's place."""


def word_proposals(sentence: str, given: str) -> Iterator[Proposal]:
    """Opposites that `given` has first; then its words that stand in another's place."""
    own, theirs = _words(sentence), _words(given)
    known = {stem(word) for word, _, _ in theirs}
    for word, start, end in own:
        for new in _opposites(word, known, theirs):
            yield Proposal(start, end, _cased(new, sentence[start:end]), "relation")
    yield from _other_words(own, theirs, sentence, known)


def _words(text: str) -> list[tuple[str, int, int]]:
    found = [(m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(text)]
    return found[:_MOST_WORDS]


def _opposites(word: str, known: set[str], theirs: Sequence[tuple[str, int, int]]) -> list[str]:
    """Given opposites that fit in form; none for a word that the given sentence has."""
    if stem(word) in known:
        return []
    listed = listed_opposites(word)
    return list(dict.fromkeys(w for w, _, _ in theirs if w in listed or _has_opposite_form(word, w)))


def _has_opposite_form(word: str, other: str) -> bool:
    return are_opposites(word, other) and all(word.endswith(e) == other.endswith(e) for e in _ENDINGS)


def _other_words(
    own: Sequence[tuple[str, int, int]], theirs: Sequence[tuple[str, int, int]], sentence: str, known: set[str]
) -> Iterator[Proposal]:
    """One word in another's place, with words that are alike on either side; forms of one word are no two."""
    a, b = [w for w, _, _ in own], [w for w, _, _ in theirs]
    for tag, i, i_end, j, j_end in BoundedMatcher(a, b).get_opcodes():
        if tag != "replace" or max(i_end - i, j_end - j) > _LONGEST:
            continue
        facing = []
        if i >= _BESIDE and a[i - _BESIDE : i] == b[max(j - _BESIDE, 0) : j]:
            facing.append((i, j))
        behind = a[i_end : i_end + _BESIDE]
        if behind and behind == b[j_end : j_end + _BESIDE]:
            facing.append((i_end - 1, j_end - 1))
        for mine, other in dict.fromkeys(facing):
            old, start, end = own[mine]
            if stem(old) not in known and _are_two(old, b[other]):
                yield Proposal(start, end, _cased(b[other], sentence[start:end]), "relation")


def _are_two(old: str, new: str) -> bool:
    """Whether two words are of one form, and not forms of one word."""
    said = _says_something(old) and _says_something(new)
    if SequenceMatcher(None, old, new, autojunk=False).ratio() >= _SPELT_ALIKE:
        return False  # "pleaded", "pled"; a slip of the passage
    return said and old[:4] != new[:4] and all(old.endswith(e) == new.endswith(e) for e in _ENDINGS)


def _says_something(word: str) -> bool:
    return len(word) > 2 and word not in STOP_WORDS and word not in SMALL and not refers(word)


def _cased(new: str, old: str) -> str:
    return new.capitalize() if old[:1].isupper() and old[1:].islower() else new
