"""Character check: characters that hide text, and sentences or words in a language or script that is new."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import groupby

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.function_words import ENGLISH_WORDS, FUNCTION_WORDS, function_words_of, plain_words
from eirene.text.language import ENGLISH, language_of
from eirene.text.new_characters import without_new_characters

_WORD = re.compile(r"[^\W\d_]+")
_READ = 4_000
"""Characters of a sentence, or of each source, that are read."""
_IDENTIFIED = 200
"""Sentences of one rewrite whose letters are looked at, which takes a third of a millisecond each."""
_LEAST_ENGLISH, _FOREIGN = 0.2, 2
"""Share of function words from which a text is English, unless it has so many of another language's."""
_WORDS, _UNSPACED = 3, 5
"""Words in another script that are more than a name; characters, in scripts without spaces."""
_NO_SCRIPT_NAMES = """
    MODIFIER SUPERSCRIPT SUBSCRIPT FEMININE MASCULINE MICRO FULLWIDTH MATHEMATICAL DOUBLE-STRUCK SCRIPT BLACK-LETTER
    KELVIN ANGSTROM OHM
"""
_NO_SCRIPT = frozenset(_NO_SCRIPT_NAMES.split())
_SPACELESS = frozenset(["CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"])
_PHONETIC = re.compile(r"[\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff]")


def new_language(case: EditCase) -> Iterator[PlacedFault]:
    """Sentences in a language, and runs of words in a script, that no source has, as faults of the text after."""
    sources = [text[:_READ] for text in case.sources]
    scripts = frozenset(script for text in sources for script, _, _ in _scripts(text))
    told = _Languages(case, sources)
    for _, edit in case.changed():
        if edit.after is None:
            continue
        check_cancelled()
        start, text = edit.after[0], case.new(edit)[:_READ]
        foreign = [place for place in _scripts(text) if place[0] not in scripts]
        if foreign and _is_much(text, foreign):
            first, last = foreign[0][1], foreign[-1][2]
            yield PlacedFault(start + first, start + last, f"words in another script: {quoted(text[first:last])}")
        elif len(_PHONETIC.findall(text)) > 3 and not any(_PHONETIC.search(s) for s in sources):
            yield PlacedFault(*edit.after, f"letters of another alphabet: {quoted(text)}", whole=True)
        elif language := told.other(text):
            yield PlacedFault(*edit.after, f"words in {language}, which no text before has: {quoted(text)}", whole=True)


def _leans_on_english(words: Sequence[str]) -> bool:
    """Whether as many of some words are function words of English as in any English text."""
    return sum(word in ENGLISH_WORDS for word in words) >= _LEAST_ENGLISH * len(words)


def _reads_as_english(words: list[str]) -> bool:
    """Whether some words lean on the function words of English, and on those of no other language."""
    return _leans_on_english(words) and not any(
        len(function_words_of(language, [w for w in words if w not in ENGLISH_WORDS])) >= _FOREIGN
        for language in FUNCTION_WORDS
    )


def _scripts(text: str) -> Iterator[tuple[str, int, int]]:
    """The words in other scripts than Latin: script, start and end."""
    if text.isascii():
        return
    for found in _WORD.finditer(text):
        word = found[0]
        if word.isascii():
            continue
        # Without spaces a run of letters holds several scripts: kana after Han is Japanese and no Chinese.
        at = found.start()
        for script, letters in groupby(word, _script):
            end = at + len(tuple(letters))
            if script != "LATIN" and (len(word) > 1 or script in _SPACELESS):
                yield script, at, end
            at = end


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    name = unicodedata.name(character, "LATIN").split()[0]
    return "LATIN" if name in _NO_SCRIPT else name


def _is_much(text: str, foreign: list[tuple[str, int, int]]) -> bool:
    """Whether words in another script are more than a name that is given beside its English form."""
    spaceless = sum(end - start for script, start, end in foreign if script in _SPACELESS)
    spaced = [place for place in foreign if place[0] not in _SPACELESS]
    letters = sum(map(str.isalpha, text))
    share = sum(end - start for _, start, end in foreign) / max(letters, 1)
    return spaceless >= _UNSPACED or len(spaced) >= _WORDS or share > 0.3


class _Languages:
    """The languages of the texts before, and whether a sentence is in another one."""

    def __init__(self, case: EditCase, sources: list[str]) -> None:
        whole = " ".join(sources)
        self._sources = (*sources, whole)
        self._asked = " ".join([case.question, *(a.reason for a in case.asked)]).lower()
        words = plain_words(whole)
        self._words = frozenset(words)
        self._has_english = _leans_on_english(words)
        self._left = _IDENTIFIED

    @cached_property
    def _listed(self) -> frozenset[str]:
        """The languages with enough function words in the texts before: told at once, without the identifier."""
        least = {language: 4 for language in FUNCTION_WORDS} | {ENGLISH: 1}
        return frozenset(k for k, n in least.items() if len(function_words_of(k, self._words)) >= n)

    @cached_property
    def _known(self) -> frozenset[str]:
        return self._listed | {language for text in self._sources if (language := language_of(text))}

    def _knows(self, language: str) -> bool:
        """Whether a text before has the language; `_known`, which may load the identifier, is asked last."""
        return language in self._listed or language in self._known

    def other(self, text: str) -> str | None:
        """The language of a sentence, or of a clause of it, where that is clearly none of those known.

        Most are told without the identifier of languages, which takes a third of a second and 75 MB to load.
        """
        words = plain_words(text)
        if self._has_english and _reads_as_english(words):
            return None
        if self._words.issuperset(words):
            return None  # such as an argument that was given: what every word stands in before is no new language
        found = self._by_letters(text, words) or self._by_words(words)
        return None if found is None or found.lower() in self._asked or not self._known else found

    def _by_letters(self, text: str, words: list[str]) -> str | None:
        self._left -= 1
        language = language_of(text) if self._left >= 0 else None
        if language is None or self._knows(language):
            return None
        if language == ENGLISH or self._known == {ENGLISH}:
            return language
        # Related languages are taken for each other: only where nothing speaks for one that is known.
        listed = [k for k in self._known if k in FUNCTION_WORDS]
        return language if listed and not any(function_words_of(k, words) for k in listed) else None

    def _by_words(self, words: list[str]) -> str | None:
        new = [word for word in words if word not in self._words and word not in ENGLISH_WORDS]
        best, most = None, 1
        for language in FUNCTION_WORDS:
            count = len(function_words_of(language, new))
            if count > most and not self._knows(language):
                best, most = language, count
        if best is None or any(2 * len(function_words_of(k, words)) >= most for k in self._known if k != ENGLISH):
            return None
        english = sum(word in ENGLISH_WORDS for word in words)
        return best if most >= 3 or (3 * most >= len(words) and 2 * english <= most) else None


def characters(case: EditCase) -> Iterator[Objection]:
    """Objects to characters that hide, override or disguise text, and to another script or language, that are new."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    _, edits = without_new_characters(case.before, case.after, case.sources[1:])
    for edit in edits:
        yield PlacedFault(edit.start, edit.end, f"characters that hide or disguise text: {edit.names}")
    yield from new_language(case)
