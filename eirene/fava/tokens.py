"""Words and signs, by which a text is compared with what a model made of it."""

from __future__ import annotations

import re

from eirene.texts import INVISIBLE, UNSPACED

_SINGLE = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)
_TOKEN = re.compile(rf"[{_SINGLE}]|[^\W{_SINGLE}]+|[^\w\s{INVISIBLE}{_SINGLE}]")

Span = tuple[int, int]


def token_spans(text: str) -> list[Span]:
    """Where the words and signs of a text stand: runs of letters and digits, and every other visible character.

    In scripts without spaces each character is one, or a fault inside of a sentence could not be told from all of it.
    """
    return [found.span() for found in _TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """The words and signs."""
    return _TOKEN.findall(text)
