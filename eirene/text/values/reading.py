"""Values of a text in reading order, and an index of a text that tells whether it has a value, in any notation."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import chain

from eirene.text.cancellation import check_cancelled
from eirene.text.remembered import remembered
from eirene.text.values.dates import find_dates
from eirene.text.values.mention import Mention, without_overlaps
from eirene.text.values.numbers import find_numbers, joined
from eirene.text.values.value import Values

_CACHED = 50_000
"""Characters of the longest text whose index is kept."""


def find_values(text: str, *, english: bool = True, others: Iterable[Mention] = ()) -> tuple[Mention, ...]:
    """The numbers, dates and times of a text, none of which overlap.

    `others` stand among them, and come first where they begin with one (an address has figures). Without `english` only
    figures are read.
    """
    found = chain(find_dates(text), find_numbers(text)) if english else find_numbers(text, words=False)
    return joined(text, without_overlaps(chain(others, found)))


class ValueIndex:
    """What a text has: its values, and the keys that they give."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.mentions = self._found()
        check_cancelled()

    def _found(self) -> tuple[Mention, ...]:
        return find_values(self._text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The keys that its mentions give."""
        return frozenset().union(*(m.gives for m in self.mentions))

    @cached_property
    def values(self) -> Values:
        """The values that its mentions may be."""
        return Values(value for m in self.mentions for value in m.values)

    def said(self, mention: Mention) -> str:
        """How one of its mentions is written, in lower case."""
        return self._text[mention.start : mention.end].casefold()

    def holds(self, mention: Mention) -> bool:
        """Whether a mention stands in the text, in any spelling."""
        return mention.stands_in(self.keys, self.values)


@remembered(512, longest=_CACHED)
def value_index(text: str) -> ValueIndex:
    """The index of a text; those of texts that are not very long are kept."""
    return ValueIndex(text)
