"""Notation: a sentence with its values written as given texts write them, "18 metres" for "59 feet"."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from eirene.text.values.dates import MONTH
from eirene.text.values.mention import Mention
from eirene.text.values.reading import find_values, value_index
from eirene.text.values.value import POINTS, Values

_KEPT = 3
"""Given values of one key that are compared with one of a sentence."""
_PARTS = (re.compile(r"(?<!\d)(?:1\d|20)\d\d(?!\d)"), MONTH, re.compile(r"(?<!\d)\d{1,2}(?!\d)"))
"""The year, month and day of a date."""


class Notation:
    """How some texts write their numbers, dates and times."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._written: dict[Mention, str] = {}
        self._by_key: dict[str, list[Mention]] = defaultdict(list)
        self._by_value: dict[tuple[Fraction, str], Mention] = {}
        for text in dict.fromkeys(texts):
            for mention in value_index(text).mentions:
                self._add(mention, text[mention.start : mention.end])
        self._values = Values(v for mention in self._written for v in mention.values)
        self._said = {said.casefold() for said in self._written.values()}

    def _add(self, mention: Mention, said: str) -> None:
        self._written[mention] = said
        for key in frozenset().union(*mention.asks):
            if len(self._by_key[key]) < _KEPT:
                self._by_key[key].append(mention)
        for v in mention.values:
            self._by_value.setdefault((v.amount, v.unit), mention)

    def written(self, sentence: str) -> str:
        """The sentence with each value that the texts have in another notation written as there."""
        parts, at = [], 0
        for mention in find_values(sentence):
            said = sentence[mention.start : mention.end]
            other = None if said.casefold() in self._said else self._equal(mention)
            if other is not None:
                parts += [sentence[at : mention.start], _cased(self._written[other], said)]
                parts += ["."] * (said.endswith(".") and not sentence[mention.end :].strip())  # "at 7 p.m."
                at = mention.end
        return "".join([*parts, sentence[at:]])

    def _equal(self, mention: Mention) -> Mention | None:
        for key in sorted(frozenset().union(*mention.asks)):
            for other in self._by_key.get(key, ()):
                if _are_equal(mention, other):
                    return other
        found = (self._values.said_by(v, mention.bound) for v in mention.values if mention.bound in ("", "about"))
        value = next((pair for pair in found if pair is not None), None)
        return None if value is None else self._by_value[value]


def _are_equal(one: Mention, other: Mention) -> bool:
    """Whether each says the other: a year alone says no day, and "5" no "5 km"."""
    bases, others = ({v.base.replace("ordinal", "") for v in m.values} - POINTS for m in (one, other))
    return (
        (bases == others or not bases.isdisjoint(others)) and one.stands_in(other.gives) and other.stands_in(one.gives)
    )


def _cased(new: str, old: str) -> str:
    return new[0].upper() + new[1:] if old[:1].isupper() else new


def written_like(here: str, old: Mention, there: str, new: Mention) -> str | None:
    """A value `there` in the form of another one, `here`, in whose place it is to stand; None where it does not fit.

    A number takes the place of one of its unit and form, a date that of a date of its kind, or lends it its year, month
    and day.
    """
    if "date" in (old.kind, new.kind):
        found = _dated(here, there)
        is_kind = old.kind == new.kind and _date_kind(old) == _date_kind(new) != "month"
        return found or (there if is_kind else None)
    bases = {v.base for v in old.values}
    if bases != {v.base for v in new.values} or (not any(bases) and ("n:1" in old.gives) != ("n:1" in new.gives)):
        return None
    whole = next((v.amount for v in new.values if v.amount.denominator == 1), None)
    if here.isdecimal() and whole is not None and not any(map(str.isdecimal, there)):
        return str(whole)
    return there[:1].lower() + there[1:] if here[:1].islower() and there[1:2].islower() else there


def _dated(here: str, there: str) -> str | None:
    """A date written as it was, with the other's year, month and day; None where these are not enough.

    A day goes with its month; a year may stay.
    """
    found, at = here, []
    for part in _PARTS:
        mine, other = part.search(here), part.search(there)
        if mine is None or (other is None and part is _PARTS[0]):
            continue
        if other is None:
            return None
        at.append((mine.start(), mine.end(), other.group()))
    for start, end, text in sorted(at, reverse=True):
        found = found[:start] + text + found[end:]
    return found if at else None


def _date_kind(date: Mention) -> str:
    """What a date tells first: a month, a weekday, a time, a decade, a century."""
    return min(key.partition(":")[0] for keys in date.asks for key in keys)
