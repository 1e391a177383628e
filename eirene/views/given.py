"""What was given, in words: the text of an argument that a detector scores by its group and number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record
from eirene.core.scores import Scores, number
from eirene.text.sentences import split_sentences

Bearing = Callable[[Item], Sequence[str]]
"""The sentences of an item's passages that bear on its question, as `alignment` numbers them."""

OF_SENTENCES = frozenset({"alignment"})
"""Detectors that number sentences of the passages where others number passages."""
Number = float | None
"""A score, rounded to the three decimals that are shown; None where there is none."""


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """A given argument and its coverage error. Its number stands for a text that is not at hand: not `in_words`."""

    detector: str
    group: str
    text: str
    before: Number
    after: Number
    advisory: bool
    in_words: bool


@dataclass(frozen=True, slots=True)
class GivenTexts:
    """The texts by (detector, group, number). Of passages, `alignment` scores sentences and not whole passages."""

    item: Item | None
    bearing: Bearing | None = None

    def of(self, detector: str, scores: Scores) -> list[str | None]:
        """The text of each scored argument; None where it is not known."""
        given = None if self.item is None else grounding_for(self.item)
        if self.item is None or given is None or given.source == "derived":
            return [None] * len(scores.arguments)
        if given.source == "context" and detector in OF_SENTENCES:
            return self._of_sentences(self.item, len(scores.arguments))
        texts = {(group.name, n): text for group in given.groups for n, text in enumerate(group.arguments, start=1)}
        return [texts.get((a.group, a.n)) for a in scores.arguments]

    def _of_sentences(self, item: Item, count: int) -> list[str | None]:
        every = dict.fromkeys(s.text for text in item.context or () for s in split_sentences(text) if s.text)
        found: Sequence[str] = tuple(every)
        if len(found) != count and self.bearing is not None:
            found = self.bearing(item)
        return list(found) if len(found) == count else [None] * count


def arguments_of(record: Record, given: GivenTexts) -> Iterator[ShownArgument]:
    """A line for each argument that a detector scores: before and after. Those that decide nothing come last."""
    detectors = sorted(record.scores.original.items(), key=lambda found: found[0] in record.advisory)
    for name, before in detectors:
        after = record.scores.final.get(name)
        known = {} if after is None else {(a.group, a.n): rounded(number(a.coverage)) for a in after.arguments}
        for a, text in zip(before.arguments, given.of(name, before), strict=True):
            numbers = rounded(number(a.coverage)), known.get((a.group, a.n))
            what = "argument" if a.group != "context" else "sentence" if name in OF_SENTENCES else "passage"
            yield ShownArgument(name, a.group, text or f"{what} {a.n}", *numbers, name in record.advisory, bool(text))


def rounded(value: float | None) -> Number:
    """Three decimals."""
    return None if value is None else round(value, 3)
