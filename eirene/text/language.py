"""Language detection: finds answers that the English-only parts cannot read, before they judge them.

First by script, then by letter statistics (`py3langid`, which ships its model). Code, formulas, addresses and
quotations do not count. A text that is too short to tell counts as English.
"""

from __future__ import annotations

import lzma
import re
import threading
import unicodedata
from array import array
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from io import BytesIO
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.text.words import listed_words, word_set, word_sets

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

SURE = 0.99
"""Least probability of another language than English for a text to count as in one. Of 28,000 English sentences and
texts only lists of foreign names reach it; of sentences in 27 languages all do from six words on
(docs/concepts/embedded.md)."""
LETTERS = 24
"""Least letters of a text in Latin script for its language to be told."""
_WHOLE_WORDS = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL")  # scripts of which one character may be a word
OTHER_SCRIPT = 0.5
"""Least share of letters in other scripts than Latin for a text to count as in one of them."""

_READ = 10_000
"""Characters of a text that are read."""
_FEWEST_IN_SCRIPT = 4
_NO_SCRIPT = word_set("languages no script")
"""First words in Unicode's names of letters without a script of their own, which count as Latin."""
_CODE = re.compile(
    r"""(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z) | `[^`\n]{1,500}` | \$\$?[^$\n]{1,500}\$\$?
      | (?<!\S)(?=[!-~]*[\d_/\\=<>{}@])[!-~]+(?!\S)   # addresses, paths, names of variables, numbers
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = re.compile(
    r'"[^"\n]{1,500}"|“[^”]{1,500}”|„[^“”]{1,500}[“”]|«[^»]{1,500}»|「[^」]{1,500}」|^[ \t]*>.*$', re.MULTILINE
)
_WORD = re.compile(r"[^\W\d_]+")
# Frequent in English, and rare in other languages with Latin letters.
_ENGLISH_WORDS = "the and that this with they their which would should from have because"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_ENGLISH_SHARE = 0.05

_ENGLISH_TOO = frozenset(["en", "pcm", "sco", "zxx"])  # Nigerian Pidgin and Scots are close to it, zxx is no language
_BY_SCRIPT = dict(entry.split(":") for entry in listed_words("languages by script"))
_NAMES = dict(entry.split(":") for entry in listed_words("languages by code"))

_CODES = {name: code for code, name in _NAMES.items()}
_LIKELY, _TIMES_ENGLISH = 0.2, 3.0
"""Least probability of another language that has to be chosen, and how many times that of English it must be."""
_FEWEST_WORDS = 2
"""Function words of a language above which they tell it without more."""

ENGLISH = "English"


def language_of(text: str) -> str | None:
    """The English name of the language that a text clearly is in; None where that cannot be told."""
    return _language_of(text[:_READ])


def other_language(text: str) -> str | None:
    """The language that a text clearly is in, if that is not English."""
    language = language_of(text)
    return None if language == ENGLISH else language


def unsupported_language(answer: str, given: Iterable[str] = ()) -> str | None:
    """Why an English-only part cannot check an answer against given texts; None where it can."""
    language, what = other_language(answer), "this"
    if language is None:
        language, what = other_language("\n".join(given)), "what was given"
    return None if language is None else f"not checked: {what} reads as {language}, the embedded default reads English"


@lru_cache(maxsize=512)
def _language_of(text: str) -> str | None:
    written = _CODE.sub(" ", text)
    prose = _QUOTED.sub(" ", written)
    if not any(map(str.isalpha, prose)):
        prose = written  # all of it is quoted
    script = _script_of(prose)
    if script is not None:
        return _BY_SCRIPT.get(script) or _named(prose) or f"a language in {script.capitalize()} letters"
    words = _WORD.findall(prose.lower())
    if sum(map(len, words)) < LETTERS:
        return None
    return ENGLISH if sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * len(words) else _named(prose)


def _script_of(prose: str) -> str | None:
    """The script of most letters, as Unicode names it; None for Latin. Single letters, as in formulas, do not count."""
    if prose.isascii():
        return None
    letters = (c for word in _WORD.findall(prose) for c in word if len(word) > 1 or script_of(c) in _WHOLE_WORDS)
    counts = Counter(script_of(c) for c in letters if c.isalpha())  # superscripts and phonetic marks have no script
    latin, total = counts.pop("LATIN", 0), counts.total()
    if total < _FEWEST_IN_SCRIPT or total - latin < OTHER_SCRIPT * total:
        return None
    kana = counts["HIRAGANA"] + counts["KATAKANA"]
    return "HIRAGANA" if 10 * kana >= counts["CJK"] and kana else counts.most_common(1)[0][0]


@lru_cache(maxsize=4096)
def script_of(character: str) -> str:
    """The script of a letter, as Unicode names it; `LATIN` for those that have none of their own."""
    name = unicodedata.name(character, "LATIN").split()[0].split("-")[0]
    return "LATIN" if name in _NO_SCRIPT else name


def _named(prose: str) -> str | None:
    """The likeliest language, where it is `SURE` to be English or not."""
    ranked = _identifier().rank(prose)
    other = 1.0 - sum(p for code, p in ranked if code in _ENGLISH_TOO)
    if other < SURE:
        return ENGLISH if other <= 1.0 - SURE else None
    code = next(code for code, _ in ranked if code not in _ENGLISH_TOO)
    return _NAMES.get(code, f"another language ({code})")


def likely_code(text: str) -> str:
    """The two-letter code of the language that a text is most likely in, for what has to choose one; "en" in doubt.

    Function words tell it, which cost nothing; the identifier is asked where they do not.
    """
    words = plain_words(text[:_READ])
    english = len(function_words_of(ENGLISH, words))
    found = {name: len(function_words_of(name, words)) for name in FUNCTION_WORDS}
    best = max(found, key=lambda name: found[name])
    if english > found[best] and (english > 1 or text.isascii()):  # "to" and "do" are words of others, too
        return "en"
    if found[best] > max(english, _FEWEST_WORDS):
        return _CODES[best]
    ranked = _identifier().rank(_CODE.sub(" ", text[:_READ]))
    english = sum(p for code, p in ranked if code in _ENGLISH_TOO)
    code, likelihood = next((code, p) for code, p in ranked if code not in _ENGLISH_TOO)
    is_other = likelihood >= max(_LIKELY, _TIMES_ENGLISH * english)
    return _CODES.get(_NAMES.get(code, ""), code) if is_other else "en"


def _identifier() -> LanguageIdentifier:
    with _loading:
        return _loaded()


_loading = threading.Lock()


@lru_cache(maxsize=1)
def _loaded() -> LanguageIdentifier:
    """Loaded at first use: that takes half a second, and most English texts are recognised without it.

    The package's own loader unpacks 65 MB into the temporary folder, which a container may lack; here in memory.
    """
    from py3langid.langid import MODEL_DIR, MODEL_FILE, LanguageIdentifier

    with lzma.open(MODEL_DIR / MODEL_FILE) as packed:
        unpacked = BytesIO(packed.read())
    with np.load(unpacked, allow_pickle=False) as model:
        return LanguageIdentifier(
            model["ptc"],
            model["pc"],
            model["classes"].tolist(),
            _plain(model["nextmove"]),
            model["out_feat"].tolist(),
            tk_row=_plain(model["nextmove_row"]),
            norm_probs=True,
        )


def _plain(values: NDArray[Any]) -> array[int]:
    """The same integers as an array whose items Python reads fast."""
    return array(values.dtype.char, values.tobytes())


FUNCTION_WORDS = MappingProxyType(word_sets("function words of "))
"""The function words of other languages, by their English names: they tell the language of a clause that is too short
for its letters. Articles, pronouns, prepositions and auxiliaries, without those that are English as well."""

# No French, German or Spanish word: enough to tell English from those.
ENGLISH_WORDS = word_set("function words not of other languages")
"""Frequent English words that the other languages have not."""

_PLAIN_WORD = re.compile(r"[^\W\d_]+(?:['’](?=[^\W\d_]))?")


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, split at apostrophes (so that "l'eau" is "l" and "eau")."""
    return [word.rstrip("'’") for word in _PLAIN_WORD.findall(text.lower())]


def function_words_of(language: str, words: Iterable[str]) -> set[str]:
    """The distinct function words of a language among `words`; none for a language that has no list."""
    known = ENGLISH_WORDS if language == "English" else FUNCTION_WORDS.get(language, frozenset())
    return set(known.intersection(words))
