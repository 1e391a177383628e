"""Number words of a text: "one hundred and twenty-three", "a quarter of a million", "two thirds", "third", "twice"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import zip_longest

from eirene.text.words import listed_words

_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL = {word: n for n, word in enumerate(listed_words("number words units"))} | {
    word: 10 * n for n, word in enumerate(_TENS.split(), start=2)
}
"""Cardinal words below a hundred, by value."""
SCALES = {
    "hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12,
    "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
"""Words that multiply what stands before them."""
ORDINALS = {word: n for n, word in enumerate(listed_words("number words ordinals"), start=1)} | {
    "thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "seventieth": 70, "eightieth": 80,
    "ninetieth": 90, "hundredth": 100, "thousandth": 1000, "millionth": 10**6,
}  # fmt: skip
"""Ordinal words, by value."""
_PARTS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4, "thirds": 3, "third": 3} | {
    word + ending: n for word, n in ORDINALS.items() if 5 <= n <= 10 for ending in ("", "s")
}  # fmt: skip
_TIMES = {"twice": 2, "thrice": 3}
_VAGUE = {f"{word}s": value for word, value in SCALES.items()}
_ALL = sorted({*SMALL, *SCALES, *ORDINALS, *_PARTS, *_TIMES, *_VAGUE}, key=len, reverse=True)
_WORD = re.compile(r"(?<![\w])(?:" + "|".join(_ALL) + r")(?!\w)", re.IGNORECASE)
_GAP = re.compile(r"(?:\s{1,3}|-|\s?-\s?)(?:(?:and|of)\s(?:a\s)?|a\s)?", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<!\w)an?\s{1,3}$", re.IGNORECASE)
_OF = re.compile(r"[\s-]{1,3}(?:of|an?|the|as|less|more)\b", re.IGNORECASE)
_BY = re.compile(r"(?<!\w)by\san?\s{1,3}$", re.IGNORECASE)
_ONE_OF_TWO = re.compile(r"(?:first|second|other|latter)\s$", re.IGNORECASE)
_PLAIN = frozenset(["zero", "one", "two", "first", "second"])


@dataclass(frozen=True, slots=True)
class WordNumber:
    """A number in words, by offsets. `is_vague`: "thousands"; `is_plain`: a word that is mostly no number ("one")."""

    start: int
    end: int
    value: Fraction
    is_ordinal: bool = False
    is_vague: bool = False
    is_plain: bool = False


def word_numbers(text: str) -> Iterator[WordNumber]:
    """The numbers of a text that are written in words, in order."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(text):
        if run and not _extends(text, run[-1], match):
            yield from _read(text, run)
            run = []
        run.append(match)
    if run:
        yield from _read(text, run)


def _extends(text: str, before: re.Match[str], match: re.Match[str]) -> bool:
    """Whether a word goes on with the number before it: "twenty five" and "two hundred", not "two three"."""
    last, word = before.group().lower(), match.group().lower()
    if match.start() - before.end() > 8 or not _GAP.fullmatch(text, before.end(), match.start()):
        return False
    if "of" in text[before.end() : match.start()].lower():
        return word in SCALES and last in _PARTS
    if word in SCALES:
        return last in SMALL or last in SCALES or last == "half"
    if last in SCALES:
        return word in SMALL or word in ORDINALS or word == "half"
    if last not in SMALL:
        return False
    tens, below = SMALL[last] >= 20, SMALL.get(word, ORDINALS.get(word, 10))
    is_part = word in _PARTS and word not in ORDINALS
    return is_part or (tens and 0 < below < 10) or (10 <= SMALL[last] <= 20 and SMALL.get(word, 0) >= 20)


def _read(text: str, run: Sequence[re.Match[str]]) -> Iterator[WordNumber]:
    """The number that a run of words is, if it is one."""
    start, end = run[0].start(), run[-1].end()
    article = _ARTICLE.search(text, max(0, start - 5), start)
    words = [match.group().lower() for match in run]
    first, last, is_alone = words[0], words[-1], len(run) == 1
    if is_alone and first in _VAGUE:
        yield WordNumber(start, end, Fraction(_VAGUE[first]), is_vague=True)
        return
    if first in SCALES:
        if not article:
            return  # the end of "1.5 million"
        start = article.start()
    is_by = is_alone and _BY.search(text, max(0, start - 8), start)
    if first == "half" and _ONE_OF_TWO.search(text, max(0, start - 8), start):
        return
    if last in _PARTS and (not is_alone or first not in ORDINALS or (article and _OF.match(text, end)) or is_by):
        is_more = not is_alone and "and" in text[run[-2].end() : run[-1].start()].lower()
        if last not in ("quarter", "quarters") or not is_alone or article:
            yield WordNumber(start, end, _with_part(words, is_more=is_more))
        return
    is_ordinal, is_plain = last in ORDINALS, is_alone and first in _PLAIN
    yield WordNumber(start, end, _value(words), is_ordinal, is_plain=is_plain)


def _with_part(words: Sequence[str], *, is_more: bool) -> Fraction:
    """ "two thirds", "half"; `is_more`: "one and a half", "two and a quarter"."""
    part = _PARTS[words[-1]]
    if len(words) == 1:
        return Fraction(1, part)
    count = _value(words[:-1])
    return count + Fraction(1, part) if is_more or (part == 2 and count >= 1) else count / part


def _value(words: Sequence[str]) -> Fraction:
    total = current = Fraction(0)
    for word, then in zip_longest(words, words[1:], fillvalue=""):
        if word in _TIMES:
            current = Fraction(_TIMES[word])
        elif word in _PARTS and then in SCALES:  # "two and a half million", "three quarters of a million"
            part = Fraction(1, _PARTS[word])
            current = current + part if word == "half" else (current or 1) * part
        elif word in SCALES:
            scale = SCALES[word]
            if scale in (100, 12):
                current = (current or Fraction(1)) * scale
            else:
                total, current = total + (current or 1) * scale, Fraction(0)
        else:
            n = SMALL[word] if word in SMALL else ORDINALS[word]
            year = n >= 20 and 10 <= current <= 20  # "nineteen ninety"
            current = current * 100 + n if year else (current or Fraction(1)) * n if n >= 100 else current + n
    return total + current
