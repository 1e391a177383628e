"""Antonyms: a closed table of common English opposites, and prefixes and suffixes that turn a word into its opposite.

A line of `tables/antonyms.txt` has two poles; the words of a pole are close enough in meaning that each is an opposite
of each word of the other pole. Regular inflections follow from the stem, irregular ones are listed. A pair of
`tables/opposites.txt` (`a/b`) has two words of the same form. General English, no data set.
"""

from __future__ import annotations

from functools import lru_cache

from eirene.text.words import stem, table_lines, word_set

_PREFIXES = ("un", "in", "im", "il", "ir", "dis", "non", "mis", "anti")
# What is left of these without their first letters is a word, and no opposite.
_NO_OPPOSITES = word_set("antonyms no opposites")
_LONGEST = 30
"""Characters of a word; longer ones are no words."""


@lru_cache(maxsize=1)
def _poles() -> dict[str, tuple[tuple[int, int], ...]]:
    """The lines that a stem stands in, each with its pole (0 or 1)."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(table_lines("antonyms")):
        for pole, words in enumerate(line.split("|")):
            for word in dict.fromkeys(stem(w) for w in words.split()):
                found.setdefault(word, []).append((number, pole))
    return {word: tuple(places) for word, places in found.items()}


@lru_cache(maxsize=1)
def _pairs() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for pair in " ".join(table_lines("opposites")).split():
        a, b = pair.split("/")
        found[a] = (*found.get(a, ()), b)
        found[b] = (*found.get(b, ()), a)
    return found


def listed_opposites(word: str) -> tuple[str, ...]:
    """The words (lower case) that take the place of a word, in its own form, where a sentence is turned round."""
    return _pairs().get(word, ())


def poles_of(word_stem: str) -> tuple[tuple[int, int], ...]:
    """The places of a stem (`eirene.text.words.stem`) in the table: lines, each with its pole (0 or 1)."""
    return _poles().get(word_stem, ())


@lru_cache(maxsize=8192)
def turned_stems(word: str) -> tuple[str, ...]:
    """The stems of the words that a word (lower case) turns by a prefix or suffix: of "useless" that of "useful"."""
    if len(word) > _LONGEST:
        return ()
    found = [word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix)]
    if word.endswith("less"):
        found.append(word[:-4] + "ful")
    return tuple(stem(w) for w in found if len(w) > 3 and w not in _NO_OPPOSITES and stem(w) not in _NO_OPPOSITES)


def are_opposites(one: str, other: str) -> bool:
    """Whether two words (lower case) are opposites: by the table, or by a prefix or suffix of one of them."""
    first, second = stem(one), stem(other)
    if first == second and not (one + other).count("less"):
        return False
    places = poles_of(second)
    by_table = bool(places) and any((line, 1 - pole) in places for line, pole in poles_of(first))
    return by_table or second in turned_stems(one) or first in turned_stems(other)
