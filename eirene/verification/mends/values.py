"""Value proposals: for a number, date or name of a sentence, those of a given one that could stand in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from eirene.text.specifics.index import find_specifics, keys_of
from eirene.text.specifics.mention import Mention
from eirene.verification.mends.proposal import Proposal

_VALUES = ("number", "date", "name")
_YEAR = re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)")
_DAY = re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_MONTH = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_PARTS = (_YEAR, _MONTH, _DAY)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\b|(?:first|second|third|th|ieth)\b", re.IGNORECASE)
_PEOPLE = ("ian", "ish", "ese", "ean", "can", "ench", "utch", "iard", "ans")
_POSSESSIVE = ("'s", "’s")


def value_proposals(sentence: str, given: str) -> Iterator[Proposal]:
    """Values of `given` that the sentence has not, each in the place of one of the sentence's that `given` has not.

    A number that stands more often in `given` may be meant once more; a name that the sentence has is not said again.
    """
    own, theirs = find_specifics(sentence), find_specifics(given)
    known = keys_of(given, theirs)
    new = [m for m in theirs if m.kind in _VALUES and _times(m, own) < (1 if m.kind == "name" else _times(m, theirs))]
    for old in own:
        if old.kind not in _VALUES or old.stands_in(known) or (old.is_weak and old.kind == "name"):
            continue
        for other in new:
            yield from _in_place(sentence, old, given, other)


def _times(value: Mention, mentions: Sequence[Mention]) -> int:
    """How often a value is among some."""
    return sum(value.is_same(other) for other in mentions if other.kind == value.kind)


def _in_place(sentence: str, old: Mention, given: str, new: Mention) -> Iterator[Proposal]:
    here, there = sentence[old.start : old.end], given[new.start : new.end]
    if old.kind == "name":
        if new.kind == "name" and not new.is_weak:
            here, there = _bare_name(here), _bare_name(there)
            if _is_people(here) == _is_people(there):
                yield Proposal(old.start, old.start + len(here), there, "entity")
        return
    if new.kind == "name":
        return
    if old.kind == "date" or new.kind == "date":
        found = _dated(here, there)
        same = old.kind == new.kind and found is None and _date_kind(old) == _date_kind(new) != "month"
        text = there if same else found
    else:
        text = _written_as(here, there, new) if _are_alike(here, old, there, new) else None
    if text and text != here:
        yield Proposal(old.start, old.end, text, "entity")


def _bare_name(text: str) -> str:
    return text[:-2] if text.endswith(_POSSESSIVE) else text


def _is_people(name: str) -> bool:
    """Whether a name is written as an adjective ("Italian"), which takes no country's place."""
    return name.lower().endswith(_PEOPLE)


def _dated(here: str, there: str) -> str | None:
    """A date written as it was, with the other's year, month and day; None where these are not enough.

    A day goes with its month; a year may stay.
    """
    found, at = here, []
    for part in _PARTS:
        mine, other = part.search(here), part.search(there)
        if mine is None or (other is None and part is _YEAR):
            continue
        if other is None:
            return None
        at.append((mine.start(), mine.end(), other.group()))
    for start, end, text in sorted(at, reverse=True):
        found = found[:start] + text + found[end:]
    return found if at else None


def _written_as(here: str, there: str, number: Mention) -> str:
    """A number in figures where the one before was, and without the capital of a sentence's first word."""
    value = next((key[2:] for key in sorted(number.gives) if re.fullmatch(r"n:\d{1,9}", key)), None)
    if here.isdecimal() and value is not None and not any(map(str.isdecimal, there)):
        return value
    return there[:1].lower() + there[1:] if here[:1].islower() and there[1:2].islower() else there


def _date_kind(date: Mention) -> str:
    """What a date tells first: a month, a weekday, a time, a decade, a century."""
    return min(key.partition(":")[0] for keys in date.asks for key in keys)


def _are_alike(here: str, old: Mention, there: str, new: Mention) -> bool:
    """Whether two numbers are of one unit and one form, so that one can take the other's place in a sentence."""
    forms = [(_units(m), bool(_ORDINAL.search(t)), bool(_YEAR.fullmatch(t))) for t, m in ((here, old), (there, new))]
    return forms[0] == forms[1] and (bool(_units(old)) or ("n:1" in old.gives) == ("n:1" in new.gives))


def _units(number: Mention) -> frozenset[str]:
    return frozenset(key.partition(" ")[2] for key in number.gives if key.startswith("n:") and " " in key)
