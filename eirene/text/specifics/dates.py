"""Dates and times in a text, by offsets: days, months, years, decades, centuries, weekdays, hours.

"12 May 2019", "May 12th, 2019" and "2019-05-12" have one key; a bare year is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from eirene.text.matching import Span
from eirene.text.specifics.mention import Mention
from eirene.text.specifics.number_words import ORDINALS, SMALL
from eirene.text.specifics.numbers import number_keys

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES.split(), start=1)}
_MONTHS |= {name[:3]: n for name, n in _MONTHS.items()} | {"sept": 9}
_DAY_NAMES = "monday tuesday wednesday thursday friday saturday sunday"
_DECADES = {f"{word[:-1]}ies": n // 10 for word, n in SMALL.items() if n >= 20}
_MONTH = (
    r"(?P<month>(?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
    r"|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?)"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})(?![\d%])"
_A_MONTH = re.compile(rf"(?<!\w)(?=[JFMASOND]){_MONTH}")
_DAY_BEFORE = re.compile(rf"(?<!\w){_DAY}(?:\s|-|\sof\s)$")
_AFTER_DAY = re.compile(rf"(?:,?\s|-){_YEAR}")
_DAY_AFTER = re.compile(rf"\s(?:the\s)?{_DAY}(?![\w%:]|[.,]\d)(?:,?\s{_YEAR})?")
_YEAR_AFTER = re.compile(rf",?\s(?:of\s)?{_YEAR}")
_ISO = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)(?!\d)")
_SLASHED = re.compile(r"(?<![\d/.])(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?!\d)")
_LONE_BEFORE = re.compile(
    r"(?<!\w)(?:in|of|since|until|till|by|during|early|late|mid|last|next|this|from|to|and|or|every|before|after)[\s-]$",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(rf"(?<!\w)({'|'.join(_DAY_NAMES.title().split())})s?(?!\w)")
_DECADE = re.compile(r"(?<!\w)(?:(\d{3})0['’]?s|['’](\d)0s|([2-9])0s)(?!\w)")
_DECADE_WORD = re.compile(rf"(?<!\w)(?:nineteen[\s-])?({'|'.join(_DECADES)})(?!\w)", re.IGNORECASE)
_CENTURY = re.compile(
    rf"(?<!\w)(?:(\d{{1,2}})(?:st|nd|rd|th)|(twenty[\s-])?({'|'.join(ORDINALS)}))[\s-]centur(?:y|ies)(?!\w)",
    re.IGNORECASE,
)
_QUARTER = re.compile(
    r"(?<!\w)(?:Q([1-4])|(?:(?i:the)\s)?(?i:(first|second|third|fourth)|([1-4])(?:st|nd|rd|th))\s(?i:quarter))(?!\w)"
)
_MINUTES = {"five": 5, "ten": 10, "a quarter": 15, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
_SPOKEN = re.compile(
    rf"(?<!\w)(?:at\s)?({'|'.join(sorted(_MINUTES, key=len, reverse=True))})\s(past|to)\s"
    rf"({'|'.join(list(SMALL)[1:13])}|1?\d)"
    r"(?:\s(?:([ap])\.?m\.?|in the (morning)|(?:in the|at) (afternoon|evening|night)))?(?!\w)",
    re.IGNORECASE,
)
_NOON = re.compile(r"(?<!\w)(?:(noon|midday)|midnight)(?!\w)", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\w:.,])(\d{1,2})(?:[:.]([0-5]\d))?\s?(?:(?P<half>[ap])(?:\.m\.?|m)(?!\w)|(?P<clock>o['’]clock))"
    r"|(?<![\w:.,])(?P<h>\d{1,2}):(?P<m>[0-5]\d)(?![\w:])",
    re.IGNORECASE,
)


def find_dates(text: str) -> Iterator[Mention]:
    """The dates and times of a text, longer patterns first, so that of two that overlap the first is meant."""
    for match in _A_MONTH.finditer(text):
        yield from _named(text, match)
    for match in _ISO.finditer(text):
        year, month, day = map(int, match.groups())
        if 1 <= month <= 12 and 1 <= day <= 31:
            yield _of(match.span(), month, day, year)
    for match in _SLASHED.finditer(text):
        yield from _slashed(match)
    yield from _decades(text)
    for match in _CENTURY.finditer(text):
        n = int(match.group(1)) if match.group(1) else ORDINALS[match.group(3).lower()] + 20 * bool(match.group(2))
        yield _simple(match, f"century:{n}")
    for match in _QUARTER.finditer(text):
        n = int(match.group(1) or match.group(3) or ORDINALS[(match.group(2) or "first").lower()])
        yield _simple(match, f"quarter:{n}")
    yield from _times(text)
    for match in _WEEKDAY.finditer(text):
        yield _simple(match, f"weekday:{match.group(1)}")


def _simple(match: re.Match[str], *keys: str) -> Mention:
    return Mention("date", match.start(), match.end(), (frozenset(keys),), frozenset(keys))


def _named(text: str, match: re.Match[str]) -> Iterator[Mention]:
    """The date that the name of a month is part of; by itself "may" or "march" must follow a word such as "in"."""
    start, end = match.span()
    name = match.group("month").rstrip(".").lower()
    day = year = None
    before = _DAY_BEFORE.search(text, max(0, start - 10), start)
    after = _AFTER_DAY.match(text, end) if before else _DAY_AFTER.match(text, end) or _YEAR_AFTER.match(text, end)
    if before:
        start, day = before.start(), int(before.group("day"))
    if after:
        found = after.groupdict()
        end, day = after.end(), int(found["day"]) if found.get("day") else day
        year = int(found["year"]) if found.get("year") else None
    is_date = name not in ("may", "march", "mar", "august") or _LONE_BEFORE.search(text, max(0, start - 8), start)
    if (is_date or before or after) and (day is None or 1 <= day <= 31):
        yield _of((start, end), _MONTHS[name], day, year)


def _of(span: Span, month: int, day: int | None, year: int | None) -> Mention:
    gives = {f"month:{month}"}
    asks: list[frozenset[str]] = [] if day is not None or year is not None else [frozenset(gives)]
    if day is not None:
        asks.append(frozenset([f"day:{month}-{day}"]))
        gives |= {f"day:{month}-{day}", f"n:{day}"}
    if year is not None:
        gives |= {f"month:{year}-{month}", *number_keys(Fraction(year))}
        asks.append(frozenset([f"month:{year}-{month}"] if day is None else [f"n:{year}", f"n:{year}*"]))
    return Mention("date", *span, tuple(asks), frozenset(gives))


def _slashed(match: re.Match[str]) -> Iterator[Mention]:
    """ "5/12/2019" is a day of May or of December, as the reader likes."""
    first, second, year = map(int, match.groups())
    found = [
        _of(match.span(), month, day, year) for month, day in ((first, second), (second, first)) if 1 <= month <= 12
    ]
    if found:
        asks = tuple(frozenset().union(*sets) for sets in zip(*(m.asks for m in found), strict=True))
        yield Mention("date", *match.span(), asks, frozenset().union(*(m.gives for m in found)))


def _decades(text: str) -> Iterator[Mention]:
    for match in _DECADE.finditer(text):
        long, *short = match.groups()
        if long and long.endswith("0"):  # "the 1800s": a century, or its first ten years
            yield _simple(match, f"decade:{int(long)}", f"century:{int(long) // 10 + 1}")
        else:
            yield _simple(match, f"decade:{int(long) if long else 190 + int(short[0] or short[1])}")
    for match in _DECADE_WORD.finditer(text):
        yield _simple(match, f"decade:{190 + _DECADES[match.group(1).lower()]}")


def _times(text: str) -> Iterator[Mention]:
    """Times of day. "11:00" is 11 o'clock in the morning, though it may have been meant in a source for the evening."""
    for match in _NOON.finditer(text):
        yield _simple(match, f"time:{720 if match.group(1) else 0}")
    yield from _spoken(text)
    for match in _TIME.finditer(text):
        hour, minute = int(match.group("h") or match.group(1)), int(match.group("m") or match.group(2) or 0)
        if hour > 24:
            continue
        half = (match.group("half") or "").lower()
        either = [hour, hour + 12] if 0 < hour <= 12 else [hour]
        hours = [hour % 12 + 12 * (half == "p")] if half else either
        keys = [f"time:{60 * (h % 24) + minute}" for h in hours]
        asks = keys if match.group("clock") else keys[:1]
        yield Mention("date", match.start(), match.end(), (frozenset(asks),), frozenset(keys))


def _spoken(text: str) -> Iterator[Mention]:
    """ "half past five", "a quarter to ten in the evening"; "ten to twelve" alone is a range as often as a time."""
    for match in _SPOKEN.finditer(text):
        minutes, side, hour, half, morning, later = match.groups()
        amount = _MINUTES[minutes.lower()]
        if amount not in (15, 30) and not (half or morning or later):
            continue
        n = int(hour) if hour.isdecimal() else SMALL[hour.lower()]
        at = 60 * (n % 12) + (amount if side.lower() == "past" else -amount)
        afternoon = bool(later) or (half or "").lower() == "p"
        either = [at + 720 * afternoon] if half or morning or later else [at, at + 720]
        yield _simple(match, *(f"time:{t % 1440}" for t in either))
