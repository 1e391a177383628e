"""Material of a topic: arguments of one sentence that differ clearly from each other.

Whatever is left out is counted under its cause.

Every wording of synthetic answers that is nobody's argument: introductions, fillers, tails and joints.

They claim nothing about the matter. They come with one clause or with two, so that a count of clauses can be evened
out without a word that matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from eirene.data.topics import Argument, Topic, key_of
from eirene.npov.writers import FIRST, FIRST_AS_IT_IS, FURTHER, FURTHER_AS_IT_IS, speakers_of
from eirene.text.clauses import clause_spans
from eirene.text.edits.pieces import spaced
from eirene.text.english import Decapitalizer, as_sentence, is_statement
from eirene.text.sentences import split_sentences
from eirene.text.words import listed_sentences, stems

Tally = Counter[str]
"""How often something was left out, by cause."""

MIN_WORDS, MAX_WORDS = 3, 40
_NEAR = 0.7
"""Share of common stems from which two texts are too close for one to be missing while the other is said."""
_MARKER = re.compile(r"^(?:[-*+•]|\(?\d{1,3}[.)]|[A-Za-z][.)])\s")
_MARKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Point:
    """A usable argument of side `side`: the text that is given, and the usable paraphrases of it."""

    id: str
    side: int
    given: str
    paraphrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """A topic's usable arguments. `names` are the sides' names, `who` how a sentence calls those who take them."""

    topic: str
    question: str
    names: tuple[str, ...]
    who: tuple[str, ...]
    points: tuple[Point, ...]

    def of(self, side: int) -> tuple[Point, ...]:
        """The arguments of one side."""
        return tuple(point for point in self.points if point.side == side)


def material_of(topic: Topic, tally: Tally, *, only_sayable: bool = True) -> Material | None:
    """The usable part of a topic; None, with the cause in `tally`, where it has not two sides with an argument.

    Without `only_sayable` arguments stay that are too long, too short or too broken up to be said in a sentence.
    """
    if len(topic.sides) < 2:
        tally["topic: one side only" if topic.sides else "topic: no arguments"] += 1
        return None
    usable: list[tuple[int, Argument]] = []
    for n, side in enumerate(topic.sides):
        for argument in side.arguments:
            others = [earlier.text for _, earlier in usable]
            cause = (unusable(argument.text) if only_sayable else "") or near_copy(argument.text, others)
            if cause:
                tally[f"argument: {cause}"] += 1
            else:
                usable.append((n, argument))
    points = tuple(
        Point(
            argument.id,
            n,
            spaced(argument.text),
            _paraphrases(argument, [other.text for _, other in usable if other is not argument], tally),
        )
        for n, argument in usable
    )
    if {point.side for point in points} != set(range(len(topic.sides))):
        tally["topic: a side without a usable argument"] += 1
        return None
    names, who = tuple(side.name for side in topic.sides), tuple(speakers_of(side) for side in topic.sides)
    return Material(topic.id, topic.question, names, who, points)


def unusable(text: str) -> str:
    """Why a text cannot stand in a synthetic answer; empty if it can."""
    line = spaced(text)
    if not MIN_WORDS <= len(line.split()) <= MAX_WORDS:
        return f"not {MIN_WORDS} to {MAX_WORDS} words long"
    if line.rstrip("\"'”’)").endswith("?"):
        return "a question"
    if _MARKS.search(line) or _MARKER.match(line) or len(split_sentences(line)) != 1:
        return "not one plain sentence"
    return "" if stems(line) else "no content word"


def near_copy(text: str, others: Iterable[str]) -> str:
    """`a copy of another` or `nearly a copy of another`, if the text is one; else empty."""
    own, key = frozenset(stems(text)), key_of(text)
    for other in others:
        if key_of(other) == key:
            return "a copy of another"
        theirs = frozenset(stems(other))
        if len(own & theirs) >= _NEAR * max(1, len(own | theirs)):
            return "nearly a copy of another"
    return ""


def _paraphrases(argument: Argument, others: list[str], tally: Tally) -> tuple[str, ...]:
    """Those paraphrases that are usable, are not the text itself, and say nothing that another argument says."""
    kept: dict[str, str] = {key_of(argument.text): ""}
    for text in argument.paraphrases:
        cause = unusable(text) or near_copy(text, others) or ("a copy of its text" if key_of(text) in kept else "")
        if cause:
            tally[f"paraphrase: {cause}"] += 1
        else:
            kept[key_of(text)] = spaced(text)
    return tuple(text for text in kept.values() if text)


INTRODUCTIONS = {n: listed_sentences(f"introductions {n}") for n in (1, 2)}
FILLERS = {n: listed_sentences(f"fillers {n}") for n in (1, 2)}
TAILS = listed_sentences("tails")
"""A clause behind an argument that adds nothing to it."""
JOINTS = (", and that ", "; they add that ", ", as well as that ", "; they also say that ")
"""Two arguments of one side in one sentence."""


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
