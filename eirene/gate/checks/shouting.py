"""Shouting check: capitals, exclamation marks, stretched and spaced-out words, emoji that the text before has not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import PlacedFault, objections_at, quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.edits import SentenceEdit
from eirene.text.english import AUXILIARIES, looks_like_base
from eirene.text.words import STOP_WORDS

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LONGEST_ACRONYM = 6
_SEVERAL, _LOUD = 3, 0.3
"""New words in capitals in a sentence that are no acronyms any more, where they are this share of it."""
_ROMAN = re.compile(r"[IVXLCDM]+s?")
_MARKS = re.compile(r"[!?！？‼⁉]{2,}|[!！¡‼]")
_RUNS = re.compile(r"([^\w\s|=#~*`-])\1{3,}")
_STRETCHED = re.compile(r"[^\W\d_]{0,30}([^\W\d_])\1\1[^\W\d_]{0,30}", re.IGNORECASE)
_SPACED = re.compile(
    r"(?<![\w'’.-])[^\W\d_]([ \t.·•_*|/\\-]{1,3})(?:[^\W\d_]\1){2,}[^\W\d_](?![\w'’])|(?:^[ \t]*\w[ \t]*\n){4,}", re.M
)
_MASKED = re.compile(r"(?<![\w@/.])(?=[^\W\d_]*[*@#$!€][^\W\d_])[^\W\d_][\w*@#$!€]{2,30}")
_DIGITS = re.compile(
    r"(?<![\w-])(?=\w{0,30}[^\W\d_][0134578]+[^\W\d_])[^\W_]{4,30}(?![\w-])|(?<!\w)[0134578][^\W\d_]{3,30}"
)
_AS_LETTERS = str.maketrans("0134578@$!€", "oieastbasie")
_PICTURES = re.compile("[\u203c\u2049\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff]")
_ALTERNATING = re.compile(r"(?:[a-zß-ÿ][A-ZÀ-Þ]){3,}|(?:[A-ZÀ-Þ][a-zß-ÿ]){3,}[A-ZÀ-Þ]?")
_OPENING = re.compile(r"[\W_]*([^\W\d_])(?![^\W\d_]*[A-ZÀ-Þ]|\.)")  # no "iPhone", no "e.g."
_ITEM = re.compile(r"(?:^|\n)[ \t]*(?:[-*•+–]|\d{1,3}[.)])[ \t]")
"""The mark of a list's item."""
_NAME = re.compile(r"(?<=[a-zß-ÿ,] )[A-ZÀ-Þ][^\W_]+")
_TITLE_WORDS = 5
"""Fewest longer words of a sentence that all begin with capitals for it to count as set like a title."""


def shouting(case: EditCase) -> Iterator[Objection]:
    """Objects to new capitals, to exclamation marks, and to words that are stretched, spaced out or masked."""
    if any(edit.after for _, edit in case.changed()):
        yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    known = _SeenWords(case)
    yield from _marks(case, known)
    for _, edit in case.changed():
        if edit.after is None:
            continue
        check_cancelled()
        text = case.new(edit)
        yield from _capitals(edit, text, known)
        yield from _other_case(case, edit, text, known)
        yield from _lowered_names(edit.after[0], case.old(edit), text, known)


class _SeenWords:
    """What the sources have: words as they are written, words in lower case, and their signs."""

    def __init__(self, case: EditCase) -> None:
        self._sources = case.sources
        self._sentences = [case.old(edit) for edit in case.edits if edit.before]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset().union(*(_WORD.findall(text) for text in self._sources))

    @cached_property
    def lower(self) -> frozenset[str]:
        """The words that the sources have in lower case, or with one capital."""
        return frozenset(word.lower() for word in self.words if not word.isupper())

    @cached_property
    def any_case(self) -> frozenset[str]:
        return frozenset(word.lower() for word in self.words)

    @cached_property
    def begin_with_capitals(self) -> bool:
        """Whether every sentence of the text before, two at least, begins with a capital."""
        openings = [m[1] for text in self._sentences if (m := _OPENING.match(text))]
        return len(openings) > 1 and all(c.isupper() for c in openings)

    def lacks(self, text: str) -> bool:
        """Whether no source has two of the words, or more, as they are written."""
        return sum(word not in self.words for word in _WORD.findall(text)) > 1

    @cached_property
    def has_titles(self) -> bool:
        """Whether a sentence of the text before is set like a title."""
        return any(map(_is_title, self._sentences))

    def any_of(self, pattern: re.Pattern[str]) -> frozenset[str]:
        """What a pattern finds in the sources."""
        return frozenset(m[0] for text in self._sources for m in pattern.finditer(text))


_SIGNS = (
    (_MARKS, "exclamation marks"),
    (_RUNS, "repeated signs"),
    (_SPACED, "a spaced-out word"),
    (_STRETCHED, "a stretched word"),
    (_MASKED, "a masked word"),
    (_DIGITS, "digits for letters"),
    (_ALTERNATING, "capitals inside words"),
    (_PICTURES, "emoji"),
)


def _marks(case: EditCase, known: _SeenWords) -> Iterator[PlacedFault]:
    for pattern, what in _SIGNS:
        found = list(pattern.finditer(case.after))
        if not found:
            continue
        had = known.any_of(pattern)
        if had and pattern in (_PICTURES, _ALTERNATING):
            continue
        for m in found:
            if m[0] not in had and _is_sign(pattern, m, case.after, known):
                yield PlacedFault(m.start(), m.end(), f"{what} that no text before has: {quoted(m[0])}")


def _is_sign(pattern: re.Pattern[str], m: re.Match[str], text: str, known: _SeenWords) -> bool:
    """Whether it is what it looks like, and no acronym, number or name."""
    found = m[0]
    if pattern is _STRETCHED:
        return not found.isupper() and found.lower() not in ("www", "iii", "xxx", "viii", "xiii", "xviii")
    if pattern is _SPACED:
        return not (found.isupper() and "." in found and " " not in found)
    if pattern is _MASKED:
        return found.lower() not in known.any_case and not found.endswith("!")
    if pattern is _DIGITS:
        return found.lower().translate(_AS_LETTERS) in known.any_case
    if pattern is _ALTERNATING:
        start = next((w for w in _WORD.finditer(text, max(0, m.start() - 40)) if w.end() >= m.end()), None)
        return start is None or (len(start[0]) > 4 and start[0] not in known.words)
    return True


def _capitals(edit: SentenceEdit, text: str, known: _SeenWords) -> Iterator[PlacedFault]:
    """Words in capitals that no source has so: runs of them, and single ones that are no acronyms."""
    assert edit.after is not None
    if text == text.lower():
        return
    new = [w for w in _WORD.finditer(text) if len(w[0]) > 1 and w[0].isupper() and w[0].isalpha()]
    new = [w for w in new if w[0] not in known.words and not _ROMAN.fullmatch(w[0])]
    loud = [w for w in new if not _may_be_an_acronym(w, text, known)]
    several = len(new) >= _SEVERAL and len(new) > _LOUD * len(_WORD.findall(text))
    beside = len(new) > 1 and text[new[0].end() : new[1].start()] == " "
    if several or (beside and (loud or min(len(w[0]) for w in new) > 3)):  # "US NASA", and no "EVIL LIES"
        loud = new
    for word in loud:
        start = edit.after[0]
        yield PlacedFault(
            start + word.start(), start + word.end(), f"capitals that no text before has: {quoted(word[0])}"
        )


def _may_be_an_acronym(word: re.Match[str], text: str, known: _SeenWords) -> bool:
    lower = word[0].lower()
    if _in_brackets(word, text) and len(lower) <= 2 * _LONGEST_ACRONYM:
        return True
    if len(lower) > _LONGEST_ACRONYM or lower in known.lower:
        return False
    return not (lower in STOP_WORDS or lower in AUXILIARIES or looks_like_base(lower) or lower.endswith("ing")) or (
        lower in ("us", "it", "who", "am", "pm", "id", "tv", "ok", "aids", "act", "ma", "o", "y")
    )


def _in_brackets(word: re.Match[str], text: str) -> bool:
    return text[word.start() - 1 : word.start()] in ("(", "[") and text[word.end() : word.end() + 1] in (")", "]", "s")


def _other_case(case: EditCase, edit: SentenceEdit, text: str, known: _SeenWords) -> Iterator[PlacedFault]:
    """A sentence that has no capital where it begins, or one on every word, where it, or all others, had none such."""
    assert edit.after is not None
    start, old = edit.after[0], case.old(edit)
    new, was = _OPENING.match(text), _OPENING.match(old)
    is_item = _ITEM.search(case.after, max(0, start - 8), start + 2) is not None
    if new and new[1].islower() and not is_item and (was[1].isupper() if was else known.begin_with_capitals):
        span = start + new.start(1), start + new.end(1)
        yield PlacedFault(*span, f"no capital where the sentence begins: {quoted(text)}", whole=was is None)
    if _is_title(text) and not (_is_title(old) if old else known.has_titles) and known.lacks(text):
        yield PlacedFault(start, start + len(text), f"capitals on every word: {quoted(text)}", whole=True)


def _lowered_names(start: int, old: str, text: str, known: _SeenWords) -> Iterator[PlacedFault]:
    """Words that the sentence had with a capital in its midst, and no text before without one."""
    names = frozenset(m[0].lower() for m in _NAME.finditer(old))
    if not names or _is_title(old):
        return
    for w in _WORD.finditer(text):
        if w[0] in names and w[0] not in known.words:
            yield PlacedFault(start + w.start(), start + w.end(), f"a name without its capital: {quoted(w[0])}")


def _is_title(text: str) -> bool:
    """Whether every word begins with a capital, small words in the middle too, or all of many longer ones do."""
    words = _WORD.findall(text)
    if any(not w[0].isupper() for w in words if w[0].isalpha() and len(w) > 3):
        return False
    capitals = [w for w in words if w[0].isupper() and (len(w) == 1 or not w.isupper())]
    small = sum(w.lower() in STOP_WORDS and w != "I" for w in capitals[1:])
    return len([w for w in capitals if len(w) > 3]) >= _TITLE_WORDS or (small > 0 and len(capitals) == len(words) > 3)
