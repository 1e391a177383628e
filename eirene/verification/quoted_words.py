"""Words of quotations and passages as they are compared: lower case, figures with their signs, ends of sentences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from eirene.text.cancellation import check_cancelled
from eirene.text.words import word_spans

STOP = "."
"""Stands for the end of a sentence between two words."""
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,]\d+)+(?!\w)")
_SIGN = re.compile(
    r"[%$€£¥°]|(?<![\w)\]%])(?<!\d\s)[-−–+±](?=\d)|[<>≤≥≠](?=\s*[-−–+]?[\d$€£¥])|[<>]=(?=\s*\d)"
    r"|(?<=\w\w\w)[.!?]+(?=[\"”’»)\]]*\s)"
)
_MINUS = str.maketrans("−–", "--")
_FREQUENT = 200
"""Occurrences from which a word of the passages does not tell where a quotation may stand."""
_BETWEEN = "\n"
"""Stands between the words of two passages: no word is one."""


@dataclass(frozen=True)
class QuotedWords:
    """The words of a part of a quotation, with their offsets in it."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> QuotedWords:
        """Without the ends of sentences at both ends."""
        keys, spans = _words(text)
        while keys and keys[-1] == STOP:
            keys, spans = keys[:-1], spans[:-1]
        while keys and keys[0] == STOP:
            keys, spans = keys[1:], spans[1:]
        return cls(text, tuple(keys), tuple(spans))

    def between(self, first: int, last: int) -> str:
        """The text of the words from `first` up to, and without, `last`."""
        return self.text[self.spans[first][0] : self.spans[last - 1][1]] if first < last else ""


class PassageWords:
    """The words of all passages in one row, and where each of them stands. Made once for all quotations."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._passages = passages
        self.keys: list[str] = []
        self.spans: list[tuple[int, int]] = []
        self._begins: list[int] = []
        for text in passages:
            check_cancelled()
            self._begins.append(len(self.keys))
            keys, spans = _words(text)
            self.keys += [*keys, _BETWEEN]
            self.spans += [*spans, (len(text), len(text))]
        self.where: dict[str, list[int]] = defaultdict(list)
        for n, key in enumerate(self.keys):
            self.where[key].append(n)
        self.where = dict(self.where)
        self._starts = list(accumulate((len(key) + 1 for key in self.keys), initial=0))
        self._joined = _joined(self.keys)

    def source(self, n: int) -> int:
        """The index of the passage that has word `n`."""
        return bisect_right(self._begins, n) - 1

    def end_of(self, n: int) -> int:
        """The index behind the last word of the passage that has word `n`."""
        source = self.source(n) + 1
        return (self._begins[source] if source < len(self._begins) else len(self.keys)) - 1

    def bounds_near(self, shift: int, count: int) -> tuple[int, int]:
        """Those of the passage with most of the `count` words from `shift` on: its first word, and behind its last."""
        middle = min(max(shift + count // 2, 0), len(self.keys) - 1)
        return self._begins[self.source(middle)], self.end_of(middle)

    def telling(self, key: str) -> Sequence[int]:
        """Where a word stands; nowhere for one that stands in too many places to tell anything."""
        found = self.where.get(key, ())
        return found if len(found) <= _FREQUENT and key != STOP else ()

    def places(self, part: QuotedWords) -> Iterator[int]:
        """The places at which the words of a part stand in order, the first one of each passage."""
        at = self.next_place(part, 0, len(self.keys))
        while at is not None:
            yield at
            at = self.next_place(part, self.end_of(at) + 1, len(self.keys))

    def next_place(self, part: QuotedWords, first: int, end: int) -> int | None:
        """The first such place among the words from `first` up to `end`."""
        if first >= end:
            return None
        at = self._joined.find(_joined(part.keys), self._starts[first], self._starts[end] + 1)
        return None if at < 0 else bisect_left(self._starts, at)

    def between(self, first: int, last: int) -> str:
        """The text of the words from `first` up to, and without, `last`, which are one passage's."""
        return self._text(first, self.spans[first][0], self.spans[last - 1][1]) if first < last else ""

    def inside(self, first: int, last: int) -> str:
        """The text between the word before `first` and word `last`."""
        return self._text(first - 1, self.spans[first - 1][1], self.spans[last][0])

    def _text(self, n: int, start: int, end: int) -> str:
        return self._passages[self.source(n)][start:end]


def _words(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    numbers = [number.span() for number in _NUMBER.finditer(text)]
    inside = {at for a, b in numbers for at in range(a, b)}
    words = [span for span in word_spans(text) if span[0] not in inside]
    signs = [sign.span() for sign in _SIGN.finditer(text)]
    spans = sorted([*words, *numbers, *signs])
    stops = {span for span in signs if text[span[0]] in ".!?"}
    return [STOP if (a, b) in stops else text[a:b].translate(_MINUS).casefold() for a, b in spans], spans


def _joined(keys: Sequence[str]) -> str:
    return "".join(f" {key}" for key in keys) + " "
