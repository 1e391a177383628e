"""Dates and times in a text, by offsets: days, months, years, decades, centuries, weekdays, hours.

"12 May 2019", "May 12th, 2019" and "2019-05-12" have one key; a bare year is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from fractions import Fraction

from eirene.text.matching import Span
from eirene.text.values.mention import Mention
from eirene.text.values.number_words import ORDINALS, SMALL
from eirene.text.values.numbers import number_keys
from eirene.text.values.value import Value, point

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name: n for n, name in enumerate(_MONTH_NAMES.split(), start=1)}
_MONTHS |= {name[:3]: n for name, n in _MONTHS.items()} | {"sept": 9}
_DECADES = {f"{word[:-1]}ies": n // 10 for word, n in SMALL.items() if n >= 20}
_NAMED = "|".join(name.title() for name in _MONTHS if len(name) > 4 or name in ("may", "june", "july"))
_SHORT = "|".join(name.title() for name in _MONTHS if len(name) < 5 and name not in ("may", "june", "july"))
MONTH = re.compile(rf"\b(?P<month>(?:{_NAMED})\b|(?:{_SHORT})\b\.?)")
"""The name of a month."""
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})(?![\d%])"
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
_WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_WEEKDAY = re.compile(rf"(?<!\w)({'|'.join(_WEEKDAYS)})s?(?!\w)")
_DECADE = re.compile(r"(?<!\w)(?:(\d{3})0['’]?s|['’](\d)0s|([2-9])0s)(?!\w)")
_DECADE_WORD = re.compile(
    rf"(?<!\w)(?<!his )(?<!her )(?<!their )(?:nineteen[\s-])?({'|'.join(_DECADES)})(?!\w)", re.IGNORECASE
)
_CENTURY = re.compile(
    rf"(?<!\w)(?:(\d{{1,2}})(?:st|nd|rd|th)|(twenty[\s-])?({'|'.join(ORDINALS)}))[\s-]centur(?:y|ies)(?!\w)",
    re.IGNORECASE,
)
_QUARTER = re.compile(
    r"(?<!\w)(?:Q([1-4])|(?:(?i:the)\s)?(?i:(first|second|third|fourth)|([1-4])(?:st|nd|rd|th))\s(?i:quarter))(?!\w)"
)
_MINUTES = {"five": 5, "ten": 10, "a quarter": 15, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
_HOURS = rf"{'|'.join(list(SMALL)[1:13])}|1?\d"
_PART_OF_DAY = r"in the (?P<morning>morning)|(?:in the|at) (?P<later>afternoon|evening|night)"
_SPOKEN = re.compile(
    rf"(?<!\w)(?:at\s)?({'|'.join(sorted(_MINUTES, key=len, reverse=True))})\s(past|to)\s({_HOURS})"
    rf"(?:\s(?:(?P<half>[ap])\.?m\.?|{_PART_OF_DAY}))?(?!\w)",
    re.IGNORECASE,
)
_HOUR = re.compile(rf"(?<![\w:.,])({_HOURS})(?P<half>)\s(?:o['’]clock\s)?(?:{_PART_OF_DAY})(?!\w)", re.IGNORECASE)
_NOON = re.compile(r"(?<!\w)(?:(noon|midday)|midnight)(?!\w)", re.IGNORECASE)
_TIME = re.compile(
    r"(?<![\w:.,])(\d{1,2})(?:[:.]([0-5]\d))?\s?(?:(?P<half>[ap])(?:\.m\.?|m)(?!\w)|(?P<clock>o['’]clock))"
    r"|(?:(?<![\w:.,])|(?<=\dT))(?P<h>\d{1,2})(?::|\.(?=\d\d\s(?:in the|at)\s))(?P<m>[0-5]\d|0)(?![\w:])"
    rf"(?:\s(?:{_PART_OF_DAY}))?",
    re.IGNORECASE,
)


def find_dates(text: str) -> Iterator[Mention]:
    """The dates and times of a text, longer patterns first, so that of two that overlap the first is meant."""
    for match in MONTH.finditer(text):
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


def _clock(match: re.Match[str], minutes: Sequence[int], *, asks: int | None = None) -> Mention:
    """A time of day, which may be one of several; `asks` of them, the first ones, are asked for."""
    keys = [f"time:{m % 1440}" for m in minutes]
    values = tuple(point("clock", 60 * (m % 1440)) for m in minutes[:asks])
    return Mention("date", match.start(), match.end(), (frozenset(keys[:asks]),), frozenset(keys), values=values)


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
    gives = {f"month:{month}", f"quarter:{(month + 2) // 3}"}
    asks: list[frozenset[str]] = [] if day is not None or year is not None else [frozenset(gives)]
    if day is not None:
        asks.append(frozenset([f"day:{month}-{day}"]))
        gives |= {f"day:{month}-{day}", f"n:{day}"}
    if year is not None:
        gives |= {f"month:{year}-{month}", *number_keys(Fraction(year))}
        asks.append(frozenset([f"month:{year}-{month}"] if day is None else [f"n:{year}", f"n:{year}*"]))
    values = tuple(_points(month, day, year))
    if day is not None and (year or 0) > 1752:  # older dates may be of the Julian calendar
        gives |= {f"weekday:{_WEEKDAYS[int(v.amount) % 7 - 1]}" for v in values if v.unit == "day"}
    return Mention("date", *span, tuple(asks), frozenset(gives), values=values)


def _points(month: int, day: int | None, year: int | None) -> Iterator[Value]:
    """The day, or the first one of the month, and the year; "no year": of the year 2000."""
    with suppress(ValueError):  # 31 June
        first = date(year or 2000, month, day or 1).toordinal()
        yield point("day", first, "no year" if not year else "month" if day is None else "day")
    if year:
        yield point("year", year)


def _slashed(match: re.Match[str]) -> Iterator[Mention]:
    """ "5/12/2019" is a day of May or of December, as the reader likes."""
    first, second, year = map(int, match.groups())
    pairs = ((second, first), (first, second))
    found = [_of(match.span(), month, day, year) for month, day in pairs if 1 <= month <= 12]
    if found:
        asks = tuple(frozenset().union(*sets) for sets in zip(*(m.asks for m in found), strict=True))
        yield replace(found[0], asks=asks, gives=frozenset().union(*(m.gives for m in found)))


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
    """Times of day. "11:00" is 11 o'clock in the morning; in a text that does not count to 24 it may also have been
    meant for the evening."""
    for match in _NOON.finditer(text):
        yield _clock(match, [720 if match.group(1) else 0])
    yield from _spoken(text)
    found = list(_TIME.finditer(text))
    counts_on = any((m.group("h") or "").startswith("0") or int(m.group("h") or 0) > 12 for m in found)
    for match in found:
        hour, minute = int(match.group("h") or match.group(1)), int(match.group("m") or match.group(2) or 0)
        if hour > 24:
            continue
        later = _is_later(match)
        at, may_be = 60 * hour + minute, 0 < hour < 12 and not counts_on
        if later is not None:
            yield _clock(match, [60 * (hour % 12 + 12 * later) + minute])
        else:
            yield _clock(match, [at, at + 720] if may_be else [at], asks=None if match.group("clock") else 1)


def _is_later(match: re.Match[str]) -> bool | None:
    """Whether a time is said to be after noon, by "pm", "in the evening"; None where it is not said."""
    half, morning, later = (match.group(name) for name in ("half", "morning", "later"))
    return None if not (half or morning or later) else bool(later) or (half or "").lower() == "p"


def _spoken(text: str) -> Iterator[Mention]:
    """ "half past five", "a quarter to ten in the evening"; "ten to twelve" alone is a range as often as a time."""
    for match in _SPOKEN.finditer(text):
        minutes, side, hour = match.groups()[:3]
        amount, later = _MINUTES[minutes.lower()], _is_later(match)
        if amount not in (15, 30) and later is None:
            continue
        at = 60 * (_hour(hour) % 12) + (amount if side.lower() == "past" else -amount)
        yield _clock(match, [at, at + 720] if later is None else [at + 720 * later])
    for match in _HOUR.finditer(text):  # "nine in the morning"
        yield _clock(match, [60 * (_hour(match.group(1)) % 12 + 12 * bool(_is_later(match)))])


def _hour(said: str) -> int:
    return int(said) if said.isdecimal() else SMALL[said.lower()]
