"""Matched answers, one of each kind, which no count tells apart.

An answer that leaves an argument out is shorter than one that does not, and one that adds an argument is longer: a
detector that counts would look good without reading a word. So many answers of each kind are made, and a group is
picked of which all members have the same number of given arguments, of sentences and of clauses, and nearly as many
words.

Groups of synthetic answers on one topic: one of each kind, alike in all that can be counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eirene.core.errors import InputError
from eirene.core.signature import check_seed, rng_for
from eirene.synth.material import (
    TAILS,
    ComposedSentence,
    Composer,
    Material,
    Style,
    Tally,
    answer_of,
    clauses_in,
    placed,
)
from eirene.synth.plans import CORE, KINDS, WORDINGS, AnswerPlan, Frame, Kind, Wording, draw, draw_frame, shapes_of
from eirene.text.english import Decapitalizer
from eirene.text.sentences import split_sentences

_CLAUSE, _EMPTY = 3, 5
"""Words that a clause, and a clause that claims nothing, weigh when answers are compared."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a detector that reads nothing can count; and two counts that take some reading.

    `words` are those of the answer, split at white space. `empty`: clauses that claim nothing about the matter.
    `repeats`: arguments said again.
    """

    arguments: int
    sentences: int
    clauses: int
    words: int
    argument_words: int
    empty: int
    repeats: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer of some kind that may be picked. `key` is what all members of a group must share; `source` names the
    response that the answer was made from, where one was given."""

    material: Material
    plan: AnswerPlan
    sentences: tuple[ComposedSentence, ...]
    counts: Counts
    key: Hashable
    source: str = ""


def counts_of(plan: AnswerPlan, sentences: Sequence[ComposedSentence]) -> Counts:
    """The counts of an answer and of what is given for it."""
    given = [point.given for side in plan.given for point in side]
    clauses = [clauses_in(s.text) for s in sentences]
    fillers = sum(n for n, s in zip(clauses, sentences, strict=True) if s.side is None and s.known)
    return Counts(
        arguments=len(given),
        sentences=len(sentences),
        clauses=sum(clauses),
        words=sum(len(s.text.split()) for s in sentences),
        argument_words=sum(len(text.split()) for text in given),
        empty=fillers + sum(s.text.endswith(tuple(f"{tail}." for tail in TAILS)) for s in sentences),
        repeats=sum(part.kind == "repeated" for s in sentences for part in s.parts),
    )


def is_cut_as_composed(sentences: Sequence[ComposedSentence]) -> bool:
    """Whether the sentence splitter finds the sentences that were put together: labels would be off otherwise."""
    found = split_sentences(answer_of(sentences))
    return [s.text for s in found] == [s.text for s in sentences]


def pick(
    pools: Mapping[Kind, Sequence[Candidate]], *, needed: Sequence[Kind], further: Sequence[Kind]
) -> dict[Kind, Candidate] | None:
    """One candidate of each needed kind, and of those further kinds that have one with the same key; None: no such key.

    Of several keys the one is taken that most further kinds have, then the one whose answers are closest to each other.
    """
    by_key: dict[Hashable, dict[Kind, list[Candidate]]] = {}
    for kind in (*needed, *further):
        for candidate in pools.get(kind, ()):
            by_key.setdefault(candidate.key, {}).setdefault(kind, []).append(candidate)
    complete = [held for held in by_key.values() if all(kind in held for kind in needed)]
    most = max(map(len, complete), default=0)
    groups = [group for held in complete if len(held) == most for group in _groups(held)]
    return min(groups, key=lambda pair: pair[0])[1] if groups else None


def distance(one: Counts, other: Counts) -> float:
    """How far apart two answers are in what may differ within a group, in words."""
    extra = abs((one.words - one.argument_words) - (other.words - other.argument_words))
    return (
        abs(one.words - other.words)
        + extra
        + _CLAUSE * abs(one.clauses - other.clauses)
        + _EMPTY * abs(one.empty - other.empty)
    )


def _groups(held: Mapping[Kind, Sequence[Candidate]]) -> list[tuple[float, dict[Kind, Candidate]]]:
    """Around each candidate of the rarest kind, the nearest of the others, and how far they are off in all."""
    rarest = min(held, key=lambda kind: len(held[kind]))
    found = []
    for centre in held[rarest]:
        near = {kind: min(cs, key=lambda c: distance(c.counts, centre.counts)) for kind, cs in held.items()}
        found.append((sum(distance(c.counts, centre.counts) for c in near.values()), near))
    return found


_TRIES = 3
"""Frames that are tried for one group."""
_DRAWS = 40
"""Answers of each kind that are made for one try."""
_MERGED, _TAILED = (0.0, 0.3, 0.6), (0.0, 0.2, 0.4, 0.7)
_INTRODUCED = 0.7


@dataclass(frozen=True, slots=True)
class AnswerRecipe:
    """What is to be made. `per_topic`: groups for each topic and wording; `most`: arguments given on one side at most.

    Raises `InputError` for a number out of range.
    """

    kinds: tuple[Kind, ...] = KINDS
    wordings: tuple[Wording, ...] = WORDINGS
    per_topic: int = 2
    most: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        if not 1 <= self.per_topic <= 1000:
            raise InputError(f"per-topic must lie in [1, 1000], got {self.per_topic}", field="per-topic")
        if not 2 <= self.most <= 12:
            raise InputError(f"most must lie in [2, 12], got {self.most}", field="most")

    @property
    def needed(self) -> tuple[Kind, ...]:
        """The kinds that every group has: those of the paper; where none of them is asked for, the first that is."""
        return tuple(kind for kind in self.kinds if kind in CORE) or self.kinds[:1]

    @property
    def further(self) -> tuple[Kind, ...]:
        """The kinds that a group has where the topic gives them."""
        return tuple(kind for kind in self.kinds if kind not in self.needed)


@dataclass(frozen=True, slots=True)
class AnswerGroup:
    """Answers of several kinds that counts do not tell apart. `name` is unique in a run."""

    name: str
    wording: Wording
    answers: dict[Kind, Candidate]


def groups_of(material: Material, recipe: AnswerRecipe, tally: Tally) -> Iterator[AnswerGroup]:
    """The groups of one topic; what could not be made is counted in `tally`."""
    for wording in recipe.wordings:
        own = replace(material, points=tuple(p for p in material.points if wording == "given" or p.paraphrases))
        shapes = shapes_of(own, most=recipe.most)
        if not shapes:
            tally[f"topic: too few arguments that can be said in wording {wording!r}"] += 1
            continue
        texts = [text for point in own.points for text in (point.given, *point.paraphrases)]
        composer = Composer(own.who, Decapitalizer([own.question, *texts]))
        for n in range(recipe.per_topic):
            rng = rng_for(recipe.seed, "synth", material.topic, wording, n)
            for _ in range(_TRIES):
                answers = _group(own, draw_frame(shapes, wording, rng), recipe, composer, rng)
                if answers is not None:
                    yield AnswerGroup(f"{material.topic}-{wording}-{n}", wording, answers)
                    break
            else:
                tally["group: no answers of equal counts"] += 1


def _group(
    material: Material, frame: Frame, recipe: AnswerRecipe, composer: Composer, rng: np.random.Generator
) -> dict[Kind, Candidate] | None:
    introduction, fillers = bool(rng.random() < _INTRODUCED), int(rng.integers(3))
    pools: dict[Kind, list[Candidate]] = {}
    for kind in recipe.kinds:
        pool = pools.setdefault(kind, [])
        for _ in range(_DRAWS):
            plan = draw(kind, material, frame, rng)
            if plan is None:
                continue
            style = Style(introduction, fillers, _one(_MERGED, rng), _one(_TAILED, rng))
            order = [int(side) for side in rng.permutation(len(plan.said))]
            sentences = composer.compose([(side, plan.said[side]) for side in order], style, rng)
            counts = counts_of(plan, sentences)
            pool.append(Candidate(material, plan, sentences, counts, (counts.sentences, counts.clauses)))
    found = pick(pools, needed=recipe.needed, further=recipe.further)
    if found is None or not all(is_cut_as_composed(c.sentences) for c in found.values()):
        return None
    return {kind: replace(c, sentences=placed(c.sentences)) for kind, c in found.items()}


def _one(choices: tuple[float, ...], rng: np.random.Generator) -> float:
    return choices[int(rng.integers(len(choices)))]
