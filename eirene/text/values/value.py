"""Value: a number with its unit, or a point in time, and when one value is said by another.

"59 feet" says 18 metres, "1.3 million" 1,297,412, "over 2 km" 2,467 m: the digits and words with which a value is said
tell how far it may be from the one that is meant.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Literal

from eirene.text.values.units import in_base, size_of

Bound = Literal["", "about", "over", "under"]
POINTS = frozenset(["year", "day", "clock"])
"""Bases of points in time: years, days since year 1, seconds since midnight. They are told by their keys alone."""
_ROUGH = Fraction(1, 20)
"""How far a value that is rounded, or said to be rough, may be from the one that is meant, as a share of it."""
_BEYOND = Fraction(1, 4)
"""The same for "over" and "under"."""
_CONVERTED = Fraction(1, 50)
"""The same for a limit in another unit."""
_WINDOW = 28
_MONEY = r"(?:(?:US|AU|CA|HK)?[$£€¥₹]\s?)?\Z"
_WORDS: dict[Bound, tuple[str, str]] = {
    "under": (
        "(?:no|not) more than|under|less than|fewer than|(?<!add )(?<!adds )up to|at most|below|nearly|almost"
        "|just short of",
        "[<≤]",
    ),
    "over": ("no less than|no fewer than|over|more than|at least|above|exceeding|exceeds|upwards of|just past", "[>≥]"),
    "about": ("about|around|roughly|approximately|approx\\.?|some|circa|ca\\.|c\\.|close to|an estimated", "[~≈]"),
}
_BOUNDS = {
    bound: re.compile(rf"(?:(?<!\w)(?:{words})\s{{1,2}}|{sign}\s?){_MONEY}", re.IGNORECASE)
    for bound, (words, sign) in _WORDS.items()
}


@dataclass(frozen=True, slots=True)
class Value:
    """An amount in its base unit. `slack`: half of its last digit that is not 0; `step`: half of its last digit.

    `unit` is the one that it was given in. `is_scaled`: it was written with a word such as "million", which one does
    with rounded values.
    """

    amount: Fraction
    base: str
    unit: str
    slack: Fraction = Fraction(0)
    step: Fraction = Fraction(0)
    is_scaled: bool = False


def value_of(amount: Fraction, unit: str, *, is_scaled: bool = False) -> Value:
    """The value of an amount of a unit ("" for none)."""
    in_bases, base = in_base(amount, unit)
    half = size_of(unit) / 2
    last, step = _last_digits(amount)
    return Value(in_bases, base, unit, last * half, step * half, is_scaled)


def point(base: str, amount: int, unit: str = "") -> Value:
    """A point in time; `unit` says how exactly it is meant, where that is not by its base."""
    return Value(Fraction(amount), base, unit or base)


def _last_digits(amount: Fraction) -> tuple[Fraction, Fraction]:
    """What one more of the last digit would be that is not 0, and of the last one written; of a third and the like a
    twentieth of it."""
    last, rest = Fraction(1), abs(amount)
    if not rest:
        return last, last
    while rest.denominator != 1:
        if rest.denominator % 2 and rest.denominator % 5:
            return abs(amount) / 20, abs(amount) / 20
        rest, last = rest * 10, last / 10
    step = last
    while rest.numerator % 10 == 0:
        rest, last = rest / 10, last * 10
    return last, step


def bound_before(text: str, start: int) -> Bound:
    """The word before a value that makes it a rough one, or a limit."""
    return next((bound for bound, words in _BOUNDS.items() if words.search(text, max(0, start - _WINDOW), start)), "")


class Values:
    """Some values, among which those are found that another one says."""

    def __init__(self, values: Iterable[Value]) -> None:
        steps: dict[str, dict[str, dict[Fraction, Fraction]]] = defaultdict(lambda: defaultdict(dict))
        for one in values:
            if one.base not in POINTS:
                steps[one.base][one.unit][one.amount] = one.step
        self._steps = {
            base: {unit: sorted(own.items()) for unit, own in units.items()} for base, units in steps.items()
        }

    def said_by(self, said: Value, bound: Bound = "") -> tuple[Fraction, str] | None:
        """The amount and the unit of a value that one stands for; of another unit, unless it is rough. None without.

        Equal values of one unit are not looked for.
        """
        low, high = _range(said, bound)
        for unit, values in self._steps.get(said.base, {}).items():
            if not (bound or said.is_scaled or unit != said.unit):
                continue
            rounded = abs(said.amount) * _CONVERTED if unit != said.unit and bound in ("over", "under") else Fraction(0)
            at = bisect_left(values, (low - rounded, Fraction(0)))
            for amount, step in islice(values, max(0, at - 1), None):
                room = rounded if bound or unit == said.unit else min(step, abs(amount) * _ROUGH)
                if amount - room > high:
                    break
                if amount + room >= low:
                    return amount, unit
        return None


def _range(said: Value, bound: Bound) -> tuple[Fraction, Fraction]:
    amount, size = said.amount, abs(said.amount)
    if bound == "over":
        return amount, amount + size * _BEYOND / (1 - _BEYOND)
    if bound == "under":
        return amount - size * _BEYOND, amount
    room = size * _ROUGH if bound == "about" else min(said.slack, size * _ROUGH)
    if said.base == "celsius":
        room = said.slack
    return amount - room, amount + room
