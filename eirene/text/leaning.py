"""Leaning: what a sentence of a text needs from the sentences before it, and so loses where one is taken out.

A pronoun or a word that goes on ("They", "Half of them", "The latter", "However") needs what it goes on with; a number
that was announced ("There are three reasons.") needs as many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from eirene.text.words import listed_words

_PARTS = r"[a-z-]+(?:\s+[a-z-]+)?\s+of\s+them | the\s+(?:former|latter|rest)"
_REFERS = rf"""this|these|those|that|it|its|it['’]s|they|their|them|they['’]re|he|his|him|she|her|such|both|either
      | neither|another|others?|the\s+(?:same|others?|second)|{_PARTS}"""
_PART = re.compile(rf"(?:{_PARTS})\b", re.VERBOSE | re.IGNORECASE)
_REFERRING = re.compile(rf"(?:{_REFERS})\b", re.VERBOSE | re.IGNORECASE)
_EMPTY = re.compile(r"it(?:['’]s|\s+is|\s+was)\s+[a-z]+\s+(?:that|to)\b", re.IGNORECASE)
"""What refers to nothing: "It is said that ..."."""
_LEANS = re.compile(
    rf"""(?:however|therefore|thus|hence|consequently|accordingly|so|then|instead|otherwise|but|yet|still|nor|rather|indeed
      | nevertheless|nonetheless|similarly|likewise|conversely|meanwhile|because|since|also|too|besides|moreover
      | furthermore|additionally|afterwards?|later|next|finally|lastly|second(?:ly)?|third(?:ly)?|fourth(?:ly)?|again
      | overall|{_REFERS}|each|some|one|ones|which|who|whose|where|when|there|here|following|doing|once|after|if\s+so
      | in\s+turn|as\s+(?:a|the|such)|for\s+(?:example|instance|this)
      | in\s+(?:addition|contrast|turn|fact|this|these|summary|other|conclusion|short)|on\s+the\s+other
      | the\s+(?:last|next|result|reason)|to\s+(?:sum|conclude)|due\s+to\s+(?:this|these)
      | based\s+on\s+(?:this|these)|and|or)\b""",
    re.VERBOSE | re.IGNORECASE,
)
_LIGHT = re.compile(
    r"(?:also|besides|moreover|furthermore|additionally|finally|lastly|overall|in\s+(?:addition|summary|conclusion))\b,",
    re.IGNORECASE,
)
_PRONOUNS = dict(pair.split("/") for pair in listed_words("leaning pronouns"))
_FIRST_WORD = re.compile(r"[a-z]+(?:['’][a-z]+)?", re.IGNORECASE)
_SMALL = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_NUMBERS = {word: n for n, word in enumerate(_SMALL, start=2)} | {str(n): n for n in range(2, 11)}
_COUNTED = re.compile(
    rf"\b({'|'.join(_NUMBERS)})\s+(?:[a-z-]+\s+){{0,2}}(?:things|reasons|ways|steps|points|parts|kinds|types|factors"
    r"|options|causes|benefits|tips|examples|facts|rules|stages|phases|elements|advantages|drawbacks)\b",
    re.IGNORECASE,
)
_READ = 300
"""Characters of a sentence that are looked at."""


def leans(text: str) -> bool:
    """Whether a sentence begins with words that go on with the sentence before."""
    return _LEANS.match(text) is not None


def goes_on(text: str) -> bool:
    """Whether its opening goes on with the text as a whole, as "In addition, ..." does."""
    return _LIGHT.match(text) is not None


def refers(text: str) -> bool:
    """Whether its first words stand for something named before: "They", "Half of them", "The latter"."""
    return _REFERRING.match(text) is not None and _EMPTY.match(text) is None


def is_part(text: str) -> bool:
    """Whether it begins with a part of what was named before: "Half of them", "The latter", "The rest"."""
    return _PART.match(text) is not None


def pronoun(text: str) -> str | None:
    """The personal pronoun that a sentence begins with, in its plain form ("it" for "Its"); None without one."""
    word = _FIRST_WORD.match(text)
    return None if word is None else _PRONOUNS.get(word.group().lower().replace("’", "'"))


def announces(text: str) -> bool:
    """Whether a sentence announces others by their number: "There are three reasons."."""
    return _COUNTED.search(text[:_READ]) is not None


def announced(sentences: Sequence[str], index: int) -> bool:
    """Whether a sentence is one of those that an earlier one announces."""
    for n in range(max(0, index - len(_SMALL) - 1), index):
        found = _COUNTED.search(sentences[n][:_READ])
        if found is not None and index - n <= _NUMBERS[found.group(1).lower()]:
            return True
    return False
