"""The specifics of a text, in reading order, and an index of a text that tells whether a specific stands in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import chain

from eirene.text.cancellation import check_cancelled
from eirene.text.specifics.addresses import find_addresses
from eirene.text.specifics.authorities import authority_keys, find_authorities
from eirene.text.specifics.dates import find_dates
from eirene.text.specifics.mention import Mention, without_overlaps
from eirene.text.specifics.names import find_names, word_keys, words_of
from eirene.text.specifics.numbers import find_numbers
from eirene.text.specifics.quotations import find_quotations, flat

_ROUGH = 0.05
"""How far a number that is said to be rough may be from the one that it stands for, as a share of it."""
_DIGITS = 24
_CACHED = 50_000
"""Characters of the longest text whose index is kept."""


def find_specifics(text: str, *, english: bool = True) -> tuple[Mention, ...]:
    """The specifics of a text in reading order. Quotations may hold others; among the rest none overlap.

    Without `english` only what needs no grammar: figures, quotations, addresses.
    """
    addresses = tuple(find_addresses(text))
    numbers = chain(find_dates(text), find_numbers(text)) if english else find_numbers(text, words=False)
    plain = without_overlaps(chain(addresses, numbers))
    worded = _outside(chain(find_names(text), find_authorities(text)), plain) if english else iter(())
    return tuple(sorted(chain(find_quotations(text), plain, worded), key=lambda m: (m.start, m.end)))


def _outside(mentions: Iterator[Mention], taken: tuple[Mention, ...]) -> Iterator[Mention]:
    """Mentions that do not begin inside those taken, as the name of a month in a date would."""
    inside = {at for m in taken if m.end - m.start <= 500 for at in range(m.start, m.end)}
    return (m for m in mentions if m.start not in inside)


def keys_of(text: str, mentions: Iterable[Mention]) -> frozenset[str]:
    """The keys that a text gives, by its words and by its mentions."""
    words = words_of(text)
    return frozenset().union(authority_keys(words), *map(word_keys, words), *(m.gives for m in mentions))


class SpecificsIndex:
    """What a text gives: the keys of its specifics and words."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.mentions = find_specifics(text)
        check_cancelled()
        self.keys = keys_of(text, self.mentions)

    @cached_property
    def names(self) -> frozenset[str]:
        """The keys of the words that are names for sure."""
        return frozenset().union(*(m.gives for m in self.mentions if m.kind == "name" and not m.is_weak))

    def holds(self, mention: Mention) -> bool:
        """Whether a specific stands in the text, in any spelling; a quotation word for word."""
        if mention.kind == "quotation":
            return all(part in self._flat for parts in mention.asks for part in parts)
        return mention.stands_in(self.keys) or (mention.about is not None and self._has_near(mention))

    @cached_property
    def _flat(self) -> str:
        return flat(self._text)

    @cached_property
    def _values(self) -> tuple[tuple[float, str], ...]:
        return tuple(found for key in self.keys if (found := _value(key)) is not None)

    def _has_near(self, mention: Mention) -> bool:
        units = {found[1] for key in mention.gives if (found := _value(key)) is not None}
        wanted = mention.about or 0.0
        return any(unit in units and abs(value - wanted) <= _ROUGH * abs(value) for value, unit in self._values)


def _value(key: str) -> tuple[float, str] | None:
    """The value and unit of a number's key; None for other keys."""
    if not key.startswith("n:") or key.endswith("*"):
        return None
    number, _, unit = key[2:].partition(" ")
    above, _, below = number.partition("/")
    if not above.isdecimal() or len(above) > _DIGITS or (below and not (below.isdecimal() and int(below))):
        return None
    return int(above) / int(below or 1), unit


def specifics_index(text: str) -> SpecificsIndex:
    """The index of a text; those of texts that are not very long are kept."""
    return _kept(text) if len(text) <= _CACHED else SpecificsIndex(text)


_kept = lru_cache(maxsize=512)(SpecificsIndex)
