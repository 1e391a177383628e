"""Quotations checked: whether passages hold a quotation of the answer verbatim, but for some words, or not at all."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from eirene.core.verification import Evidence, QuotationCheck, QuotationWord, WordChange
from eirene.text.cancellation import check_cancelled
from eirene.text.matching import BoundedMatcher
from eirene.text.sentences import Sentence
from eirene.text.specifics.quotations import FEWEST, find_quotations, quoted_parts
from eirene.text.words import STOP_WORDS, word_spans

_SAME = 2 / 3
"""Share of a quotation's words that stand in the passage, in order, from which it counts as altered."""
_SAME_CONTENT = 1 / 2
"""The same of those that are no stop words."""
_PLACES = 3
"""Places, of those that have most of a part's words in step, that are compared with it word by word."""
_MOST = 500
"""Parts of an answer's quotations that are compared so: of more it is not told whether they are altered."""
_LONGEST = 2_000
"""Words of a part that is."""
_DENIES = re.compile(
    r"\b(?:not|no|never|nobody|none|nothing|neither|nor|cannot|hardly|barely|scarcely|den(?:y|ies|ied)|refuse[ds]?)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(r",\s*(?:which|who|whose|where|when)\b[^,.]*,", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=[\"”’»)\]]*\s)")
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


def check_quotations(
    answer: str, sentences: Sequence[Sentence], passages: Sequence[str], ids: Sequence[str | None]
) -> tuple[QuotationCheck, ...]:
    """Each quotation of an answer, in order; of one or two words those that the passages have. `ids` has an id or None
    for each passage."""
    mentions = list(find_quotations(answer, fewest=1))
    if not mentions:
        return ()
    look_up = _LookUp(PassageWords(passages))
    starts = [sentence.start for sentence in sentences]
    found = []
    for mention in mentions:
        check_cancelled()
        text = answer[mention.start : mention.end]
        verdict, match = look_up.verdict(text[1:-1])
        if verdict != "exact" and sum(len(words.split()) for (words,) in mention.asks) < FEWEST:
            continue
        found.append(
            QuotationCheck(
                n=sentences[max(0, bisect_right(starts, mention.start) - 1)].n,
                start=mention.start,
                end=mention.end,
                text=text,
                verdict=verdict,
                evidence=None if match is None else match.evidence(look_up.words, passages, ids),
                changes=() if match is None else match.changes,
            )
        )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _QuotationMatch:
    """Where a quotation stands: words `first` up to `last` of all passages, and what differs there."""

    first: int
    last: int
    changes: tuple[WordChange, ...] = ()
    is_exact: bool = False

    def evidence(self, words: PassageWords, passages: Sequence[str], ids: Sequence[str | None]) -> Evidence:
        source = words.source(self.first)
        start, end = words.spans[self.first][0], words.spans[self.last - 1][1]
        return Evidence(passage=source + 1, id=ids[source], start=start, end=end, text=passages[source][start:end])


class _LookUp:
    """Looks quotations up in the words of passages; what is compared word by word is bounded for all of them."""

    def __init__(self, words: PassageWords) -> None:
        self.words = words
        self._left = _MOST

    def verdict(self, quoted: str) -> tuple[QuotationWord, _QuotationMatch | None]:
        """The verdict on the words between quotation marks, with the place that is nearest to them."""
        parts = [words for part in quoted_parts(quoted) if (words := QuotedWords.of(part)).keys]
        match = self._in_order(parts)
        if match is not None:
            return ("exact" if match.is_exact else "altered"), match
        matches = []
        for part in parts:
            own = self._in_order([part]) or self._nearest(part)
            if own is None:
                return ("not found" if self._left >= 0 and len(part.keys) <= _LONGEST else "not checked"), None
            matches.append(own)
        if not matches:
            return "not found", None
        longest = max(matches, key=lambda match: match.last - match.first)
        changes = tuple(change for match in matches for change in match.changes)
        return "altered", _QuotationMatch(longest.first, longest.last, changes)

    def _in_order(self, parts: Sequence[QuotedWords]) -> _QuotationMatch | None:
        """The parts of a quotation, which are separated by "...", in one passage in this order."""
        if not parts or any(key not in self.words.where for part in parts for key in part.keys):
            return None
        best = None
        for first in self.words.places(parts[0]):
            end = self.words.end_of(first)
            at, gaps = first + len(parts[0].keys), []
            for part in parts[1:]:
                after = self.words.next_place(part, at, end)
                if after is None:
                    break
                gaps.append((at, after))
                at = after + len(part.keys)
            else:
                changes = (*self._sign_before(first, parts[0]), *self._turned(gaps))
                if not changes:
                    return _QuotationMatch(first, at, is_exact=True)
                best = best or _QuotationMatch(first, at, changes)
        return best

    def _sign_before(self, first: int, part: QuotedWords) -> Iterator[WordChange]:
        """A minus before a figure with which the quotation begins."""
        if part.keys[0][:1].isdigit() and first and self.words.keys[first - 1] == "-":
            yield WordChange(quoted="", passage=self.words.between(first - 1, first))

    def _turned(self, gaps: Sequence[tuple[int, int]]) -> Iterator[WordChange]:
        """What "..." leaves out that denies what is left: not in an aside, nor in a sentence left out as a whole."""
        for first, after in gaps:
            left_out = _ASIDE.sub(" ", self.words.inside(first, after))
            pieces = _SENTENCE_END.split(left_out)
            denial = _DENIES.search(pieces[-1])
            if denial is not None:
                yield WordChange(quoted="", passage=denial.group())

    def _nearest(self, part: QuotedWords) -> _QuotationMatch | None:
        """The place where most of a part's words stand in order, if that is enough of them."""
        if len(part.keys) < FEWEST or len(part.keys) > _LONGEST:
            return None
        self._left -= 1
        if self._left < 0:
            return None
        shifts = Counter(at - n for n, key in enumerate(part.keys) for at in self.words.telling(key))
        best = sorted(islice(shifts.most_common(), 50), key=lambda row: (-row[1], row[0]))[:_PLACES]
        found = [match for shift, _ in best if (match := self._aligned(part, shift)) is not None]
        return min(found, key=lambda match: _size(match.changes), default=None)

    def _aligned(self, part: QuotedWords, shift: int) -> _QuotationMatch | None:
        words, count = self.words, len(part.keys)
        slack = count // 2 + FEWEST
        begin, end = words.bounds_near(shift, count)
        low, high = max(begin, shift - slack), min(end, shift + count + slack)
        matcher = BoundedMatcher(part.keys, words.keys[low:high])
        blocks = [block for block in matcher.get_matching_blocks() if block.size]
        same = [key for block in blocks for key in part.keys[block.a : block.a + block.size]]
        content = [key for key in part.keys if _is_content(key)]
        same_content = sum(map(_is_content, same))
        if len(same) < _SAME * count or same_content < max(1.0, _SAME_CONTENT * len(content)):
            return None
        # Words at the ends that differ are set beside as many of the passage.
        first = max(begin, low + blocks[0].b - blocks[0].a)
        last = min(end, low + blocks[-1].b + count - blocks[-1].a)
        changes = tuple(_changes(part, words, [(b.a, low + b.b, b.size) for b in blocks], first, last))
        return _QuotationMatch(first, last, changes)


def _is_content(key: str) -> bool:
    return key not in STOP_WORDS and key != STOP


def _changes(
    part: QuotedWords, words: PassageWords, blocks: Sequence[tuple[int, int, int]], first: int, last: int
) -> Iterator[WordChange]:
    """What stands between the matching blocks (index in the part, in the passage, size), before and behind them."""
    own, other = 0, first
    for a, b, size in [*blocks, (len(part.keys), last, 0)]:
        if own < a or other < b:
            yield WordChange(quoted=part.between(own, a), passage=words.between(other, b))
        own, other = a + size, b + size


def _size(changes: Sequence[WordChange]) -> int:
    return sum(len(change.quoted.split()) + len(change.passage.split()) for change in changes)


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
