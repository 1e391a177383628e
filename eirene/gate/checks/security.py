"""Security check: characters that hide text, another language or script, and new links, addresses, HTML and templates.

Such can lead people or models astray, whatever is said. What a source has may stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import groupby

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.language import (
    ENGLISH,
    ENGLISH_WORDS,
    FUNCTION_WORDS,
    function_words_of,
    language_of,
    plain_words,
    script_of,
)
from eirene.text.new_characters import without_new_characters
from eirene.text.unicode import UNSPACED_CLASS

_READ = 4_000
"""Characters of a sentence, or of each source, whose language is read."""
_IDENTIFIED = 200
"""Sentences of one rewrite whose letters are looked at, which takes a third of a millisecond each."""
_LEAST_ENGLISH, _KNOWN, _FOREIGN = 0.2, 4, 3
"""Share of function words from which a text is English; distinct ones of a language that make it known in the sources,
and new in a sentence."""
_WORDS, _UNSPACED, _SHARE = 3, 5, 0.3
"""Words in another script that are more than a name; characters, in scripts without spaces; share of the letters."""
_WORD = re.compile(r"[^\W\d_]+")
_SPACELESS = frozenset(["CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"])

# Endings of names of hosts; "some.word" with another one is a host where a path follows.
_ENDINGS = (
    "com|org|net|edu|gov|mil|info|biz|app|dev|xyz|online|site|shop|store|club|top|blog|cloud|tech|live|link|page|website"
    "|email|agency|click|int|museum|wiki|example|co|io|ai|uk|de|fr|eu|us|ru|cn"
)
_LABEL = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST = rf"(?:{_LABEL}\.){{1,6}}(?:{_ENDINGS})\b"
_MARKUP = tuple(
    (name, re.compile(pattern, re.IGNORECASE | re.MULTILINE))
    for name, pattern in (
        ("a link", r"(?<![a-z0-9_])(?:[a-z][a-z0-9+.-]{1,20}:/?/|(?:javascript|mailto|tel|data):)[^\s<>\"'”)\]]+"),
        ("a link", rf"(?<![\w.@/-])(?:www\.[^\s<>\"]+|{_HOST}(?:[/:?#][^\s<>\"]*)?)"),
        ("a link", r"(?<![\w.@/-])(?:[a-z0-9-]{1,63}\.){1,6}[a-z]{1,24}/[\w~?#%-][^\s<>\"]*"),
        ("an e-mail address", r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,6}[^\W\d_]{2,24}\b"),
        ("a disguised address", rf"\[\.\]|[\[({{]\s?(?:dot|at)\s?[\])}}]|\b\w{{2,63}} dot (?:{_ENDINGS})\b"),
        ("an image", r"!\[[^\]\n]{0,300}\]\([^)\n]{0,2000}\)?"),
        ("a Markdown link", r"\[(?![\d, ]{1,9}\])[^\]\n]{1,300}\]\([^)\n]{1,2000}\)"),
        ("a Markdown link", r"^[ \t]*\[[^\]\n]{1,100}\]:[ \t]*\S+"),
        ("a table", r"^[ \t]*\|.*\|[ \t]*$"),
        ("a code fence", r"^[ \t]*(?:`{3}|~{3})"),
        ("an HTML comment", r"<!--|-->"),
        ("an HTML element", r"</?[a-z!?][\w:.-]{0,40}(?:\s[^<>]{0,2000}=[^<>]{0,2000})?\s?/?>"),
        ("an HTML element", r"<(?:script|iframe|img|svg|form|style|link|meta)\b[^<>]{0,2000}"),
        ("a mark of a chat template", r"<[|｜][^|｜<>\n]{1,60}[|｜]>|\[/?(?:INST|SYS)\]|<</?SYS>>"),
        ("a placeholder", r"\{\{[^{}\n]{0,300}\}\}|\{%[^%\n]{0,300}%\}|<%[^%\n]{0,300}%>|\$\{[^{}\n]{0,300}\}"),
        ("a placeholder", r"\[\[[^\[\]\n]{1,200}\]\]|\[(?-i:[A-Z][A-Z _-]{2,60})\]"),
        ("a placeholder", r"<(?![^<>]* (?:and|or|but) )[a-z]{1,30}(?:[ _-][a-z]{1,30}){1,3}>"),
    )
)  # fmt: skip
_FREE = ("a table", "a code fence")
"""Kinds of which more may come where the text before has one."""
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*:/*)?(?:www\.)?", re.IGNORECASE)
_TARGET = re.compile(r"\]\(\s*<?([^\s)>]+)")
_OTHER_SCRIPT = re.compile(rf"[\u3000-\u3020\uff01-\uff1f{UNSPACED_CLASS}]+")


def security(case: EditCase) -> Iterator[Objection]:
    """Objects to what is new of all these."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    _, edits = without_new_characters(case.before, case.after, case.sources[1:])
    for edit in edits:
        yield PlacedFault(edit.start, edit.end, f"characters that hide or disguise text: {edit.names}")
    yield from _markup(case)
    yield from _languages(case)


def _markup(case: EditCase) -> Iterator[PlacedFault]:
    spans = [edit.after for _, edit in case.changed() if edit.after]
    if not spans:
        return
    first, last = spans[0][0], max(end for _, end in spans)
    for name, pattern in _MARKUP:
        check_cancelled()
        found = [m for m in pattern.finditer(case.after) if first < m.end() and m.start() < last]
        if name in _FREE and pattern.search(case.before):
            continue
        known = _targets(case.sources) if found else frozenset()
        for m in found:
            if _target(m[0]) not in known:
                yield PlacedFault(m.start(), m.end(), f"{name} that no text before has: {quoted(m[0])}")


@lru_cache(maxsize=64)
def _targets(sources: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_target(m[0]) for _, pattern in _MARKUP for text in sources for m in pattern.finditer(text))


def _target(found: str) -> str:
    """The same for two forms of one address; for a Markdown link its target."""
    target = _TARGET.search(found)
    parts = [part for part in _OTHER_SCRIPT.split((target[1] if target else found).strip("<>")) if part]
    return _SCHEME.sub("", parts[0] if parts else found).rstrip("/.,;:!?)").lower()


def _languages(case: EditCase) -> Iterator[PlacedFault]:
    """Sentences in a language, and runs of words in a script, that no source has."""
    known = _KnownLanguages(tuple(text[:_READ] for text in case.sources))
    for _, edit in case.changed():
        if edit.after is None:
            continue
        check_cancelled()
        start, text = edit.after[0], case.new(edit)[:_READ]
        foreign = [place for place in _scripts(text) if place[0] not in known.scripts]
        if foreign and _is_much(text, foreign):
            first, last = foreign[0][1], foreign[-1][2]
            yield PlacedFault(start + first, start + last, f"words in another script: {quoted(text[first:last])}")
        elif (language := known.other(text)) and language.lower() not in case.question.lower():
            yield PlacedFault(*edit.after, f"words in {language}, which no text before has: {quoted(text)}", whole=True)


def _scripts(text: str) -> Iterator[tuple[str, int, int]]:
    """The words in other scripts than Latin: script, start and end."""
    for found in () if text.isascii() else _WORD.finditer(text):
        # Without spaces a run of letters holds several scripts: kana after Han is Japanese and no Chinese.
        at = found.start()
        for script, letters in groupby(found[0], script_of):
            end = at + len(tuple(letters))
            if script != "LATIN" and (len(found[0]) > 1 or script in _SPACELESS):
                yield script, at, end
            at = end


def _is_much(text: str, foreign: list[tuple[str, int, int]]) -> bool:
    """Whether words in another script are more than a name that is given beside its English form."""
    spaceless = sum(end - start for script, start, end in foreign if script in _SPACELESS)
    spaced = sum(script not in _SPACELESS for script, _, _ in foreign)
    share = sum(end - start for _, start, end in foreign) / max(sum(map(str.isalpha, text)), 1)
    return spaceless >= _UNSPACED or spaced >= _WORDS or share > _SHARE


class _KnownLanguages:
    """The languages and scripts of the sources, and whether a sentence is in another language."""

    def __init__(self, sources: tuple[str, ...]) -> None:
        self._sources = sources
        self._words = frozenset(plain_words(" ".join(sources)))
        self._left = _IDENTIFIED

    @cached_property
    def scripts(self) -> frozenset[str]:
        """The scripts that the sources have words in."""
        return frozenset(script for text in self._sources for script, _, _ in _scripts(text))

    @cached_property
    def _listed(self) -> frozenset[str]:
        """The languages with enough function words in the sources: told at once, without the identifier."""
        return frozenset(k for k in (*FUNCTION_WORDS, ENGLISH) if len(function_words_of(k, self._words)) >= _KNOWN)

    @cached_property
    def _read(self) -> frozenset[str]:
        return frozenset(found for text in self._sources if (found := language_of(text)))

    def other(self, text: str) -> str | None:
        """The language of a sentence, or of a clause of it, where that is clearly none of those known."""
        words = [word for word in plain_words(text) if word not in self._words]
        if not words:
            return None  # such as an argument that was given: what every word stands in before is no new language
        new = {language: len(function_words_of(language, words)) for language in FUNCTION_WORDS}
        best = max(new, key=lambda language: new[language])
        english = sum(word in ENGLISH_WORDS for word in plain_words(text))
        if english >= _LEAST_ENGLISH * len(words) and new[best] < _FOREIGN and ENGLISH in self._listed:
            return None
        self._left -= 1
        found = language_of(text) if self._left >= 0 else None
        if found is None and (new[best] >= _FOREIGN or (3 * new[best] >= len(words) and new[best] > 2 * english)):
            found = best
        if found is None or not new.get(found, 1) or found in self._listed or found in self._read:
            return None
        known = self._listed | self._read
        # Related languages are taken for each other: only where nothing speaks for one that is known.
        is_related = any(function_words_of(k, plain_words(text)) for k in known if k != ENGLISH)
        return found if known and not is_related else None
