"""Numbers in a text, by offsets and by value: figures and number words, percent, money, units, ordinals, fractions.

"1,000", "1 000", "1000" and "a thousand" have one key; "5 km" and "5 miles" have two, and a bare "5" fits either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from eirene.text.specifics.mention import Mention
from eirene.text.specifics.number_words import SCALES, WordNumber, word_numbers
from eirene.text.specifics.units import UNITS, unit_at

# Letters with which a figure makes a code ("A4", "4G"); those of other scripts may stand next to a number of its own.
_CASED = r"A-Za-z\u00aa\u00b5\u00ba\u00c0-\u058f\u1e00-\u1fff"
_FIGURE = re.compile(
    rf"""(?<![\d{_CASED}])(?<![\d][.,\u066b\u066c])(?P<money>(?:US|AU|CA|HK)?\$\s?|[£€¥₹]\s?)?
        (?P<figure>\d{{1,3}}(?:[ \u00a0\u2009\u202f]\d{{3}})+(?![\d,])|\d+(?:[.,/\u066b\u066c]\d+)*)""",
    re.VERBOSE,
)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b", re.IGNORECASE)
_SCALE = re.compile(rf"[\s\u00a0]?-?({'|'.join(SCALES)})s?\b", re.IGNORECASE)
_SHORT = re.compile(r"\s?(k|m|mn|mln|bn|b|tn)\b", re.IGNORECASE)
_SHORT_SCALES = {"k": 10**3, "m": 10**6, "mn": 10**6, "mln": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
_LETTER = re.compile(rf"[{_CASED}]")
_CODE = re.compile(rf"[\d{_CASED}]+")
_MARKER = re.compile(r"(?:^|[\r\n])[ \t>*#|-]{0,12}\(?$")
_MARKED = re.compile(r"[.)]\s|[、．]")
_CITED = re.compile(r"\[\d{1,3}(?:[,;\u2013-] ?\d{1,3}){0,9}\]")
_GIVEN = re.compile(
    r"(?<!\w)(?:passages?|sources?|documents?|references?|arguments?)\s(?:ID\s|no\.\s)?$", re.IGNORECASE
)
_ROUGHLY = re.compile(
    r"(?<!\w)(?:about|around|nearly|almost|roughly|approximately|some|over|under|more than|less than|at least|up to|~)"
    r"\s{1,2}(?:US)?[$£€¥₹]?$",
    re.IGNORECASE,
)
_YEARS_FROM, _YEARS_TO = 1000, 2100
_SPAN_OF_YEARS = re.compile(r"(?<!\d)(\d\d)\d\d[-\u2013/]$")  # "1992-93"
_RANGE = re.compile(r"\s?(?:[-\u2013]|to|and|or)\s?(?:US)?[$£€¥₹]?\d[\d.,]{0,12}")
_SEPARATORS = str.maketrans("\u066b\u066c", ".,")
"""Arabic's decimal and thousands separators."""
_LONGEST = 24
"""Most characters of a figure that is read as a value; a longer one is compared as it is written."""


def find_numbers(text: str, *, words: bool = True) -> Iterator[Mention]:
    """The numbers of a text, figures first, then those in English `words`.

    Markers of lists ("1.") and of citations ("[3]", "passage 3") are none.
    """
    for match in _FIGURE.finditer(text):
        if not _is_mark(text, match):
            yield from _figure(text, match)
    for found in word_numbers(text) if words else ():
        yield _worded(text, found)


def number_keys(value: Fraction, unit: str = "") -> frozenset[str]:
    """The keys that a number gives: its value, with and without its unit, a year's decade and century."""
    name = f"n:{value}"
    keys = {f"{name} {unit}", f"{name}*"} if unit else {name}
    if unit == "percent":
        keys.add(f"f:{value / 100}")
    elif 0 < value < 1:
        keys.add(f"f:{value}")
    if unit in ("", "year") and value.denominator == 1 and _YEARS_FROM <= value <= _YEARS_TO:
        keys |= {f"decade:{value // 10}", f"century:{(value - 1) // 100 + 1}"}
    keys |= {f"many:{scale}" for scale in SCALES.values() if scale <= value < scale * 1000 and not unit}
    return frozenset(keys)


def _asks(value: Fraction, unit: str) -> frozenset[str]:
    name = f"n:{value}"
    if unit == "percent":
        return frozenset([f"{name} percent", f"f:{value / 100}"])
    return frozenset([f"{name} {unit}", name] if unit else [name, f"{name}*"] + [f"f:{value}"] * (0 < value < 1))


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


def _figure(text: str, match: re.Match[str]) -> Iterator[Mention]:
    start, end = match.span()
    figure = match.group("figure")
    if len(figure) > _LONGEST or figure.count("/") > 1:
        key = frozenset([f"n:{figure}"])
        yield Mention("number", start, end, (key,), key)
        return
    money = (match.group("money") or "").strip().lower()
    values = _values(figure)
    ordinal = _ORDINAL.match(text, end)
    if ordinal:
        yield _mention(text, start, ordinal.end(), values[:1], "")
        return
    scale, end = _scale_at(text, end, is_money=bool(money))
    values = [value * scale for value in values]
    unit, end = (UNITS.get(money, money[-1]), end) if money else unit_at(text, end)
    if _LETTER.match(text, end):  # part of a code: "4G", "5x"
        code = _CODE.match(text, match.start("figure"))
        key = frozenset([f"n:{code.group().lower() if code else figure}"])
        yield Mention("number", start, code.end() if code else end, (key,), key)
        return
    before = _SPAN_OF_YEARS.search(text, max(0, start - 5), start) if end - start == 2 else None
    if before and values:
        values = [values[0], Fraction(int(before.group(1) + figure))]
    made = _mention(text, start, end, values, unit)
    ahead = None if unit else _RANGE.match(text, end)  # "10 to 20 percent"
    shared = unit_at(text, ahead.end())[0] if ahead else ""
    more = frozenset().union(*(number_keys(value, shared) for value in values)) if shared else frozenset()
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


def _mention(text: str, start: int, end: int, values: list[Fraction], unit: str) -> Mention:
    gives = frozenset().union(*(number_keys(value, unit) for value in values))
    asks = frozenset().union(*(_asks(value, unit) for value in values))
    about = float(values[0]) if _is_rough(text, start, values[0]) else None
    return Mention("number", start, end, (asks,), gives, about=about)


def _is_rough(text: str, start: int, value: Fraction) -> bool:
    digits = str(value).rstrip("0")
    return len(digits) <= 2 and value >= 20 and _ROUGHLY.search(text, max(0, start - 16), start) is not None


def _worded(text: str, found: WordNumber) -> Mention:
    if found.is_vague:
        asks = frozenset([f"many:{found.value}"])
        return Mention("number", found.start, found.end, (asks,), asks)
    unit, end = ("", found.end) if found.is_ordinal else unit_at(text, found.end)
    made = _mention(text, found.start, end, [found.value], unit)
    if not found.is_plain or unit:
        return made
    return Mention("number", made.start, made.end, made.asks, made.gives, is_weak=True)
