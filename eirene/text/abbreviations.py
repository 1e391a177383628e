"""Abbreviations and ordinals of other languages than English: full stops inside sentences ("am 3. Mai", "Sra. Gil").

`sentencex` knows some for some languages. Here are those that lead into a name or a number. Most are told by their
shape: letters without a vowel ("Nr.", "ст."), or one letter.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from unicodedata import normalize

from eirene.text.words import word_set, word_sets

_SHARED = word_set("abbreviations shared")
_BEFORE_NUMBER = word_set("abbreviations before a number")
ABBREVIATIONS = MappingProxyType(word_sets("abbreviations in "))
"""Abbreviations that are words of other languages, by their language's code, lower case, without the full stop."""

# Where nouns and names have capitals too, it takes one of these before a number for an ordinal.
_GERMAN = (
    r"(?:a[mn]|[dD](?:er|ie|as|em|en|es)|[iI]m|[vV]o[mn]|[zZ]u[mr]|[bB]eim|[sS]eit|[uU]nd|jede\w{0,2}"
    r"|(?:ein|sein|ihr)e[mnrs]?)"
)
_BEFORE_ORDINAL = {"de": _GERMAN, "da": r"(?:[dD]e[nt]?|og)", "no": r"(?:[dD]e[nt]?|og)", "cs": r"(?:[vV]e?|[dD]ne|a)"}
_NUMBER = r"(?:\d{1,3}|[IVXL]{1,7})\.\s+\Z"
_AFTER_ITS_WORD = {code: re.compile(rf"(?<!\w){words}\s+{_NUMBER}") for code, words in _BEFORE_ORDINAL.items()}
_ORDINAL = re.compile(r"(?<![\w.,])(?:\d{1,4}|[IVXL]{1,7})\.\s+\Z")
_VERB_LAST = frozenset(["tr"])
"""Languages whose sentences end in their verb: a number there is an ordinal."""
_NUMBERED = re.compile(r"(?:\d|(?<![^\W\d_])[IVXL]{1,7})\.\s*\Z")
_ALONE = re.compile(rf"\W*{_NUMBER}")
_LAST_WORD = re.compile(
    r"(?P<number>(?:\d|\b[IVXL]+)\.?\s*)?(?<![\w.])(?!(?<=['’])\w\.)(?P<word>(?:[^\W\d_]{1,6}[.-])*[^\W\d_]{1,6})\.\s*\Z"
)
_STARTS_NUMBER = re.compile(r"\d|[IVXL]+\b")
_GOES_WITH_LETTER = re.compile(r"\d|[^\W\d_]\.")  # "str. 5 m. 12", "52 a. C."
_VOWELS = frozenset("aeiouyæøœıαεηιουωаеёиоуыэюяіє")
_WORDS_WITHOUT = frozenset(["chr", "hbf", "krk", "trn", "vlk", "zł"])

_EVERY = _SHARED.union(_BEFORE_NUMBER, *ABBREVIATIONS.values())


def may_go_on(before: str) -> bool:
    """Whether a sentence may go on in some language after what `before` ends with: a number or an abbreviation."""
    found = _LAST_WORD.search(before)
    if found is None:
        return _NUMBERED.search(before) is not None
    return found["word"].lower() in _EVERY or _is_short(found["word"])


def goes_on_abroad(before: str, following: str, code: str) -> bool:
    """Whether a sentence in the language `code` goes on after the full stop and the space that `before` ends with.

    `before` begins with the sentence, or with a window of it; `following` is what comes after it. A number before a
    small letter is an ordinal, before a capital one where its language tells: "Es kamen 3. Dann regnete es." ends.
    A small letter begins no sentence where capital ones are written.
    """
    tells, starts_small = _AFTER_ITS_WORD.get(code), following[:1].islower()
    if _ORDINAL.search(before) and (starts_small or following[:1].isdecimal() or code in _VERB_LAST):
        return True
    if (tells is not None and tells.search(before)) or _ALONE.fullmatch(before):
        return True
    if starts_small and not before.islower():
        return before.rstrip().endswith(".")
    found = _LAST_WORD.search(before)
    return found is not None and _leads_on(found["word"].lower(), following, code, found)


def _leads_on(word: str, following: str, code: str, found: re.Match[str]) -> bool:
    """Whether a word with a full stop is an abbreviation that leads into what follows."""
    if word in _SHARED or word in ABBREVIATIONS.get(code, ()):
        return True
    if word in _BEFORE_NUMBER and _STARTS_NUMBER.match(following):
        return True
    if len(word) == 1 and _GOES_WITH_LETTER.match(following):
        return True
    return not found["number"] and _is_short(found["word"])


def _is_short(word: str) -> bool:
    """Whether a word is an abbreviation by its shape; one in capitals is a name ("BBC")."""
    if len(word) == 1:
        return True
    letters = normalize("NFD", word.lower())
    return (
        word.isalpha()
        and len(word) <= 3
        and not word.isupper()
        and _VOWELS.isdisjoint(letters)
        and word.lower() not in _WORDS_WITHOUT
    )
