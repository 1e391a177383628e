"""Composes a synthetic answer: sentences, and the place and content of each of their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from eirene.npov.embedded import FIRST, FIRST_AS_IT_IS, FURTHER, FURTHER_AS_IT_IS
from eirene.synth.material import FILLERS, INTRODUCTIONS, JOINTS, TAILS
from eirene.text.clauses import clause_spans
from eirene.text.english import Decapitalizer, as_sentence, is_statement

PartKind = Literal["supported", "repeated", "unsupported", "wrong_side", "half"]
_FULL_STOPS = ".!…;:, "


@dataclass(frozen=True, slots=True)
class ArgumentPart:
    """One argument as a sentence says it, [start, end) in the sentence; later in the answer."""

    argument: str
    side: int
    text: str
    kind: PartKind
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ComposedSentence:
    """One sentence. `side` is whose mouth it stands in; None, and no parts, for introductions and fillers.

    `gap` is the white space before it, unless it is the first. `known` is False where it may say more than its parts:
    in a response that somebody else has written.
    """

    text: str
    side: int | None
    parts: tuple[ArgumentPart, ...] = ()
    start: int = 0
    known: bool = True
    gap: str = " "

    @property
    def end(self) -> int:
        """Offset behind the sentence in the answer."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Style:
    """How an answer is put together, beside what it says: introduction or not, fillers, and how often two arguments
    share a sentence or a tail is put behind one, as probabilities."""

    introduction: bool
    fillers: int
    merged: float
    tailed: float


def placed(sentences: Sequence[ComposedSentence]) -> tuple[ComposedSentence, ...]:
    """The sentences with the offsets that they, and their parts, have in the answer."""
    found: list[ComposedSentence] = []
    at = 0
    for s in sentences:
        at += len(s.gap) if found else 0
        parts = tuple(replace(p, start=p.start - s.start + at, end=p.end - s.start + at) for p in s.parts)
        found.append(replace(s, parts=parts, start=at))
        at += len(s.text)
    return tuple(found)


def answer_of(sentences: Sequence[ComposedSentence]) -> str:
    """The text of an answer."""
    return "".join((s.gap if n else "") + s.text for n, s in enumerate(sentences))


@lru_cache(maxsize=1 << 16)
def clauses_in(text: str) -> int:
    """How many clauses a sentence has, by the rules that the detectors cut with."""
    return sum(1 for _ in clause_spans(text))


class Composer:
    """Words answers on one topic. `who` names those who take each side; `letters` knows the topic's words."""

    def __init__(self, who: Sequence[str], letters: Decapitalizer) -> None:
        self._who = who
        self._letters = letters
        self._known: dict[str, str | None] = {}

    def compose(
        self, sides: Sequence[tuple[int, Sequence[ArgumentPart]]], style: Style, rng: np.random.Generator
    ) -> tuple[ComposedSentence, ...]:
        """The sentences of an answer; `placed` gives them the offsets that they have in it.

        `sides` are the numbers of the sides in the order in which they speak, each with what stands in its mouth.
        """
        body = [s for side, parts in sides for s in self._side(parts, side, style, rng)]
        for _ in range(style.fillers):
            body.insert(int(rng.integers(len(body) + 1)), ComposedSentence(filler(FILLERS, rng, body), None))
        if style.introduction:
            body.insert(0, ComposedSentence(filler(INTRODUCTIONS, rng, body), None))
        return tuple(body)

    def one(self, part: ArgumentPart, rng: np.random.Generator) -> ComposedSentence:
        """A sentence that says one argument of its own side and names who says it, wherever it stands."""
        return self._sentence([part], part.side, "", rng, first=True)

    def _side(
        self, parts: Sequence[ArgumentPart], side: int, style: Style, rng: np.random.Generator
    ) -> Iterator[ComposedSentence]:
        at = 0
        while at < len(parts):
            pair = list(parts[at : at + 2])
            can_merge = len(pair) == 2 and all(self._lowered(p.text) is not None for p in pair)
            group = pair if can_merge and rng.random() < style.merged else pair[:1]
            tail = TAILS[int(rng.integers(len(TAILS)))] if rng.random() < style.tailed else ""
            yield self._sentence(group, side, tail, rng, first=not at)
            at += len(group)

    def _sentence(
        self, group: Sequence[ArgumentPart], side: int, tail: str, rng: np.random.Generator, *, first: bool
    ) -> ComposedSentence:
        opening = self._lowered(group[0].text)
        if opening is None:
            table: Sequence[str] = FIRST_AS_IT_IS if first else FURTHER_AS_IT_IS
        else:
            table = FIRST if first else FURTHER
        bodies = [opening or as_sentence(group[0].text), *(self._lowered(p.text) or p.text for p in group[1:])]
        text, parts = table[int(rng.integers(len(table)))].format(who=self._who[side]) + " ", []
        for n, (part, body) in enumerate(zip(group, bodies, strict=True)):
            text += JOINTS[int(rng.integers(len(JOINTS)))] if n else ""
            bare = body.rstrip(_FULL_STOPS)
            # Not `replace`: this runs a hundred thousand times, and that would take as long as all the rest.
            parts.append(ArgumentPart(part.argument, part.side, part.text, part.kind, len(text), len(text) + len(bare)))
            text += bare
        return ComposedSentence(f"{text}, {tail}." if tail else f"{text}.", side, tuple(parts))

    def _lowered(self, text: str) -> str | None:
        """The text as it goes on after "that"; None where it cannot."""
        if text not in self._known:
            plain = as_sentence(text)
            self._known[text] = self._letters.lowered(plain) if is_statement(plain) else None
        return self._known[text]


def filler(table: dict[int, tuple[str, ...]], rng: np.random.Generator, body: Sequence[ComposedSentence]) -> str:
    """A sentence of the table that the answer has not yet, if there is one."""
    texts = table[1 + int(rng.integers(len(table)))]
    known = {s.text for s in body}
    free = [text for text in texts if text not in known] or list(texts)
    return free[int(rng.integers(len(free)))]
