"""Mention: a number, date, name, quotation or address in a text, by offsets and by keys.

Two spellings of the same thing ("1,000", "a thousand") share a key. What a text holds is the union of the keys that
its mentions give; a mention stands in it where each of its sets of alternatives is met there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from eirene.text.values.value import Bound, Value, Values

MentionKind = Literal["number", "date", "name", "quotation", "address"]


@dataclass(frozen=True, slots=True)
class Mention:
    """One specific of a text. `asks`: sets of keys, of each of which a text must hold one to have the same; `gives`:
    the keys that it puts into its own text.

    `is_weak`: too plain to count alone ("one", "first"; a capital at a sentence start), though it may be exchanged.
    `values`: what a number, date or time may be, and `bound` how it is said ("about 1,500", "over 2 km").
    """

    kind: MentionKind
    start: int
    end: int
    asks: tuple[frozenset[str], ...]
    gives: frozenset[str] = frozenset()
    is_weak: bool = False
    values: tuple[Value, ...] = ()
    bound: Bound = ""

    def stands_in(self, keys: frozenset[str], values: Values | None = None) -> bool:
        """Whether keys meet each of `asks`, or a value is said by it; never where there is nothing to ask for."""
        if self.asks and all(not wanted.isdisjoint(keys) for wanted in self.asks):
            return True
        return values is not None and any(values.said_by(v, self.bound) for v in self.values)

    def is_same(self, other: Mention) -> bool:
        """Whether one says no more than the other: "May 2019" and "12 May 2019", "5 km" and "5,000 metres"."""
        if other.values and self.stands_in(frozenset(), Values(other.values)):
            return True
        there, here = self.stands_in(other.gives), other.stands_in(self.gives)
        return there and here if len(self.asks) == len(other.asks) else there or here


def without_overlaps(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    """Mentions in reading order; of two that overlap the one that begins first stays, then the one given first."""
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda m: m.start):
        if not kept or mention.start >= kept[-1].end:
            kept.append(mention)
    return tuple(kept)
