"""Notation: a sentence with its values written as given texts write them, "18 metres" for "59 feet"."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from eirene.text.values.mention import Mention
from eirene.text.values.reading import find_values, value_index
from eirene.text.values.value import POINTS, Values

_KEPT = 3
"""Given values of one key that are compared with one of a sentence."""


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
    bases, others = ({v.base for v in m.values} - POINTS for m in (one, other))
    return (
        (bases == others or not bases.isdisjoint(others)) and one.stands_in(other.gives) and other.stands_in(one.gives)
    )


def _cased(new: str, old: str) -> str:
    return new[0].upper() + new[1:] if old[:1].isupper() else new
