"""Discourse: sentences that speak of a discussion and claim nothing of its matter ("Opinions differ."), conclusions.

A closed list of the words that such sentences are made of. One that takes sides ("The critics are right") has others.
"""

from __future__ import annotations

import re

from eirene.text.words import content_words, stem

_WORDS = """
    according account across add addition advocate against also although answer appear appears argue argument
    aspect available base based basis both brief briefly broad camp case come comes complex concern conclude
    conclusion consider considerable contend contentious contested context contrast controversial controversy
    critic debate deep deeply defender depend depends describe deserve detail differ difference different
    disagree disagreement discuss discussed discussion disputed divide divided divisive document draw each
    either equally every explain express fair far favor favour feel final finally find first focus follow
    following further general give given go goes going gone hand hear hearing hold however include information
    introduction issue last lie likely list listen long look main many material matter mention moreover neither
    next object often one open opinion opponent oppose opposing other others outline overall overview part
    passage people person perspective point position possible present proponent provide question quite raise
    range rather ready reason related remain reply respond response review said say sceptic second see seen
    sharply side skeptic some soon sort source speak stand still strongly subject suggest suggested sum summary
    support supporter supporting take text thing think third those time topic turn two unable unresolved
    unsettled usual various vary view viewpoint way weigh well went wide widely world year years
"""
_SMALL_WORDS = """
    accordingly already always anyway because besides can cannot consequently could else enough especially even ever
    finally furthermore generally hence however indeed instead just later maybe may meanwhile might mostly much must
    namely nearly necessarily ought particularly partly perhaps quite rather shall similarly simply since soon still
    therefore though thus together too unless usually whereas whether while will within without would yet
"""
_SMALL = frozenset(stem(word) for word in _SMALL_WORDS.split())
_STEMS = frozenset(stem(word) for word in _WORDS.split())
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
