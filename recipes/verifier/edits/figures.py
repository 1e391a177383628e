"""Edits of figures: numbers, years, scales, units, currencies, months, weekdays; and of names."""

from __future__ import annotations

import re

from recipes.verifier.edits.given import ClaimGiven, same_case, words, words_in_order

MONTHS = words_in_order("January February March April May June July August September October November December")
_WEEKDAYS = words_in_order("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
NUMBER_WORDS = words_in_order("zero one two three four five six seven eight nine ten eleven twelve")
_FIGURE = re.compile(
    r"(?<![\w.,:/-])\d{1,3}(?:,\d{3}){1,3}(?![\w:/-])|(?<![\w.,:/-])\d{1,9}(?:\.\d{1,3})?(?![\w:/-])(?![.,]\d)"
)
_WORDED = re.compile(r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b(?!-)", re.I)
_AT_LEAST = re.compile(r"(?:more than|at least|over|above|exceeding|minimum of|than|from) [$£€]?$", re.I)
_AT_MOST = re.compile(r"(?:less than|fewer than|at most|under|below|up to|within|maximum of) [$£€]?$", re.I)
_UNITS = (
    ("km", "miles"), ("kilometres", "miles"), ("kilometers", "miles"), ("metres", "feet"), ("meters", "feet"),
    ("feet", "inches"), ("centimetres", "inches"), ("cm", "mm"), ("kg", "pounds"), ("kilograms", "pounds"),
    ("tonnes", "kilograms"), ("tons", "pounds"), ("grams", "ounces"), ("seconds", "minutes"), ("minutes", "hours"),
    ("hours", "days"), ("days", "weeks"), ("weeks", "months"), ("months", "years"), ("decades", "years"),
    ("thousand", "million"), ("million", "billion"), ("billion", "trillion"), ("litres", "gallons"),
    ("euros", "dollars"), ("pounds", "dollars"), ("Celsius", "Fahrenheit"), ("acres", "hectares"),
)  # fmt: skip
_OF_UNIT: dict[str, list[str]] = {}
for _one, _other in _UNITS:
    _OF_UNIT.setdefault(_one.lower(), []).append(_other)
    _OF_UNIT.setdefault(_other.lower(), []).append(_one)
_COUNT = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|hundred))"
)
_MEASURED = re.compile(
    rf"(?<=[\w%])[ -](?P<unit>{'|'.join(sorted(map(re.escape, _OF_UNIT), key=len, reverse=True))})\b", re.I
)
_COUNTED = re.compile(rf"{_COUNT}$", re.I)
_BOUNDED = re.compile(
    r"\b(?:more than|less than|fewer than|over|under|at least|at most|up to|within|above|below)\b", re.I
)
_CURRENCY = re.compile(r"[$£€](?=\d)")
_MONTH = re.compile(rf"\b(?:{'|'.join(m for m in MONTHS if m != 'May')}|May(?= \d)|(?<=in )May\b|(?<=\d )May\b)\b")
_WEEKDAY = re.compile(rf"\b(?:{'|'.join(_WEEKDAYS)})\b(?! [A-Z])")
_SHORT = 3
"""Numbers with fewer digits are seldom scaled."""


def _bounds(given: ClaimGiven, start: int) -> tuple[bool, bool]:
    """Whether the number at `start` may be raised and lowered so that the claim is no longer borne out."""
    before = given.claim[max(start - 20, 0) : start]
    return not _AT_MOST.search(before), not _AT_LEAST.search(before)


def _is_year(text: str) -> bool:
    return text.isdigit() and len(text) == 4 and 1000 <= int(text) <= 2100


def number(given: ClaimGiven) -> str | None:
    """A number or year by a digit, by a few, or another one of the premise; a number word by one that is higher."""

    def changed(match: re.Match[str]) -> str | None:
        text = match.group()
        others = [n for n in dict.fromkeys(_FIGURE.findall(given.premise)) if _is_year(n) == _is_year(text)]
        drawn = [_near(text, given) for _ in range(3)]
        if others and given.rng.random() < 0.4:
            drawn.insert(0, given.rng.choice(others))
        return next((by for by in drawn if _is_allowed(given, match, by)), None)

    def raised(match: re.Match[str]) -> str | None:
        at = NUMBER_WORDS.index(match.group().lower()) + given.rng.choice((1, 1, 2, 3))
        if at >= len(NUMBER_WORDS) or not _bounds(given, match.start())[0] or NUMBER_WORDS[at] in given.words:
            return None
        return same_case(NUMBER_WORDS[at], match.group())

    return given.one_of(_FIGURE, changed) or given.one_of(_WORDED, raised)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def _is_allowed(given: ClaimGiven, match: re.Match[str], by: str) -> bool:
    if by in given.claim or _value(by) == _value(match.group()):
        return False
    up, down = _bounds(given, match.start())
    return up if _value(by) > _value(match.group()) else down


def _near(text: str, given: ClaimGiven) -> str:
    rng = given.rng
    if _is_year(text):
        return str(int(text) + rng.choice((-30, -20, -10, -9, -6, -3, -2, -1, 1, 2, 3, 5, 7, 10, 20, 30)))
    places = [n for n, char in enumerate(text) if char.isdigit()]
    at = rng.choice(places)
    digit = rng.choice([d for d in "123456789" if d != text[at]])
    return text[:at] + digit + text[at + 1 :]


def scale(given: ClaimGiven) -> str | None:
    """A number ten or a hundred times as large, or a tenth: "400", "4,000"."""

    def changed(match: re.Match[str]) -> str | None:
        text = match.group()
        if "." in text or _is_year(text) or (len(text) < _SHORT and not text.endswith("0")):
            return None
        value = int(text.replace(",", ""))
        by = value * 10 if value % 10 or given.rng.random() < 0.5 else value // 10
        written = f"{by:,}" if "," in text or by >= 10_000 else str(by)
        return written if by and written not in given.premise and _is_allowed(given, match, written) else None

    return given.one_of(_FIGURE, changed)


def unit(given: ClaimGiven) -> str | None:
    """Another unit, scale or currency for the same number, which the premise does not name beside it."""

    def changed(match: re.Match[str]) -> str | None:
        if _BOUNDED.search(given.claim, max(match.start() - 40, 0), match.start()) or not _COUNTED.search(
            given.claim[max(match.start() - 8, 0) : match.start()]
        ):
            return None
        word = match.group("unit")
        by = given.rng.choice(_OF_UNIT[word.lower()])
        return None if by.lower() in given.words else match.group().replace(word, by)

    def paid(match: re.Match[str]) -> str | None:
        others = [c for c in "$£€" if c not in given.premise]
        return given.rng.choice(others) if others and match.group() in given.premise else None

    return given.one_of(_MEASURED, changed) or given.one_of(_CURRENCY, paid)


def date(given: ClaimGiven) -> str | None:
    """Another month or weekday."""

    def other(names: tuple[str, ...], match: re.Match[str]) -> str | None:
        choices = [name for name in names if name not in given.claim]
        return given.rng.choice(choices) if choices and match.group().lower() in given.words else None

    return given.one_of(_MONTH, lambda m: other(MONTHS, m)) or given.one_of(_WEEKDAY, lambda m: other(_WEEKDAYS, m))


_NAME = re.compile(
    r"(?:(?<=[a-z,] )|(?<=[a-z] the ))[A-Z][a-z’-]*[a-z](?: (?:[A-Z]\. )?[A-Z][a-z’-]*[a-z]){0,3}", re.ASCII
)
_NO_NAMES = words("""
    I The A An It He She They We You This That These Those In On At But And Or If When While After Before However Mr
    Mrs Ms Dr Sir Lord January February March April May June July August September October November December Monday
    Tuesday Wednesday Thursday Friday Saturday Sunday English
""")


_OPEN_SORTS = words("""
    the of and a an or ,
""")
"""Words that names of any sort follow."""


def _are_parts(premise: str, one: str, other: str) -> bool:
    """Whether one is a part of the other: "in Las Cruces, New Mexico" both are true."""
    return f"{one}, {other}" in premise or f"{other}, {one}" in premise


def name(given: ClaimGiven) -> str | None:
    """A name exchanged for another one of the premise that follows the same word ("in", "by") and is as long."""
    found = list(_NAME.finditer(given.premise))

    def sort(text: str, match: re.Match[str]) -> tuple[str, bool]:
        return text[: match.start()].rsplit(None, 1)[-1], " " in match.group()

    def changed(match: re.Match[str]) -> str | None:
        own, kind = set(match.group().split()), sort(given.claim, match)
        if kind[0] in _OPEN_SORTS or not kind[0].islower() or own & _NO_NAMES or match.group() not in given.premise:
            return None
        others = [
            other.group()
            for other in found
            if sort(given.premise, other) == kind
            and not set(other.group().split()) & (own | _NO_NAMES)
            and not _are_parts(given.premise, match.group(), other.group())
            and not any(part in given.claim for part in other.group().split())
        ]
        return given.rng.choice(others) if others else None

    return given.one_of(_NAME, changed)
