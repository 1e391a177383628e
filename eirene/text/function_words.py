"""Function words of other languages than English: tell the language of a clause that is too short for its letters.

Articles, pronouns, prepositions and auxiliaries, without those that are English words as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType

from eirene.text.words import word_set, word_sets

FUNCTION_WORDS = MappingProxyType(word_sets("function words of "))
"""The function words of each language, by its English name, lower case."""

# No French, German or Spanish word: enough to tell English from those.
ENGLISH_WORDS = word_set("function words not of other languages")
"""Frequent English words that the other languages have not."""

_WORD = re.compile(r"[^\W\d_]+(?:['’](?=[^\W\d_]))?")


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, split at apostrophes (so that "l'eau" is "l" and "eau")."""
    return [word.rstrip("'’") for word in _WORD.findall(text.lower())]


def function_words_of(language: str, words: Iterable[str]) -> set[str]:
    """The distinct function words of a language among `words`; none for a language that has no list."""
    known = ENGLISH_WORDS if language == "English" else FUNCTION_WORDS.get(language, frozenset())
    return set(known.intersection(words))
