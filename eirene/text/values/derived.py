"""Derived values: numbers of a sentence that follow from those of given texts, and so stand for none of these.

A sum, difference, product, quotient, share, mean, change in percent, limit, time between two years, days or hours,
number of things listed. It is told by trying. Where much is given something fits by chance: so it is a ground for
leaving a value alone, and none for calling it right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eirene.text.sentences import split_sentences
from eirene.text.values.mention import Mention
from eirene.text.values.reading import ValueIndex, value_index
from eirene.text.values.units import size_of
from eirene.text.values.value import POINTS, Bound, Value
from eirene.text.words import stems

_MOST_VALUES = 40
"""Given values that are tried, those of the sentences with most words in common first."""
_BY_CHANCE = 0.55
_LONGEST_RUN = 6
"""Values in a row that are added up."""
_LONGEST = 1000
"""Characters of a sentence that are read."""
_ROUNDED = 0.05
_PERCENT_ROUNDED = 0.5
_FAR, _NEAR = 10.0, 2.0
"""How many times a limit ("over 100") may be passed; and that of a few values, which hardly fits by chance."""
_DAY, _MONTH = 86_400.0, 30.44
_EPOCH = date(1970, 1, 1).toordinal()
_LEFT_OUT = re.compile(
    r"\s?(?:[,.;:)]|\Z|(?:and|or|on|in|at|to|from|for|per|a|the)\b|[a-z]+\s(?:and|or)\b|[a-z]+,)", re.I
)
_UNTIL = re.compile(r"\s?(?:to|and|until|till|or|[-\u2013,])\s?", re.IGNORECASE)
_LISTED = re.compile(r"[,;]\s(?:(?:and|or)\s)?|\s(?:and|or)\s", re.IGNORECASE)
_NOT_OF_BARE = {"month", "s", "celsius", *POINTS}
"""Units that no two numbers without a unit make."""
_REACH = {"year": 50.0, "day": 180.0, "clock": 43_200.0}
"""How far from a point in time another one might be as well; of other values half and double."""
_STEPS = {"clock": 900.0}
_MOST_LISTED = 12
_WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_WEEKDAYS = re.compile("({0})[a-z]*\\s?(?:to|through|until|till|[-\u2013])\\s?({0})".format("|".join(_WEEK)))
_MULTIPLES = {"half": 0.5, "halv": 0.5, "third": 1 / 3, "twice": 2.0, "doubl": 2.0, "tripl": 3.0, "quadrupl": 4.0}
_MULTIPLIED = re.compile(r"\b(halv|doubl|tripl|quadrupl)(?:e|es|ed|ing)\b", re.IGNORECASE)
_PERIODS = {
    re.compile(rf"\b(?:{words})", re.IGNORECASE): days
    for words, days in {
        "year|annual": 365.0, "quarter": 91.0, "month": 30.0, "week": 7.0, r"days?\b|daily\b|nights?\b": 1.0,
        "hour": 1 / 24, "minute": 1 / 1440,
    }.items()
}  # fmt: skip
"""Periods that a sentence may speak of, in days."""
_MOST_OFTEN = 366
"""How often a period goes into another one."""
_CUES = tuple(
    (way, re.compile(rf"\b(?:{words})\b", re.IGNORECASE))
    for way, words in (
        ("sum", "in (?:all|total)|total(?:s|ed|led)?|altogether|together|combined|overall|sum|all told|both|adds? up"),
        ("difference", r"more|less|fewer|\w+er than|difference|left|leaves|remain\w*|rest|drop\w*|f[ae]ll|fallen"
         r"|r[io]se\w*|gr[eo]w\w*|(?:in|de)creas\w+|lost|loses?|sav\w+|gain\w*|cut|older|younger|surplus|profit|loss|up"
         "|down|by"),
        ("mean", "averaged?|averages|mean|per|each|every|apiece|an?"),
        ("time", "(?:year|month|week|fortnight|day|night|hour|minute|decade)s?|centur(?:y|ies)|old|aged?|was|were|turns"
         "|turned|anniversary"),
        ("percent", r"percent|per cent|half|third|quarter|fifth|tenth|share|twice|times|doubl\w+"),
    )
)  # fmt: skip
"""Words that say which way a value is made."""
_BACK, _NEAREST = (
    re.compile(r"\b(?:before|prior|earlier|ago|previous(?:ly)?|ahead|in advance|until)\b", re.IGNORECASE),
    3,
)
"""What a date some time before another one is told with, in the sentence or the nearest given ones."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Amount:
    """A value in its base unit; `room`: how far off it may be as said. `own`: it stands in the sentence alone."""

    value: float
    unit: str
    room: float = 0.0
    own: bool = False


class Carried(NamedTuple):
    """What given texts make of a sentence's values. `strange`: one stands nowhere and follows from nothing.

    `chance`: how likely other values in their place would follow as well, in [0, 1]; 0 where they are given in another
    notation. None where none is new, or one does not follow.
    """

    chance: float | None = None
    strange: bool = False

    @property
    def follows(self) -> bool:
        """Whether they follow, and few others would."""
        return self.chance is not None and self.chance <= _BY_CHANCE


NOTHING_NEW = Carried()


class Derivations:
    """What follows from the values of some passages. What is made of these is made once."""

    def __init__(self, passages: Sequence[str]) -> None:
        self._passages = passages

    def carried(self, sentence: str) -> Carried:
        """Whether the texts carry a sentence's values; of more than 1,000 characters nothing is said.

        Examples:
            >>> boxes = Derivations(["One box holds 100 nails, the other 200."])
            >>> boxes.carried("That is 300 in all.").follows
            True
            >>> boxes.carried("That is 310 in all.").strange
            True
        """
        values = [m for m in value_index(sentence[:_LONGEST]).mentions if not m.is_weak]
        new = [m for m in values if sentence[m.start : m.end].casefold() not in self._written]
        multiples = [_MULTIPLES[m.group(1).lower()] for m in _MULTIPLIED.finditer(sentence)]
        unheld = [m for m in new if not any(index.holds(m) for index in self._indexes)]
        if len(sentence) > _LONGEST or not (new or multiples):
            return NOTHING_NEW
        if not unheld and not multiples:
            return Carried(0.0)
        given = _Given(sentence, self._nearest(sentence))
        chances = [given.chance(m) for m in unheld]
        strange = None in chances
        chances += [given.chance_of(_Amount(n, "times", n / 10)) for n in multiples]
        return Carried(None if None in chances else max(c for c in chances if c is not None), strange)

    @cached_property
    def _indexes(self) -> list[ValueIndex]:
        return [value_index(text) for text in self._passages]

    @cached_property
    def _written(self) -> frozenset[str]:
        """The passages' values as they are written."""
        return frozenset(index.said(m) for index in self._indexes for m in index.mentions)

    @cached_property
    def _sentences(self) -> dict[str, frozenset[str]]:
        """The passages' sentences with their words."""
        texts = (s.text[:_LONGEST] for passage in self._passages for s in split_sentences(passage))
        return {text: frozenset(stems(text)) for text in texts if any(map(str.isalnum, text))}

    def _nearest(self, sentence: str) -> list[str]:
        """The sentences, those with most of a sentence's words first."""
        own = frozenset(stems(sentence))
        return sorted(self._sentences, key=lambda text: -len(own & self._sentences[text]))


def _read(text: str, *, own: bool = False) -> list[_Amount]:
    """The values of a text in reading order."""
    mentions = value_index(text).mentions
    years = [int(v.amount) for m in mentions for v in m.values if v.base == "year"]
    found: list[_Amount] = []
    unit, size = "", 1.0
    for n, mention in enumerate(mentions):
        here = _amounts(mention, years, own=own)
        if here and here[0].unit:
            unit, size = here[0].unit, float(size_of(mention.values[0].unit))
        elif here and unit and unit not in _NOT_OF_BARE and _LEFT_OUT.match(text, mention.end):
            here = [_Amount(here[0].value * size, unit, own=own), *here]  # "18 km on Friday, 24 on Saturday"
        then = _amounts(mentions[n + 1], years) if n + 1 < len(mentions) else []
        is_until = here and then and _UNTIL.fullmatch(text, mention.end, mentions[n + 1].start)
        if is_until and then[0].unit == "day" and not here[0].unit and here[0].value <= 31:
            month_begins = date.fromordinal(int(then[0].value)).replace(day=1).toordinal()
            here = [_Amount(month_begins + here[0].value - 1, "day", own=own)]  # "3 to 5 June"
        found += here
    return found


def _amounts(mention: Mention, years: Sequence[int], *, own: bool = False) -> list[_Amount]:
    """The values that a mention may be; a point in time is nothing else. A day without a year is of the first one
    that is named."""
    points = [v for v in mention.values if v.base in POINTS]
    found = []
    for v in points or mention.values:
        value, room = float(v.amount), 0.0 if points else float(v.slack)
        if v.unit == "no year" and years:
            with suppress(ValueError):  # 29 February
                value = float(date.fromordinal(int(value)).replace(year=years[0]).toordinal())
        if not points:
            room = min(room, _PERCENT_ROUNDED if v.base == "percent" else abs(value) * _ROUNDED)
        found.append(_Amount(value, "" if v.base in ("ordinal", "degree") else v.base, room, own))
    return found


def _as_written(text: str) -> Iterator[_Amount]:
    """The values of a text without their units: 30 where it says "30 days", for what is "each day"."""
    for mention in value_index(text).mentions:
        yield from (_Amount(float(v.amount / size_of(v.unit)), "") for v in mention.values if v.unit != v.base)


class _Given:
    """The values of given sentences, of the first ones as many as are tried, and what can be made of them."""

    def __init__(self, sentence: str, given: Sequence[str]) -> None:
        runs: list[list[_Amount]] = []
        self._counts, self._days = set[int](), set[int]()
        bare: list[_Amount] = []
        for text in given:
            if (room := _MOST_VALUES - sum(map(len, runs))) <= 0:
                break
            runs.append(_read(text)[:room])
            bare += _as_written(text)
            if (listed := len(_LISTED.split(text))) <= _MOST_LISTED:
                self._counts.add(listed)
            self._days |= {(_WEEK.index(b) - _WEEK.index(a)) % 7 + 1 for a, b in _WEEKDAYS.findall(text.lower())}
        plain = [v for run in runs for v in run]
        sums, means = ([v for run in (plain, *runs) for v in _sums(run, mean=mean)] for mean in (False, True))
        times = [*_times_each(sentence, " ".join(given[:2]))]
        times += [often for word, often in _MULTIPLES.items() if word in sentence.lower()]
        own = _read(sentence, own=True)
        self._whole = [v for run in runs for mean in (False, True) for v in _sums(run, mean=mean, whole=True)]
        self._cued = {way for way, words in _CUES if words.search(sentence)}
        self._cued |= {"back"} if _BACK.search(" ".join((sentence, *given[:_NEAREST]))) else set()
        self._given = list(dict.fromkeys([*plain, *bare[:_MOST_VALUES], *own]))
        self._every = list(dict.fromkeys([*plain, *sums, *bare[:_MOST_VALUES], *own]))
        more = [_Amount(v.value * n, v.unit) for v in plain if v.unit not in POINTS for t in times for n in (t, 1 / t)]
        self._plain = list(dict.fromkeys([*plain, *sums, *means]))
        self._direct = list(dict.fromkeys([*self._plain, *more]))

    def chance(self, mention: Mention) -> float | None:
        """`Carried.chance` for a value of a sentence."""
        values = _amounts(mention, ())
        values = [v for v in values if v.unit == "day"] or values
        rough = _ROUNDED if mention.bound == "about" else 0.0
        said = [_Amount(v.value, v.unit, max(v.room, abs(v.value) * rough)) for v in values]
        is_limit = mention.bound in ("over", "under")
        found = [self._beyond(values, mention.bound)] if is_limit else [self.chance_of(v) for v in said]
        if any(self._is_count(v) for v in mention.values):
            found.append(min(1.0, len(self._counts) / _MOST_LISTED))
        return min((chance for chance in found if chance is not None), default=None)

    def _is_count(self, value: Value) -> bool:
        """Whether so many things are listed, or one at that place; of days, from one of the week to another."""
        if value.base == "ordinal":
            return value.amount <= max(self._counts, default=0)
        amount = value.amount / size_of(value.unit)
        return amount in self._counts or (value.unit == "day" and amount in self._days)

    def _beyond(self, limits: Sequence[_Amount], bound: Bound) -> float | None:
        """The same for a limit: of a few values that it might be of, one that is not far hardly fits by chance."""
        found: list[float] = []
        for limit in limits:
            made = _made(self._given, limit.unit)
            given = [v.value for v in self._plain if _alike(limit, v)]
            for values in (given, *(x.tolist() for way, x in made if way in {"sum", "time"} & self._cued)):
                if any(_within(limit.value, bound, v, _NEAR) for v in values):
                    found.append(min(1.0, 0.1 * len({v for v in values if v > 0})))
            found += [1.0] * any(_within(limit.value, bound, v, _FAR) for v in given)
        return min(found, default=None)

    def chance_of(self, wanted: _Amount) -> float | None:
        """`Carried.chance` for a value: of the given values alone, else of their sums and multiples, too."""
        if any(_alike(v, wanted) and abs(v.value - wanted.value) <= wanted.room + 1e-9 for v in self._whole):
            return min(1.0, 0.1 * len(self._whole))
        found = (self._chance(wanted, values) for values in (self._given, self._every))
        return next((chance for chance in found if chance is not None), None)

    def _chance(self, wanted: _Amount, values: Sequence[_Amount]) -> float | None:
        """How much of what a value might be can be made of some values, if it can; in the way that the sentence
        names, if it names one."""
        value, step = wanted.value, 2 * wanted.room or _STEPS.get(wanted.unit, 1.0)
        others = [v for v in values if (v.value, v.unit) != (value, wanted.unit)]
        given = np.array([v.value for v in self._direct if _alike(wanted, v)])
        made_of = (one for one in _made(others, wanted.unit) if one[0] != "back" or "back" in self._cued)
        ways = [("given", given), *made_of]
        fitting = {way for way, made in ways if (np.abs(made - value) <= wanted.room + 1e-9).any()}
        if not fitting:
            return None
        cued = fitting & self._cued
        made = np.concatenate([made for way, made in ways if not cued or way in cued])
        reach = _REACH.get(wanted.unit)
        low, high = (value - reach, value + reach) if reach else sorted((value / 2, value * 2))
        near = made[(made >= low) & (made <= high)]
        return float(min(1.0, len(np.unique(np.round(near / step))) * step / max(high - low, step)))


def _times_each(sentence: str, given: str) -> Iterator[float]:
    """How often one period goes into another: of the one that a sentence names and the one that the given text does,
    or might."""
    named, there = ([n for words, n in _PERIODS.items() if words.search(text)] for text in (sentence, given))
    for a in named:
        for b in there or _PERIODS.values():
            if a != b and max(a, b) <= _MOST_OFTEN * min(a, b):
                yield float(round(max(a, b) / min(a, b)))


def _alike(a: _Amount, b: _Amount) -> bool:
    return a.unit == b.unit or (not {a.unit, b.unit} & POINTS and not (a.unit and b.unit))


def _within(limit: float, bound: Bound, given: float, far: float) -> bool:
    low, high = (limit, limit * far) if bound == "over" else (limit / far, limit)
    return bool(low <= given <= high)


def _sums(values: Sequence[_Amount], *, mean: bool, whole: bool = False) -> Iterator[_Amount]:
    """Sums of values of one unit in a row, or their means; of all of them, `whole`."""
    for unit in dict.fromkeys(v.unit for v in values if v.unit not in POINTS):
        same = [v.value for v in values if v.unit == unit]
        for i in range(1 if whole else len(same)):
            for j in range(max(len(same) if whole else i + 2, 2), min(len(same), i + _LONGEST_RUN) + 1):
                yield _Amount(sum(same[i:j]) / (j - i if mean else 1), unit)


def _made(values: Sequence[_Amount], unit: str) -> Iterator[tuple[str, Floats]]:
    """What two values make, one of which is given, where the result is of a unit, or may be; with the way."""
    if not values:
        return
    units, own = np.array([v.unit for v in values]), np.array([v.own for v in values])
    a, b = (np.array([v.value for v in values]).reshape(shape) for shape in ((-1, 1), (1, -1)))
    ua, ub = units.reshape(-1, 1), units.reshape(1, -1)
    codes = np.unique(units, return_inverse=True)[1]
    given = ~(own.reshape(-1, 1) & own.reshape(1, -1)) & ~np.diag(np.isin(units, [*POINTS]))
    like = given & (codes.reshape(-1, 1) == codes.reshape(1, -1))
    bare = (ua == "") & (ub == "") & (unit not in _NOT_OF_BARE)
    fits = given & ((ua == unit) | (ub == unit) | (unit == "") | bare)
    over = np.divide(a, b, out=np.full((len(values), len(values)), np.nan), where=b != 0)
    summed = like & ((ua == unit) | (unit == "") | bare)
    yield from (("sum", (a + b)[summed]), ("difference", (a - b)[summed]), ("product", (a * b)[fits]))
    if unit in ("m2", "m3"):
        yield "product", (a * b)[(ua == "m") & (ub == {"m2": "m", "m3": "m2"}[unit]) & given]
    if unit in ("m", "m/s"):  # a distance, or a speed
        yield "mean", (a * b if unit == "m" else over)[(ua == ("m/s" if unit == "m" else "m")) & (ub == "s") & given]
    shares = given & (ub == "percent") & ((ua == unit) | (unit == "") | (ua == ""))
    yield from (("percent", x[shares] / 100) for x in (a * b, a * (100 - b), a * (100 + b)))
    if unit in ("", "times"):
        yield from (("percent", x[like]) for x in (over, over - 1, 1 - over))
    if unit not in ("percent", "times"):
        yield "mean", over[fits]
    if unit == "percent":
        yield from (("percent", 100 * x[like]) for x in (over, over - 1, 1 - over))
        yield "percent", 100 - a[ua == "percent"]
    yield from (("time", x) for x in _times_between(a, b, (ua, ub, given), unit))
    if unit == "day":
        days, months = (given & (ua == "day") & (ub == base) for base in ("s", "month"))
        for way, sign in (("time", 1), ("back", -1)):
            yield way, (a + sign * b / _DAY)[days & (b >= _DAY)]
            yield way, _months_on((a + 0 * b)[months], sign * (b + 0 * a)[months])


def _times_between(a: Floats, b: Floats, told: tuple[NDArray[Any], ...], unit: str) -> Iterator[Floats]:
    """Years, days or hours between two points, with and without the last one; a point some time before or after one.

    `told`: the units of `a` and of `b`, and which pairs are given.
    """
    ua, ub, given = told
    years, days, clock = ((a - b)[given & (ua == base) & (ub == base)] for base in ("year", "day", "clock"))
    if unit in ("", "month"):
        months = 12.0 if unit else 1.0
        yield from (years * months, (years - 1) * months, (years + 1) * months)
        yield np.round(days / _MONTH)
    if unit in ("", "s"):
        day = _DAY if unit else 1.0
        yield from (days * day, (days + 1) * day, clock % _DAY if unit else clock % _DAY / 3600)
    if unit == "clock":
        later = given & (ua == "clock") & (ub == "s")
        yield from ((a + b)[later] % _DAY, (a - b)[later] % _DAY)
    if unit == "year":
        later = given & (ua == "year") & (ub == "month")
        yield from ((a + b / 12)[later], (a - b / 12)[later])
        bare = given & (ua == "year") & (ub == "") & (b < 1000)
        yield from ((a + b)[bare], (a - b)[bare], (a + b)[bare] - 1, (a - b)[bare] - 1)


def _months_on(days: Floats, months: Floats) -> Floats:
    """The same day of the month, so many months on; all days since year 1."""
    then = (days.astype(int) - _EPOCH).astype("M8[D]")
    month = then.astype("M8[M]")
    made: Floats = ((month + months.astype(int)).astype("M8[D]") + (then - month)).astype(float) + _EPOCH
    return made
