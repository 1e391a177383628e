"""Claims of an edit: the clauses that it brings in, and the words that it puts into a sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eirene.text.clauses import clause_spans, core_text, opening_length
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span
from eirene.text.words import content_words, stems

_FEWEST = 3
"""Content words from which a piece may be a claim of its own."""
_JOINT = re.compile(
    r"[;:()\[\]—–]|,(?=\s)|\s-+\s|\s(?:and|but|or|while|yet|so|because|although|though)(?=\s)", re.IGNORECASE
)
_NEAR = 4_000
"""Characters of a sentence that are cut at every joint."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Words of the text after, `start` to `end`, that an edit brings in, and `text`, the same without an opening.

    `words` are the changed words that it comes from, None where the whole edit is new. A `loose` one is a piece cut at
    any joint, which may be no statement.
    """

    start: int
    end: int
    text: str
    words: tuple[int, ...] | None = None
    loose: bool = False


@dataclass(frozen=True, slots=True)
class Insertion:
    """Changed words, by index, that stand beside each other and bring `new` stems in; `start`, `end`: in the text
    after. `replaces` counts the content words that stood in their place.
    """

    words: tuple[int, ...]
    start: int
    end: int
    new: tuple[str, ...]
    replaces: int


def clauses_of(after: str, start: int, end: int) -> Iterator[Claim]:
    """The clauses of after[start:end]."""
    text = after[start:end]
    for a, b in clause_spans(text):
        if text[a:b].strip():
            yield Claim(start + a, start + b, core_text(text[a:b]))


def pieces_of(after: str, start: int, end: int) -> Iterator[Claim]:
    """The pieces of after[start:end] between all joints, each with content words enough; none where there is one."""
    start, end = start + opening_length(after[start:end]), min(end, start + _NEAR)
    cuts = [start, *(m.start() for m in _JOINT.finditer(after, start, end)), end]
    if len(cuts) == 2:
        return
    for a, b in pairwise(cuts):
        text = core_text(after[a:b].strip(" ,;:()[]—–-"))
        if len(content_words(text)) >= _FEWEST:
            yield Claim(a, b, text, loose=True)


def insertions_of(before: str, after: str, edit: SentenceEdit) -> Iterator[Insertion]:
    """What a reworded sentence brings in, in order: changed words with nothing but small words between them are one."""
    for group in _groups(after, edit):
        old: Counter[str] = Counter()
        new: Counter[str] = Counter()
        for k in group:
            old.update(stems(before[slice(*edit.words[k].before)]))
            new.update(stems(after[slice(*edit.words[k].after)]))
        brought = tuple((new - old).elements())
        if brought:
            start, end = edit.words[group[0]].after[0], edit.words[group[-1]].after[1]
            yield Insertion(tuple(group), start, end, brought, sum((old - new).values()))


def _groups(after: str, edit: SentenceEdit) -> Iterator[list[int]]:
    group: list[int] = []
    for k, word in enumerate(edit.words):
        if group and stems(after[edit.words[group[-1]].after[1] : word.after[0]]):
            yield group
            group = []
        group.append(k)
    if group:
        yield group


def touching(claim: Span, insertions: Sequence[Insertion]) -> tuple[int, ...]:
    """The changed words of those insertions that share a place with a span of the text after."""
    return tuple(k for i in insertions if i.start < claim[1] and claim[0] < i.end for k in i.words)
