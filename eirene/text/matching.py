"""Matching two texts word by word: `difflib.SequenceMatcher` with a bound on its work.

Unbounded, it takes minutes for long texts that repeat a word.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate

from eirene.text.cancellation import check_cancelled
from eirene.text.unicode import INVISIBLE, UNSPACED_CLASS

_TOKEN = re.compile(rf"[{UNSPACED_CLASS}]|[^\W{UNSPACED_CLASS}]+|[^\w\s{INVISIBLE}{UNSPACED_CLASS}]")

Span = tuple[int, int]


def token_spans(text: str) -> list[Span]:
    """Offsets of the tokens: runs of letters and digits, and every other visible character.

    In scripts without spaces each character is one, or a fault could not be told from its whole sentence.
    """
    return [found.span() for found in _TOKEN.finditer(text)]


def tokens(text: str) -> list[str]:
    """The tokens of a text, as `token_spans` cuts them."""
    return _TOKEN.findall(text)


def between(spans: Sequence[Span], length: int) -> list[Span]:
    """What lies around spans of a text of so many characters, in order; empty ones included."""
    return list(zip([0, *(end for _, end in spans)], [*(start for start, _ in spans), length], strict=True))


_PER_WORD = 300
"""Most comparisons per word. Pairs of answers of some hundred words take up to 50, unrelated texts of 3,500 words 230.
"""
_LEAST = 50_000
"""Comparisons that any two texts may take."""


class BoundedMatcher(SequenceMatcher[str]):
    """Finds the runs that two sequences share, as `SequenceMatcher(None, a, b, autojunk=False)` does, in bounded time.

    That looks for the longest run, then left and right of it, in time cubic in a word's repetitions. Here comparisons
    are counted before each search: once the bound is reached, everything between the runs found counts as different.
    """

    def __init__(self, a: Sequence[str], b: Sequence[str]) -> None:
        super().__init__(None, a, b, autojunk=False)
        places: dict[str, list[int]] = getattr(self, "b2j")  # noqa: B009  # public, and typeshed has it not
        self._cost = list(accumulate((1 + len(places.get(word, ())) for word in a), initial=0))
        self._words = len(a)
        self._left = max(_LEAST, _PER_WORD * (len(a) + len(b)))

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """The longest run in `a[alo:ahi]` and `b[blo:bhi]`; of length 0 once the bound is reached."""
        check_cancelled()
        self._left -= self._cost[self._words if ahi is None else ahi] - self._cost[alo]
        return Match(alo, blo, 0) if self._left < 0 else super().find_longest_match(alo, ahi, blo, bhi)
