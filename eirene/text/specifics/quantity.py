"""Quantity: a number with its unit, as a value in a base unit, and when one quantity is said by another.

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
from typing import Literal

from eirene.text.specifics.units import in_base, size_of

Bound = Literal["", "about", "over", "under"]
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
        "no more than|not more than|under|less than|fewer than|up to|at most|below|nearly|almost|just short of",
        "[<≤]",
    ),
    "over": ("no less than|no fewer than|over|more than|at least|above|exceeding|exceeds|upwards of", "[>≥]"),
    "about": ("about|around|roughly|approximately|approx\\.?|some|circa|ca\\.|c\\.|close to|an estimated", "[~≈]"),
}
_BOUNDS = {
    bound: re.compile(rf"(?:(?<!\w)(?:{words})\s{{1,2}}|{sign}\s?){_MONEY}", re.IGNORECASE)
    for bound, (words, sign) in _WORDS.items()
}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A value in its base unit; `slack`: half of its last digit that is not 0. `unit` is the one that it was given in.

    `is_scaled`: it was written with a word such as "million", which one does with rounded values.
    """

    value: Fraction
    base: str
    unit: str
    slack: Fraction
    is_scaled: bool = False


def quantity(value: Fraction, unit: str, *, is_scaled: bool = False) -> Quantity:
    """The quantity of a value of a unit ("" for none)."""
    amount, base = in_base(value, unit)
    return Quantity(amount, base, unit, _last_digit(value) * size_of(unit) / 2, is_scaled)


def _last_digit(value: Fraction) -> Fraction:
    """What one more of the last digit would be that is not 0; of a third and the like a twentieth of it."""
    step, rest = Fraction(1), abs(value)
    if not rest:
        return step
    while rest.denominator != 1:
        if rest.denominator % 2 and rest.denominator % 5:
            return abs(value) / 20
        rest, step = rest * 10, step / 10
    while rest.numerator % 10 == 0:
        rest, step = rest / 10, step * 10
    return step


def bound_before(text: str, start: int) -> Bound:
    """The word before a value that makes it a rough one, or a limit."""
    return next((bound for bound, words in _BOUNDS.items() if words.search(text, max(0, start - _WINDOW), start)), "")


class Quantities:
    """Some quantities, among which those are found that another one says."""

    def __init__(self, quantities: Iterable[Quantity]) -> None:
        values: dict[str, dict[str, set[Fraction]]] = defaultdict(lambda: defaultdict(set))
        for one in quantities:
            values[one.base][one.unit].add(one.value)
        self._values = {base: {unit: sorted(v) for unit, v in units.items()} for base, units in values.items()}

    def said_by(self, said: Quantity, bound: Bound = "") -> tuple[Fraction, str] | None:
        """The value and the unit of a quantity that one stands for; of another unit, unless it is rough. None without.

        Equal values of one unit are not looked for.
        """
        low, high = _range(said, bound)
        rounded = abs(said.value) * _CONVERTED if bound in ("over", "under") else Fraction(0)
        for unit, values in self._values.get(said.base, {}).items():
            room = rounded if unit != said.unit else 0
            at = bisect_left(values, low - room)
            if (bound or said.is_scaled or unit != said.unit) and at < len(values) and values[at] <= high + room:
                return values[at], unit
        return None


def _range(said: Quantity, bound: Bound) -> tuple[Fraction, Fraction]:
    value, size = said.value, abs(said.value)
    if bound == "over":
        return value, value + size * _BEYOND / (1 - _BEYOND)
    if bound == "under":
        return value - size * _BEYOND, value
    room = size * _ROUGH if bound == "about" else min(said.slack, size * _ROUGH)
    if said.base == "celsius":
        room = said.slack
    return value - room, value + room
