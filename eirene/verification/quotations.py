"""Quotations checked: whether passages hold a quotation of the answer verbatim, but for some words, or not at all."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from itertools import accumulate

from eirene.core.verification import Evidence, QuotationCheck, WordChange
from eirene.text.cancellation import check_cancelled
from eirene.text.sentences import Sentence
from eirene.text.specifics.quotations import find_quotations, quoted_parts
from eirene.text.words import STOP_WORDS, word_spans

_SAME = 2 / 3
"""Share of a quotation's words that stand in the passage, in order, from which it counts as altered."""
_SAME_CONTENT = 1 / 2
"""The same of those that are no stop words."""
_FEWEST = 3
"""Words of a part that is looked for with other words among them."""
_FREQUENT = 200
"""Occurrences from which a word of a passage does not tell where a quotation may stand."""
_NUMBER = re.compile(r"(?<!\w)\d+(?:[.,]\d+)+(?!\w)")
_SYMBOL = re.compile("[%$€£¥°]")


def check_quotations(
    answer: str, sentences: Sequence[Sentence], passages: Sequence[str], ids: Sequence[str | None]
) -> tuple[QuotationCheck, ...]:
    """Each quotation of an answer, in order. `ids` has an id or None for each passage."""
    mentions = list(find_quotations(answer))
    if not mentions:
        return ()
    sources = [_IndexedWords.of(text) for text in passages]
    starts = [sentence.start for sentence in sentences]
    found = []
    for mention in mentions:
        check_cancelled()
        text = answer[mention.start : mention.end]
        parts = [words for part in quoted_parts(text[1:-1]) if (words := _IndexedWords.of(part)).keys]
        match = _find(parts, sources) if parts else None
        found.append(
            QuotationCheck(
                n=sentences[max(0, bisect_right(starts, mention.start) - 1)].n,
                start=mention.start,
                end=mention.end,
                text=text,
                verdict="not found" if match is None else "exact" if match.is_exact else "altered",
                evidence=None if match is None else match.evidence(passages, ids),
                changes=() if match is None else match.changes,
            )
        )
    return tuple(found)


@dataclass(frozen=True)
class _IndexedWords:
    """The words of a text, in lower case, with their offsets."""

    text: str
    keys: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, text: str) -> _IndexedWords:
        numbers = [number.span() for number in _NUMBER.finditer(text)]
        inside = {at for a, b in numbers for at in range(a, b)}
        words = (span for span in word_spans(text) if span[0] not in inside)
        spans = sorted([*words, *numbers, *(sign.span() for sign in _SYMBOL.finditer(text))])
        return cls(text, tuple(text[a:b].casefold() for a, b in spans), tuple(spans))

    @cached_property
    def joined(self) -> str:
        """All words with a space around each."""
        return "".join(f" {key}" for key in self.keys) + " "

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(key) + 1 for key in self.keys), initial=0))

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """The indices of each word."""
        found: dict[str, list[int]] = defaultdict(list)
        for n, key in enumerate(self.keys):
            found[key].append(n)
        return found

    def find(self, part: _IndexedWords, after: int = 0) -> int | None:
        """The index from `after` on at which the words of a part stand in order; None where they do not."""
        at = self.joined.find(part.joined, self._starts[after])
        return None if at < 0 else bisect_left(self._starts, at)

    def between(self, first: int, last: int) -> str:
        """The text of the words from `first` up to, and without, `last`."""
        return self.text[self.spans[first][0] : self.spans[last - 1][1]] if first < last else ""


@dataclass(frozen=True, slots=True)
class _QuotationMatch:
    """Where a quotation stands: words `first` to `last` (not included) of passage `source` (from 0)."""

    source: int
    words: _IndexedWords
    first: int
    last: int
    changes: tuple[WordChange, ...] = ()
    is_exact: bool = False

    def evidence(self, passages: Sequence[str], ids: Sequence[str | None]) -> Evidence:
        start, end = self.words.spans[self.first][0], self.words.spans[self.last - 1][1]
        text = passages[self.source][start:end]
        return Evidence(passage=self.source + 1, id=ids[self.source], start=start, end=end, text=text)


def _find(parts: Sequence[_IndexedWords], sources: Sequence[_IndexedWords]) -> _QuotationMatch | None:
    """The parts of a quotation, which are separated by "...", as one match."""
    whole = next((match for n, words in enumerate(sources) if (match := _in_order(parts, n, words))), None)
    if whole is not None:
        return whole
    matches = []
    for part in parts:
        exact = next((match for n, words in enumerate(sources) if (match := _in_order([part], n, words))), None)
        match = _nearest(part, sources) if exact is None else exact
        if match is None:
            return None
        matches.append(match)
    longest = max(matches, key=lambda match: match.last - match.first)
    changes = tuple(change for match in matches for change in match.changes)
    return _QuotationMatch(longest.source, longest.words, longest.first, longest.last, changes)


def _in_order(parts: Sequence[_IndexedWords], source: int, words: _IndexedWords) -> _QuotationMatch | None:
    first, at = None, 0
    for part in parts:
        found = words.find(part, at)
        if found is None:
            return None
        first, at = found if first is None else first, found + len(part.keys)
    return None if first is None else _QuotationMatch(source, words, first, at, is_exact=True)


def _nearest(part: _IndexedWords, sources: Sequence[_IndexedWords]) -> _QuotationMatch | None:
    """The place where most of a part's words stand in order, if that is enough of them."""
    if len(part.keys) < _FEWEST:
        return None
    found = [
        match
        for n, words in enumerate(sources)
        if (shift := _shift(part, words)) is not None and (match := _aligned(part, n, words, shift)) is not None
    ]
    return min(found, key=lambda match: _size(match.changes), default=None)


def _shift(part: _IndexedWords, words: _IndexedWords) -> int | None:
    """How far a part's words stand behind those of a passage, as most of its rarer words have it."""
    votes = Counter(
        at - n
        for n, key in enumerate(part.keys)
        if len(places := words.where.get(key, ())) <= _FREQUENT
        for at in places
    )
    return min(votes, key=lambda shift: (-votes[shift], shift)) if votes else None


def _aligned(part: _IndexedWords, source: int, words: _IndexedWords, shift: int) -> _QuotationMatch | None:
    count = len(part.keys)
    slack = count // 2 + _FEWEST
    low, high = max(0, shift - slack), min(len(words.keys), shift + count + slack)
    matcher = SequenceMatcher(None, part.keys, words.keys[low:high], autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    same = [key for block in blocks for key in part.keys[block.a : block.a + block.size]]
    content = [key for key in part.keys if key not in STOP_WORDS]
    same_content = sum(key not in STOP_WORDS for key in same)
    if len(same) < _SAME * count or same_content < max(1.0, _SAME_CONTENT * len(content)):
        return None
    # Words at the ends that differ are set beside as many of the passage.
    first = max(0, low + blocks[0].b - blocks[0].a)
    last = min(len(words.keys), low + blocks[-1].b + count - blocks[-1].a)
    changes = tuple(_changes(part, words, [(b.a, low + b.b, b.size) for b in blocks], first, last))
    return _QuotationMatch(source, words, first, last, changes)


def _changes(
    part: _IndexedWords, words: _IndexedWords, blocks: Sequence[tuple[int, int, int]], first: int, last: int
) -> Iterator[WordChange]:
    """What stands between the matching blocks (index in the part, in the passage, size), before and behind them."""
    own, other = 0, first
    for a, b, size in [*blocks, (len(part.keys), last, 0)]:
        if own < a or other < b:
            yield WordChange(quoted=part.between(own, a), passage=words.between(other, b))
        own, other = a + size, b + size


def _size(changes: Sequence[WordChange]) -> int:
    return sum(len(change.quoted.split()) + len(change.passage.split()) for change in changes)
