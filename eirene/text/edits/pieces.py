"""Pieces: the sentences of a text without the white space and the list markers around them, which are its layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from eirene.text.matching import Span
from eirene.text.sentences import split_sentences
from eirene.text.unicode import INVISIBLE

LIST_MARKER = re.compile(r"(?>(?:(?:[-*+•‣▪–—]|\(?\d{1,3}[.)]|\(?[A-Za-z]\)|#{1,6}|>{1,9})[ \t]++)+)(?=\S)")
"""At the beginning of a line; a single letter needs a bracket, since "A. Smith" is a name. Ends where words begin."""
_UNSEEN = re.compile(rf"[{INVISIBLE}\u00ad\u200c\u200d\u2061-\u2064\U000e0000-\U000e007f]+")
_FOLDED = str.maketrans("‘’‚‛“”„‟«»–—‐‑−", '\'\'\'\'""""""-----')


@lru_cache(maxsize=8)
def piece_spans(text: str) -> tuple[Span, ...]:
    """Offsets of the sentences of a text, in order; blank ones are left out.

    A marker alone, with no words after it, is a piece: nothing visible is in none but the markers before words.
    """
    found = []
    for sentence in split_sentences(text):
        start, end = sentence.text_start, sentence.text_end
        if start == end:
            continue
        opens_line = sentence.start == 0 or text[sentence.start - 1] in "\r\n"
        marker = LIST_MARKER.match(text, start, end) if opens_line else None
        found.append((marker.end() if marker else start, end))
    return tuple(found)


def spaced(text: str) -> str:
    """The text with one space for every run of white space, and none around it."""
    return " ".join(text.split())


def folded(text: str) -> str:
    """The text in lower case with plain quotes and dashes, one space for many, and without invisible characters."""
    return spaced(_UNSEEN.sub("", text).translate(_FOLDED).casefold())


def laid_out(text: str, spans: Iterable[Span]) -> dict[Span, Span]:
    """Each span with its part of the layout: indentation and list marker before it, other white space after it.

    Together these are the whole text, if the spans hold all its sentences.
    """
    ordered = sorted(spans)
    starts = [0]
    for (_, end), (start, _) in pairwise(ordered):
        at = max(text.rfind("\n", end, start), text.rfind("\r", end, start)) + 1
        starts.append(at or start)
    return {span: (start, end) for span, start, end in zip(ordered, starts, [*starts[1:], len(text)], strict=False)}
