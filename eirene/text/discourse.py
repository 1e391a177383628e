"""Discourse: sentences that speak of a discussion and claim nothing of its matter ("Opinions differ."), conclusions.

A closed list of the words that such sentences are made of. One that takes sides ("The critics are right") has others.
"""

from __future__ import annotations

import re

from eirene.text.words import content_words, listed_words, stem

_SMALL = frozenset(map(stem, listed_words("discourse small words")))
_STEMS = frozenset(map(stem, listed_words("discourse words")))
# Praise is no verdict where it goes to all sides: "There are good points on either side."
_PRAISE = frozenset(stem(word) for word in ["good", "strong", "serious", "valid", "weighty", "reasonable"])
_ALL_SIDES = frozenset(["both", "either", "every", "all", "neither", "each"])
_LONGEST = 16
_ENDS = frozenset(["no", "yes", "not", "so"])


def is_filler(text: str) -> bool:
    """Whether a sentence or clause is short and made of words about a discussion alone."""
    words = [word.strip(".,;:!?()\"'").lower() for word in text[:400].split()]
    if not words or len(words) > _LONGEST or len(text) > 400 or words[-1] in _ENDS:
        return False
    found = {word.stem for word in content_words(text)}
    known = _STEMS | _PRAISE if _ALL_SIDES & set(words) else _STEMS
    return bool(found) and found <= known and not {"you", "your", "i", "my", "me", "we"} & set(words)


_CONCLUDES = re.compile(
    r"\A(?:so|in\s+(?:total|all|other\s+words)|altogether|accordingly)\b"
    r"|,\s+so\b|\b(?:therefore|thus|hence|would|means?|probably|likely|perhaps|maybe|presumably|apparently|seems?)\b",
    re.IGNORECASE,
)


def concludes(text: str) -> bool:
    """Whether a sentence says that it follows from others, or is a guess."""
    return _CONCLUDES.search(text) is not None


def is_small(word: str) -> bool:
    """Whether a stem says nothing by itself: one of a discussion, a modal verb, or a word that joins sentences."""
    return word in _STEMS or word in _SMALL
