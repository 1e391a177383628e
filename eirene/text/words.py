"""Words as ROUGE counts them: tokens without stop words, lower-cased and Porter-stemmed, with offsets.

The definition is that of the NPOV detectors' ROUGE baseline (section 3.1): split at white space and punctuation. In
other languages letters keep their combining marks, ideographs and kana (written without spaces) count one by one, and
only plain Latin words are stemmed.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from eirene.text.remembered import remembered
from eirene.text.unicode import is_unspaced

if TYPE_CHECKING:
    from collections.abc import Callable


def table_lines(name: str) -> list[str]:
    """The lines of a table of words that ships beside the code, `tables/NAME.txt`."""
    return (files("eirene.text") / "tables" / f"{name}.txt").read_text("utf-8").splitlines()


@lru_cache(maxsize=2)
def _lists(table: str) -> dict[str, list[str]]:
    """The lines of a table by the name in brackets above them."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in table_lines(table):
        if line.startswith("["):
            lines = found.setdefault(line.strip("[]"), [])
        else:
            lines.append(line)
    return found


def listed_words(name: str) -> list[str]:
    """The words of a list of `tables/words.txt`, in order."""
    return " ".join(_lists("words")[name]).split()


def word_set(name: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(listed_words(name))


def word_sets(beginning: str) -> dict[str, frozenset[str]]:
    """All lists whose names begin so, by the rest of the name."""
    return {name.removeprefix(beginning): word_set(name) for name in _lists("words") if name.startswith(beginning)}


def listed_sentences(name: str) -> tuple[str, ...]:
    """The lines of a list of `tables/sentences.txt`."""
    return tuple(_lists("sentences")[name])


def words_in(text: str) -> frozenset[str]:
    """The words of a text, parted by white space."""
    return frozenset(text.split())


# NLTK's English stop words, as far as they match here: words are also split at apostrophes, so entries such as "don't"
# never occur, and fragments ("don", "t", "ll") do. NLTK's lists of 179 and 198 entries agree in this part.
STOP_WORDS = word_set("stop words")

_CHUNK = re.compile(r"[^\s!-/:-@\[-`{-~]+")
_JOINERS = "\u200c\u200d"  # stand inside words of Persian and of Indic scripts
_ALONE = re.compile(
    r"[\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff][\u3099\u309a]?"
)


class Word(NamedTuple):
    """One content word: its stem and the character offsets of the word itself."""

    stem: str
    start: int
    end: int


@remembered(512, longest=4_000)
def content_words(text: str) -> tuple[Word, ...]:
    """The words of `text` that are no stop words, in order."""
    found = []
    if text.isascii():  # twice as fast, since lower-casing then moves no offset
        for chunk in _CHUNK.finditer(text.lower()):
            stem_or_none = _content_stem(chunk.group())
            if stem_or_none is not None:
                found.append(Word(stem_or_none, chunk.start(), chunk.end()))
        return tuple(found)
    for start, end in word_spans(text):
        stem_or_none = _content_stem(text[start:end].lower())
        if stem_or_none is not None:
            found.append(Word(stem_or_none, start, end))
    return tuple(found)


def stems(text: str) -> tuple[str, ...]:
    """The stems of the content words of `text`, with repetition."""
    return tuple(word.stem for word in content_words(text))


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Offsets of all words, stop words included: runs free of white space, punctuation and symbols."""
    for chunk in _CHUNK.finditer(text):
        if chunk.group().isascii():
            yield chunk.span()
        else:
            yield from _split_unicode(chunk.group(), chunk.start())


def _split_unicode(chunk: str, offset: int) -> Iterator[tuple[int, int]]:
    start: int | None = None
    at = 0
    while at < len(chunk):
        alone = _ALONE.match(chunk, at)
        # Letters, digits and combining marks; not punctuation, symbols, controls and what is unassigned.
        is_inside = chunk[at] in _JOINERS or unicodedata.category(chunk[at])[0] in "LMN"
        if alone or not is_inside:
            if start is not None:
                yield offset + start, offset + at
                start = None
            if alone:
                yield offset + at, offset + alone.end()
            at = alone.end() if alone else at + 1
            continue
        if start is None and unicodedata.category(chunk[at])[0] in "LN":
            start = at
        at += 1
    if start is not None:
        yield offset + start, offset + len(chunk)


@lru_cache(maxsize=32768)
def _content_stem(word: str) -> str | None:
    """The stem of a lower-case word, None for a stop word."""
    return None if word in STOP_WORDS else stem(word)


def stem(word: str) -> str:
    """The Porter stem of a lower-case word (snowball's `porter`); with other letters than a to z only its NFC form."""
    if not word.isascii():
        return unicodedata.normalize("NFC", word)
    if not word.isalpha():
        return word
    return _stemmed(word)


@lru_cache(maxsize=32768)
def _stemmed(word: str) -> str:
    with _lock:  # the stemmer is not thread-safe
        return _stemmer()(word)


_lock = threading.Lock()


@lru_cache(maxsize=1)
def _stemmer() -> Callable[[str], str]:
    import snowballstemmer

    stem_word: Callable[[str], str] = snowballstemmer.stemmer("porter").stemWord
    return stem_word


_APOSTROPHES = dict.fromkeys(map(ord, "'’ʼ＇"))


def lower_words(text: str) -> list[str]:
    """All words of a text in lower case: maximal runs of letters, marks and digits (Unicode L, M, N), in NFC.

    Apostrophes are dropped, so that "doesn't" is one word; everything else separates. In scripts without spaces
    (Han, kana, Thai, Lao, Khmer, Burmese) each character is a word.
    """
    lowered = unicodedata.normalize("NFC", text.lower()).translate(_APOSTROPHES)
    return [word for chunk in lowered.split() for word in _words_of(chunk)]


@lru_cache(maxsize=16384)
def _words_of(chunk: str) -> tuple[str, ...]:
    return (chunk,) if chunk.isascii() and chunk.isalnum() else tuple("".join(map(_apart, chunk)).split())


def _apart(char: str) -> str:
    """A character with a space where a word ends beside it; a mark stays with the letter before it."""
    kind = unicodedata.category(char)[0]
    if kind not in "LMN":
        return " "
    if kind == "M" or not is_unspaced(char):
        return char
    return f" {char}" if char < "\u3040" else f" {char} "  # kana and Han have no marks after composition
