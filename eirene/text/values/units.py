"""Units of numbers: percent, money, measures and spans of time, each with its spellings and its size in a base unit."""

from __future__ import annotations

import re
from fractions import Fraction

from eirene.text.words import table_lines

# Unit, its size in the base unit of its kind (nothing for what is not converted), spellings. "m" of money is a scale.
_ROWS = [[part.strip() for part in line.split("|")] for line in table_lines("units")]
UNITS: dict[str, tuple[str, ...]] = {}
"""The units of each spelling, in lower case; "pounds" are money or a weight."""
_SIZES: dict[str, tuple[Fraction, str]] = {}
for _name, _as_base, _spellings in _ROWS:
    for _spelling in _spellings.split():
        UNITS[_spelling] = (*UNITS.get(_spelling, ()), _name)
    if _as_base:
        _SIZES[_name] = (Fraction(_as_base.split()[0]), _as_base.split()[1])
_FREEZING = {"fahrenheit": 32}

_UNIT = re.compile(
    r"[\s\u00a0]?-?(?:(?:US|UK|imperial)\s)?(%|°\s?[CF]?\b|°|[$£€¥₹](?!\s?\d)|(?:US|AU|CA|HK)\$|[^\W\d_]+)([²³])?"
)
_OF_A = re.compile(r"\s(?:of\s)?an?(?=\s)")
_PER_CENT = re.compile(r"[\s\u00a0]?per[\s-]cent\b(?:age points?)?", re.IGNORECASE)
_DEGREES = re.compile(r"[\s\u00a0]?-?degrees?\s(celsius|centigrade|fahrenheit|[CF]\b)", re.IGNORECASE)
_POWER = re.compile(r"[\s\u00a0]?-?(square|sq\.?|cubic|cu\.?)\s?([^\W\d_]+)", re.IGNORECASE)
_SPEED = re.compile(r"\s?(?:/|per\s|an?\s)\s?(h|hr|hour|s|sec|second)\b", re.IGNORECASE)


def unit_at(text: str, at: int, *, is_part: bool = False) -> tuple[tuple[str, ...], int]:
    """The units that are spelled at an offset, after a space or hyphen, and where that ends; none at the offset.

    `is_part`: of a part such as "half", behind which the unit may stand with "an" or "of a".
    """
    if is_part and (between := _OF_A.match(text, at)):
        units, end = unit_at(text, between.end())
        return (units, end) if units else ((), at)
    degrees, power = _DEGREES.match(text, at), _POWER.match(text, at)
    if spaced := _PER_CENT.match(text, at):
        return ("percent",), spaced.end()
    if degrees:
        return ("celsius" if degrees.group(1)[0].lower() == "c" else "fahrenheit",), degrees.end()
    if power and (units := _raised(power.group(2), 2 if power.group(1)[0].lower() == "s" else 3)):
        return units, power.end()
    return _one_word(text, at)


def _one_word(text: str, at: int) -> tuple[tuple[str, ...], int]:
    found = _UNIT.match(text, at)
    units = UNITS.get("".join(found.group(1).lower().split()), ()) if found else ()
    if found and units and found.group(2):
        units = _raised(found.group(1), 2 if found.group(2) == "²" else 3)
    if not found or not units:
        return (), at
    speed = _SPEED.match(text, found.end())
    if speed and _SIZES.get(units[0], ("", ""))[1] == "m":
        return (f"{units[0]}/{speed.group(1)[0].lower()}",), speed.end()
    return units, found.end()


def _raised(spelling: str, power: int) -> tuple[str, ...]:
    unit = UNITS.get(spelling.lower(), ("",))[0]
    return (f"{unit}{power}",) if _SIZES.get(unit, ("", ""))[1] == "m" else ()


def in_base(value: Fraction, unit: str) -> tuple[Fraction, str]:
    """A value of a unit in its base unit: metres, grams, seconds, months ...; itself where nothing is converted."""
    size, base = _size(unit)
    return (value - _FREEZING.get(unit, 0)) * size, base


def size_of(unit: str) -> Fraction:
    """How much one more of a unit is in its base unit."""
    return _size(unit)[0]


def _size(unit: str) -> tuple[Fraction, str]:
    if unit in _SIZES:
        return _SIZES[unit]
    if unit[-1:] in ("2", "3") and unit[:-1] in _SIZES:
        return _SIZES[unit[:-1]][0] ** int(unit[-1]), f"m{unit[-1]}"
    length, slash, time = unit.partition("/")
    if slash and length in _SIZES:
        return _SIZES[length][0] / (3600 if time == "h" else 1), "m/s"
    return Fraction(1), unit
