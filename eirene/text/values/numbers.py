"""Numbers in a text, by offsets and by value: figures and number words, percent, money, units, ordinals, fractions.

"1,000", "1 000", "1000" and "a thousand" have one key; "5 km" and "5 miles" have two, and a bare "5" fits either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest

from eirene.text.values.mention import Mention
from eirene.text.values.number_words import SCALES, WordNumber, word_numbers
from eirene.text.values.units import UNITS, in_base, size_of, unit_at
from eirene.text.values.value import bound_before, point, value_of

# Letters with which a figure makes a code ("A4", "4G"); those of other scripts may stand next to a number of its own.
_CASED = r"A-Za-z\u00aa\u00b5\u00ba\u00c0-\u058f\u1e00-\u1fff"
_MONEY = r"(?:(?:US|AU|CA|HK)?\$|[£€¥₹]|\b(?:USD|EUR|GBP|JPY|INR|CHF|CNY|AUD|CAD|HKD|Rs\.?))\s?"
_MINUS = r"(?:(?<![^\s(])[-\u2212]|\b[Mm]inus\s)"
_FIGURE = re.compile(
    rf"""(?<![\d{_CASED}])(?<![\d][.,\u066b\u066c])(?P<minus>{_MINUS})?(?P<money>{_MONEY})?
        (?P<figure>\d{{1,3}}(?:[ \u00a0\u2009\u202f]\d{{3}})+(?![\d,])|\d+(?:[.,/\u066b\u066c]\d+)*)""",
    re.VERBOSE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_SCALE = re.compile(rf"[\s\u00a0]?-?({'|'.join(SCALES)})s?\b", re.IGNORECASE)
_SHORT = re.compile(r"\s?(k|m|mn|mln|bn|b|tn)\b", re.IGNORECASE)
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_LETTER = re.compile(rf"(?!s(?![{_CASED}]))[{_CASED}]")  # "the under-18s" are 18
_CODE = re.compile(rf"[\d{_CASED}]+")
_MARKER = re.compile(r"(?:^|[\r\n])[ \t>*#|-]{0,12}\(?$")
_MARKED = re.compile(r"[.)]\s|[、．]")
_INLINE = re.compile(r"[.)]\s(?=[^\W\d_])")
_BEFORE_ITEM = re.compile(r"(?:[,;:(\r\n]|\b(?:and|or|are|need|needs))\s?\(?$")
_ONE = re.compile(
    r"(?<!\w)(?:an?|one)\s(hour|day|week|fortnight|month|year|mile|metre|meter|pound|decade|century)(?!\w)"
    r"(?P<more>\sand\s(?:a\s(?:(half)|(quarter))(?!\w)|(?=\d|[a-z-]+\s(?:minute|hour|day|week|month|inch))))?",
    re.IGNORECASE,
)
_DECIMAL = re.compile(r"\d*[.,]")
_BETWEEN = re.compile(r"\s?(?:,\s|(?:,\s)?and\s)?")
_CITED = re.compile(r"\[\d{1,3}(?:[,;\u2013-] ?\d{1,3}){0,9}\]")
_GIVEN = re.compile(
    r"(?<!\w)(?:passages?|sources?|documents?|references?|arguments?)\s(?:ID\s|no\.\s)?$", re.IGNORECASE
)
_YEARS_FROM, _YEARS_TO = 1000, 2100
_SPAN_OF_YEARS = re.compile(r"(?<!\d)(\d\d)\d\d[-\u2013/]$")  # "1992-93"
_RANGE = re.compile(r"\s?(?:[-\u2013]|to|and|or)\s?(?:US)?[$£€¥₹]?\d[\d.,]{0,12}")
_SEPARATORS = str.maketrans("\u066b\u066c", ".,")
"""Arabic's decimal and thousands separators."""
_CLOCK = re.compile(r"([01]?\d|2[0-4])\.([0-5]\d)")
ROMAN = re.compile(
    r"(?<![\w.'’-])(?=[IVX]{2,}(?!\w)|[MDCLXVI]{4,}(?!\w))"
    r"M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?!\w)"
)
"""Roman numerals: short ones of the letters that are hardly another word."""
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
_LONGEST = 24
"""Most characters of a figure that is read as a value; a longer one is compared as it is written."""


def find_numbers(text: str, *, words: bool = True) -> Iterator[Mention]:
    """The numbers of a text, figures first, then those in English `words`.

    Markers of lists ("1.", "1. a rope, 2. a lamp") and of citations ("[3]", "passage 3") are none.
    """
    item = 0
    for match in _FIGURE.finditer(text):
        if _is_item(text, match, item + 1):
            item += 1
        elif not _is_mark(text, match):
            yield from _figure(text, match)
    if not words:
        return
    for found in word_numbers(text):
        yield _worded(text, found)
    for roman in ROMAN.finditer(text):
        digits = [_ROMAN_DIGITS[letter] for letter in roman.group()]
        amount = sum(-n if n < then else n for n, then in zip_longest(digits, digits[1:], fillvalue=0))
        yield _mention(text, roman.start(), roman.end(), [Fraction(amount)])
    for one in _ONE.finditer(text):  # "an hour and a half", "an hour and 45 minutes", "less than an hour"
        more = Fraction(1, 2) if one.group(3) else Fraction(1, 4) if one.group(4) else Fraction(0)
        if one.group("more") or bound_before(text, one.start()):
            end = one.end() if more else one.end(1)
            yield _mention(text, one.start(), end, [1 + more], UNITS[one.group(1).lower()])


def joined(text: str, mentions: Sequence[Mention]) -> tuple[Mention, ...]:
    """Mentions in reading order with "2 hours and 30 minutes", "5 ft 6 in" as one."""
    found: list[Mention] = []
    for mention in mentions:
        whole = _joined(text, found[-1], mention) if found else None
        if whole is None:
            found.append(mention)
        else:
            found[-1] = whole
    return tuple(found)


def _joined(text: str, first: Mention, then: Mention) -> Mention | None:
    if len(first.values) != 1 or len(then.values) != 1 or not _BETWEEN.fullmatch(text, first.end, then.start):
        return None
    (big,), (small,) = first.values, then.values
    if not big.base or big.base != small.base or size_of(big.unit) <= size_of(small.unit) or big.amount <= small.amount:
        return None
    whole = replace(small, amount=big.amount + small.amount)
    key = frozenset([f"n:{whole.amount} {big.base}"])
    return replace(first, end=then.end, asks=(key,), gives=key, values=(whole,))


def number_keys(value: Fraction, unit: str = "") -> frozenset[str]:
    """The keys that a number gives: its value, in its base unit and as it is, a year's decade and century."""
    name = f"n:{value}"
    keys = {_with_unit(value, unit), f"{name}*"} if unit else {name}
    if unit == "percent":
        keys.add(f"f:{value / 100}")
    elif 0 < value < 1:
        keys.add(f"f:{value}")
    if unit in ("", "year") and _is_year(value):
        keys |= {f"decade:{value // 10}", f"century:{(value - 1) // 100 + 1}"}
    keys |= {f"many:{scale}" for scale in SCALES.values() if scale <= value < scale * 1000 and not unit}
    return frozenset(keys)


def _is_year(value: Fraction) -> bool:
    return value.denominator == 1 and _YEARS_FROM <= value <= _YEARS_TO


def _with_unit(value: Fraction, unit: str) -> str:
    amount, base = in_base(value, unit)
    return f"n:{amount} {base}"


def _asks(value: Fraction, unit: str) -> frozenset[str]:
    name = f"n:{value}"
    if unit == "percent":
        return frozenset([f"{name} percent", f"f:{value / 100}"])
    if unit:
        return frozenset([_with_unit(value, unit), name])
    return frozenset([name, f"{name}*"] + [f"f:{value}"] * (0 < value < 1))


def _is_mark(text: str, match: re.Match[str]) -> bool:
    """Whether a figure numbers a list item or a citation."""
    start, end = match.span()
    if end - start > 3:
        return False
    line = text[max(0, start - 16) : start]
    if _GIVEN.search(line):
        return True
    if _MARKED.match(text, end) and (_MARKER.search(line) or start == 0):
        return True
    opened = line.rfind("[")
    cited = _CITED.match(text, start - len(line) + opened) if opened >= 0 else None
    return cited is not None and cited.end() > end


def _is_item(text: str, match: re.Match[str], wanted: int) -> bool:
    """Whether a figure is the next marker of a list inside a line: "You need 1. a rope, 2. a lamp and 3) a map."."""
    start, end = match.span()
    if match.group() != str(wanted) or not _INLINE.match(text, end):
        return False
    return start == 0 or _BEFORE_ITEM.search(text, max(0, start - 12), start) is not None


def _figure(text: str, match: re.Match[str]) -> Iterator[Mention]:
    start, end = match.span()
    figure = match.group("figure")
    if len(figure) > _LONGEST or figure.count("/") > 1:
        key = frozenset([f"n:{figure}"])
        yield Mention("number", start, end, (key,), key)
        return
    money = (match.group("money") or "").strip().lower()
    values = [-value for value in _values(figure)] if match.group("minus") else _values(figure)
    ordinal = _ORDINAL.match(text, end)
    if ordinal:
        yield _mention(text, start, ordinal.end(), values[:1], ("ordinal",))
        return
    scale, end = _scale_at(text, end, is_money=bool(money))
    values = [value * scale for value in values] if scale > 1 else values
    units, end = (UNITS.get(money, UNITS.get(money[-1], ())), end) if money else unit_at(text, end)
    if _LETTER.match(text, end):  # part of a code: "4G", "5x"
        code = _CODE.match(text, match.start("figure"))
        key = frozenset([f"n:{code.group().lower() if code else figure}"])
        yield Mention("number", start, code.end() if code else end, (key,), key)
        return
    before = _SPAN_OF_YEARS.search(text, max(0, start - 5), start) if end - start == 2 else None
    if before and values:
        values = [values[0], Fraction(int(before.group(1) + figure))]
    made = _mention(text, start, end, values, units, is_scaled=scale > 1)
    ahead = None if units else _RANGE.match(text, end)  # "10 to 20 percent"
    shared = unit_at(text, ahead.end())[0] if ahead else ()
    more = frozenset().union(*(number_keys(value, unit) for value in values for unit in shared))
    yield replace(made, gives=made.gives | more) if more else made


def _scale_at(text: str, end: int, *, is_money: bool) -> tuple[int, int]:
    word = _SCALE.match(text, end)
    if word:
        return SCALES[word.group(1).lower()], word.end()
    short = _SHORT.match(text, end)
    if short and (is_money or short.group(1).lower() in ("k", "mn", "mln", "bn", "tn")):
        return _SHORT_SCALES[short.group(1).lower()], short.end()
    return 1, end


def _values(figure: str) -> list[Fraction]:
    """How a figure may be read: "1,000" and "1.000" as thousands or as decimals, "1/2" as a fraction."""
    if "/" in figure:
        above, _, below = figure.partition("/")
        if above.isdecimal() and below.isdecimal() and int(below):
            return [Fraction(int(above), int(below))]
        return [Fraction(part) for part in re.findall(r"\d+", figure)][:1]
    plain = re.sub(r"\s", "", figure).translate(_SEPARATORS)
    parts = re.split(r"[.,]", plain)
    whole = Fraction(int("".join(parts)))
    if len(parts) == 1:
        return [whole]
    decimal = Fraction(int("".join(parts)), 10 ** len(parts[-1]))
    grouped = all(len(part) == 3 for part in parts[1:])
    if len(parts) > 2 or (grouped and "," in plain and "." not in plain):
        return [whole] if grouped else [decimal]
    return [decimal, whole] if grouped else [decimal]


def _mention(
    text: str, start: int, end: int, values: Sequence[Fraction], units: Sequence[str] = (), *, is_scaled: bool = False
) -> Mention:
    pairs = [(value, unit) for value in values for unit in units or ("",)]
    gives = frozenset().union(*(number_keys(*pair) for pair in pairs))
    asks = frozenset().union(*(_asks(*pair) for pair in pairs))
    held = tuple(value_of(*pair, is_scaled=is_scaled) for pair in pairs)
    if not units and 0 < values[0] < 1 and not _DECIMAL.match(text, start):
        held = (value_of(values[0], "fraction"),)
    elif not units and end - start == 4 and _is_year(values[0]):
        held = (*held, point("year", int(values[0])))
    if not units and (clock := _CLOCK.fullmatch(text, start, end)):  # "Start: 19.30"
        gives |= {f"time:{60 * (int(clock.group(1)) % 24) + int(clock.group(2))}"}
    return Mention("number", start, end, (asks,), gives, values=held, bound=bound_before(text, start))


def _worded(text: str, found: WordNumber) -> Mention:
    if found.is_vague:
        asks = frozenset([f"many:{found.value}"])
        return Mention("number", found.start, found.end, (asks,), asks)
    is_part = 0 < found.value < 1
    units, end = unit_at(text, found.end, is_part=is_part) if not found.is_ordinal else (("ordinal",), found.end)
    made = _mention(text, found.start, end, [found.value], units, is_scaled=found.value >= 1000)
    return replace(made, is_weak=found.is_plain and units in ((), ("ordinal",)))
