"""Quotations in a text, by offsets: words between quotation marks, double or single, to stand verbatim."""

from __future__ import annotations

import re
from collections.abc import Iterator

from eirene.text.unicode import UNSPACED_CLASS
from eirene.text.values.mention import Mention
from eirene.text.words import word_spans

_LINE = r"\n(?![^\S\n]*\n)"
"""A line break within a paragraph: quotations go over lines, and over no blank one."""
_QUOTED = re.compile(
    rf"“((?:[^“”\n]|{_LINE})+)”|„((?:[^“”„\n]|{_LINE})+)[“”]|«((?:[^«»\n]|{_LINE})+)»|\"((?:[^\"\n]|{_LINE})+)\""
    rf"|「([^「」\n]+)」|『([^『』\n]+)』"
    # Single marks: none is an apostrophe ("dogs'", "'90s"), which stands in or behind a word, or before figures.
    rf"|(?<!\w)‘(?=\S)((?:[^‘’\n]|’(?=\w)|{_LINE})+)’(?!\w)"
    rf"|(?<![\w'])'(?=[^\W\d])((?:[^'\n]|(?<=\w)'(?=\w)|{_LINE})+)(?:(?<![s\s])|(?<=s)(?='(?:[.,;:!?)]|\s*\Z)))'(?![\w'])"
)
_LEFT_OUT = re.compile(r"\.\.\.|…|\[[^\]]{0,80}\]")
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(f"[{UNSPACED_CLASS}]")
FEWEST = 3
"""Words that a quotation has at least; fewer are a name, or words that the writer keeps at a distance."""


def find_quotations(text: str, *, fewest: int = FEWEST) -> Iterator[Mention]:
    """The quotations of a text, in order. Each part between "..." or "[...]" is asked for by itself."""
    for match in _QUOTED.finditer(text):
        at = match.lastindex or 0
        parts = [flat(part) for part in quoted_parts(match.group(at))]
        if sum(map(_length, parts)) >= fewest:
            asks = tuple(frozenset([part]) for part in parts if part)
            yield Mention("quotation", match.start(), match.end(), asks)


def quoted_parts(quoted: str) -> list[str]:
    """The parts of a quotation between "..." and "[...]", those without a word left out."""
    return [part for part in _LEFT_OUT.split(quoted) if _WORD.search(part)]


def flat(text: str) -> str:
    """A text's words in lower case, with one space between them, for a verbatim search."""
    words = text.replace("’", "'").casefold()
    if words.isascii():
        return " ".join(_WORD.findall(words))
    return " ".join(words[start:end] for start, end in word_spans(words))


def _length(part: str) -> int:
    """Its words; of scripts without spaces two characters are one."""
    unspaced = len(_UNSPACED.findall(part))
    return sum(_UNSPACED.search(word) is None for word in part.split()) + unspaced // 2
