"""Derived values: numbers of a sentence that follow from those of given texts, and so stand for none of these.

A sum, difference, product, quotient, share, mean, change in percent, limit, time between two years, days or hours,
number of things listed. It is told by trying. Where much is given something fits by chance: so it is a ground for
leaving a value alone, and none for calling it right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import SpecificsIndex, find_specifics, specifics_index
from eirene.text.specifics.mention import Mention
from eirene.text.specifics.quantity import Quantity
from eirene.text.specifics.units import size_of
from eirene.text.words import stems

_MOST_VALUES = 40
"""Given values that are tried, those of the sentences with most words in common first."""
_LONGEST_RUN = 6
"""Values in a row that are added up."""
_LONGEST = 1000
"""Characters of a sentence that are read."""
_ROUNDED = 0.05
_PERCENT_ROUNDED = 0.5
_FAR = 10.0
"""How many times a limit ("over 100") may be passed."""
_YEARS_FROM, _YEARS_TO = 1000, 2100
_DAY = 86_400.0
_LEFT_OUT = re.compile(r"\s?(?:[,.;:)]|\Z|(?:and|or|on|in|at|to|from|for|per|a|the)\b)", re.IGNORECASE)
_LISTED = re.compile(r"[,;]\s(?:(?:and|or)\s)?|\s(?:and|or)\s", re.IGNORECASE)
_POINTS = {"year", "date", "clock"}
_NOT_OF_BARE = {"month", "s", "celsius", *_POINTS}
"""Units that no two numbers without a unit make."""
_REACH = {"year": 50.0, "date": 180.0, "clock": 43_200.0}
"""How far from a point in time another one might be as well; of other values half and double."""
_STEPS = {"clock": 900.0}
_MOST_LISTED = 12
_MULTIPLES = {"doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0, "halv": 0.5}
_MULTIPLIED = re.compile(r"\b(doubl|tripl|quadrupl|halv)(?:e|es|ed|ing)\b", re.IGNORECASE)
_PERIODS = tuple(
    (re.compile(rf"\b(?:{words})", re.IGNORECASE), often)
    for words, often in (
        ("year|annual", (12.0, 52.0, 365.0)), ("quarter", (3.0,)), ("month", (4.0, 12.0, 30.0)), ("week", (7.0, 52.0)),
        (r"days?\b|daily\b", (24.0,)), ("hour|minute", (60.0,)),
        (r"half\b|halv", (0.5,)), (r"(?:a|one)\s+third\b", (1 / 3,)), (r"twice\b|doubl", (2.0,)), ("tripl", (3.0,)),
    )
)  # fmt: skip
"""How often a shorter time goes into the one that a sentence speaks of, and that into a longer one; parts and multiples
("for half of it")."""
Floats = NDArray[np.float64]


class _Value(NamedTuple):
    """A value in its base unit ("year", "date", "clock": a point in time); `room`: how far off it may be as said."""

    value: float
    unit: str
    room: float = 0.0


def derivable(sentence: str, passages: Sequence[str]) -> bool:
    """Whether each number, date and time of a sentence stands in the passages or follows from theirs, one of them in
    another notation at the least. False for a sentence of more than 1,000 characters.

    Examples:
        >>> derivable("That is 300 in all.", ["One box holds 100 nails, the other 200."])
        True
        >>> derivable("That is 310 in all.", ["One box holds 100 nails, the other 200."])
        False
    """
    return Derivations(passages).has(sentence)


class Derivations:
    """What follows from the values of some passages. What is made of these is made once."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._passages = passages

    def has(self, sentence: str) -> bool:
        """`derivable`, for these passages."""
        return self.chance(sentence) is not None

    def chance(self, sentence: str) -> float | None:
        """How likely other values in the place of a sentence's would follow as well, in [0, 1]; None where it has none
        that is derived. 0 where they are given, in another notation."""
        if len(sentence) > _LONGEST:
            return None
        new = [m for m in find_specifics(sentence) if _is_value(m) and not m.is_weak]
        new = [m for m in new if sentence[m.start : m.end].casefold() not in self._written]
        multiples = [_MULTIPLES[m.group(1).lower()] for m in _MULTIPLIED.finditer(sentence)]
        if not new and not multiples:
            return None
        unheld = [m for m in new if not any(index.holds(m) for index in self._indexes)]
        if not unheld and not multiples:
            return 0.0
        given = _GivenValues(sentence, self._nearest(sentence))
        chances = [given.chance(m) for m in unheld]
        chances += [given.chance_of(_Value(n, "times", n / 10)) for n in multiples]
        return None if None in chances else max(c for c in chances if c is not None)

    @cached_property
    def _indexes(self) -> list[SpecificsIndex]:
        return [specifics_index(text) for text in self._passages]

    @cached_property
    def _written(self) -> frozenset[str]:
        """The passages' values as they are written."""
        return frozenset(index.said(m) for index in self._indexes for m in index.mentions if _is_value(m))

    @cached_property
    def _sentences(self) -> dict[str, frozenset[str]]:
        """The passages' sentences with their words."""
        texts = (s.text[:_LONGEST] for passage in self._passages for s in split_sentences(passage))
        return {text: frozenset(stems(text)) for text in texts if any(map(str.isalnum, text))}

    def _nearest(self, sentence: str) -> list[str]:
        """The sentences, those with most of a sentence's words first."""
        own = frozenset(stems(sentence))
        return sorted(self._sentences, key=lambda text: -len(own & self._sentences[text]))


def _is_value(mention: Mention) -> bool:
    return mention.kind in ("number", "date")


def _read(text: str) -> list[_Value]:
    """The values of a text in reading order."""
    mentions = [m for m in find_specifics(text) if _is_value(m)]
    found: list[_Value] = []
    unit = ""
    for n, mention in enumerate(mentions):
        own = _values_of(mention)
        if own and own[0].unit:
            unit = own[0].unit
        elif own and unit and unit not in _NOT_OF_BARE and _LEFT_OUT.match(text, mention.end):
            own = [own[0]._replace(unit=unit), *own]  # "18 km on Friday, 24 on Saturday"
        then = _values_of(mentions[n + 1]) if n + 1 < len(mentions) else []
        if own and then and then[0].unit == "date" and not own[0].unit and then[0].value > own[0].value:
            month_begins = date.fromordinal(int(then[0].value)).replace(day=1).toordinal()
            own = [_Value(month_begins + own[0].value - 1, "date")]  # "3 to 5 June"
        found += own
        found += [_Value(date.fromordinal(int(v.value)).year, "year") for v in own if v.unit == "date"]
    return found


def _as_written(text: str) -> Iterator[_Value]:
    """The values of a text without their units: 30 where it says "30 days", for what is "each day"."""
    for mention in find_specifics(text):
        yield from (_Value(float(q.value / size_of(q.unit)), "") for q in mention.quantities if q.unit != q.base)


def _values_of(mention: Mention) -> list[_Value]:
    """The values that a mention may be; those of a day's date are that day alone."""
    if mention.kind == "number":
        is_year = mention.end - mention.start == 4
        return [v for q in mention.quantities for v in _numbers(q, is_year=is_year)]
    keys = sorted(mention.gives)
    clock = [_Value(float(key[5:]) * 60, "clock") for key in keys if key.startswith("time:")]
    days = [key[4:].split("-") for key in keys if key.startswith("day:")]
    years = [int(key[2:]) for key in keys if re.fullmatch(r"n:[12]\d{3}", key)]
    for month, day in days[:1]:
        try:
            return [_Value(date(years[0] if years else 2000, int(month), int(day)).toordinal(), "date")]
        except ValueError:
            return []  # 31 June
    return clock


def _numbers(number: Quantity, *, is_year: bool) -> list[_Value]:
    """A number; one of four figures that is written like a year is one."""
    value, slack = float(number.value), float(number.slack)
    if is_year and not number.base and value.is_integer() and _YEARS_FROM <= value <= _YEARS_TO:
        return [_Value(value, "year")]
    most = _PERCENT_ROUNDED if number.base == "percent" else abs(value) * _ROUNDED
    return [_Value(value, number.base, min(slack, most))]


class _GivenValues:
    """The values of given sentences, of the first ones as many as are tried, and what can be made of them."""

    def __init__(self, sentence: str, given: Sequence[str]) -> None:
        runs: list[list[_Value]] = []
        self._counts: set[int] = set()
        bare: list[_Value] = []
        for text in given:
            if (room := _MOST_VALUES - sum(map(len, runs))) <= 0:
                break
            runs.append(_read(text)[:room])
            bare += _as_written(text)
            self._counts.add(len(_LISTED.split(text)))
        plain = [v for run in runs for v in run]
        sums = [*_sums(plain), *(v for run in runs for v in _sums(run))]
        periods = [n for words, often in _PERIODS if words.search(sentence) for n in often]
        self._given = list(dict.fromkeys([*plain, *bare[:_MOST_VALUES]]))
        self._plain = list(dict.fromkeys([*plain, *sums]))
        more = [_Value(v.value * n, v.unit) for v in plain if v.unit != "year" for n in periods] + [
            _Value(n, "") for n in periods
        ]
        self._every = list(dict.fromkeys([*self._plain, *more, *bare[:_MOST_VALUES]]))

    def chance(self, mention: Mention) -> float | None:
        """`Derivations.chance` for a value of a sentence."""
        values = _values_of(mention)
        if mention.bound in ("over", "under"):
            is_so = any(_within(v.value, mention.bound, g) for v in values for g in self._plain if _alike(v, g))
            return 1.0 if is_so else None
        rough = _ROUNDED if mention.bound == "about" else 0.0
        found = [self.chance_of(v._replace(room=max(v.room, abs(v.value) * rough))) for v in values]
        return min((chance for chance in found if chance is not None), default=None)

    def chance_of(self, wanted: _Value) -> float | None:
        """`Derivations.chance` for a value: of the given values alone, else of their sums and multiples, too."""
        for values in (self._given, self._every):
            chance = self._chance(wanted, values)
            if chance is not None:
                return chance
        is_count = wanted.value in self._counts and wanted.value <= _MOST_LISTED and not wanted.unit
        return 1.0 if is_count else None

    def _chance(self, wanted: _Value, values: Sequence[_Value]) -> float | None:
        """How much of what a value might be can be made of some values, if it can."""
        value, step = wanted.value, 2 * wanted.room or _STEPS.get(wanted.unit, 1.0)
        others = [v for v in values if v != wanted._replace(room=v.room)]
        given = np.array([v.value for v in self._plain if _alike(wanted, v)])
        made = np.concatenate([given, *_made(others, wanted.unit)])
        if not (np.abs(made - value) <= wanted.room + 1e-9).any():
            return None
        reach = _REACH.get(wanted.unit)
        low, high = (value - reach, value + reach) if reach else sorted((value / 2, value * 2))
        near = made[(made >= low) & (made <= high)]
        return float(min(1.0, len(np.unique(np.round(near / step))) * step / max(high - low, step)))


def _alike(a: _Value, b: _Value) -> bool:
    return a.unit == b.unit or (not {a.unit, b.unit} & _POINTS and not (a.unit and b.unit))


def _within(limit: float, bound: str, given: _Value) -> bool:
    low, high = (limit, limit * _FAR) if bound == "over" else (limit / _FAR, limit)
    return low <= given.value <= high


def _sums(values: Sequence[_Value]) -> Iterator[_Value]:
    """Sums of values of one unit in a row, and their means."""
    for unit in dict.fromkeys(v.unit for v in values if v.unit not in ("year", "date", "clock")):
        same = [v.value for v in values if v.unit == unit]
        for i in range(len(same)):
            for j in range(i + 2, min(len(same), i + _LONGEST_RUN) + 1):
                yield _Value(sum(same[i:j]), unit)
                yield _Value(sum(same[i:j]) / (j - i), unit)


def _made(values: Sequence[_Value], unit: str) -> Iterator[Floats]:
    """What two values make, where the result is of a unit, or may be."""
    if not values:
        return
    units = np.array([v.unit for v in values])
    a, b = (np.array([v.value for v in values]).reshape(shape) for shape in ((-1, 1), (1, -1)))
    ua, ub = units.reshape(-1, 1), units.reshape(1, -1)
    codes = np.unique(units, return_inverse=True)[1]
    like = codes.reshape(-1, 1) == codes.reshape(1, -1)
    fits = (ua == unit) | (ub == unit) | (unit == "")
    if unit not in _NOT_OF_BARE:
        fits = fits | ((ua == "") & (ub == ""))
    over = np.divide(a, b, out=np.full((len(values), len(values)), np.nan), where=b != 0)
    summed = like & ((ua == unit) | (unit == "") | ((ua == "") & (unit not in _NOT_OF_BARE)))
    yield from ((a + b)[summed], (a - b)[summed])
    yield (a * b)[fits]
    yield from _shares(a, b, ua, ub, unit)
    if unit in ("", "times"):
        yield from (over[like], over[like] - 1, 1 - over[like])
    if unit not in ("percent", "times"):
        yield over[fits]
    if unit == "percent":
        yield from (100 * over[like], 100 * (over[like] - 1), 100 * (1 - over[like]), 100 - a[ua == "percent"])
    yield from _times_between(a, b, ua, ub, unit)


def _shares(a: Floats, b: Floats, ua: NDArray[np.str_], ub: NDArray[np.str_], unit: str) -> Iterator[Floats]:
    """Some percent of a value, what is left of it, and what it grows to."""
    shares = (ub == "percent") & ((ua == unit) | (unit == "") | (ua == ""))
    yield from ((a * b)[shares] / 100, (a * (100 - b))[shares] / 100, (a * (100 + b))[shares] / 100)


def _times_between(a: Floats, b: Floats, ua: NDArray[np.str_], ub: NDArray[np.str_], unit: str) -> Iterator[Floats]:
    """Years, days or hours between two points, with and without the last one; a year some years after another."""
    years, days = (a - b)[(ua == "year") & (ub == "year")], (a - b)[(ua == "date") & (ub == "date")]
    clock = (a - b)[(ua == "clock") & (ub == "clock")] % _DAY
    if unit in ("", "month"):
        months = 12.0 if unit else 1.0
        yield from (years * months, (years - 1) * months, (years + 1) * months)
    if unit in ("", "s"):
        day = _DAY if unit else 1.0
        yield from (days * day, (days + 1) * day, clock if unit else clock / 3600)
    if unit == "year":
        later = (ua == "year") & (ub == "month")
        yield from ((a + b / 12)[later], (a - b / 12)[later])
