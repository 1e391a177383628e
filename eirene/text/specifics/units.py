"""Units of numbers: percent, money, measures and spans of time, each with its spellings."""

from __future__ import annotations

import re

_SPELLINGS = """
    percent: % percent pct percentage
    dollar: $ dollar dollars usd us$
    pound: £ pound pounds gbp lb lbs quid
    euro: € euro euros eur
    yen: ¥ yen jpy
    rupee: ₹ rupee rupees inr
    cent: cent cents
    yuan: yuan rmb renminbi
    km: km kms kilometre kilometres kilometer kilometers
    m: m metre metres meter meters
    cm: cm centimetre centimetres centimeter centimeters
    mm: mm millimetre millimetres millimeter millimeters
    mile: mile miles mi
    foot: foot feet ft
    inch: inch inches
    yard: yard yards yd yds
    kg: kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes
    g: g gram grams gramme grammes
    mg: mg milligram milligrams
    tonne: tonne tonnes ton tons
    ounce: ounce ounces oz
    litre: l litre litres liter liters
    ml: ml millilitre millilitres milliliter milliliters
    gallon: gallon gallons gal
    acre: acre acres
    hectare: hectare hectares ha
    mph: mph
    km/h: kph kmh
    celsius: °c celsius
    fahrenheit: °f fahrenheit
    degree: ° degree degrees
    kw: kw kilowatt kilowatts
    mw: mw megawatt megawatts
    gw: gw gigawatt gigawatts
    kwh: kwh
    mb: mb megabyte megabytes
    gb: gb gigabyte gigabytes
    tb: tb terabyte terabytes
    second: sec secs seconds
    minute: min mins minute minutes
    hour: h hr hrs hour hours
    day: day days
    week: week weeks
    month: month months
    year: year years yr yrs
    decade: decade decades
    century: century centuries
    times: times
"""
UNITS = {
    spelling: name.strip() for line in _SPELLINGS.strip().splitlines() for name, _, rest in [line.partition(":")]
    for spelling in rest.split()
}  # fmt: skip
"""The unit of each spelling, in lower case."""

_UNIT = re.compile(r"[\s\u00a0]?-?(%|°\s?[CF]?\b|°|[$£€¥₹](?!\s?\d)|[^\W\d_]+)")
_PER_CENT = re.compile(r"[\s\u00a0]?per[\s-]cent\b(?:age points?)?", re.IGNORECASE)


def unit_at(text: str, at: int) -> tuple[str, int]:
    """The unit that begins at an offset, after a space or hyphen, and where it ends; "" and the offset without one."""
    spaced = _PER_CENT.match(text, at)
    if spaced:
        return "percent", spaced.end()
    found = _UNIT.match(text, at)
    unit = UNITS.get("".join(found.group(1).lower().split())) if found else None
    return (unit, found.end()) if found and unit else ("", at)
