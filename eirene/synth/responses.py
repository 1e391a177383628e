"""Synthetic errors in existing responses: the given arguments change, the response hardly does.

The NPOV paper's recipe (section 4.2): an unused argument is added to those that are given (a coverage error), a given
one is taken away (a hallucination), or both; where arguments have paraphrases, they are given in those. The number of
arguments then tells the errors apart, which composed answers avoid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.signature import rng_for
from eirene.data.topics import Topic, key_of
from eirene.synth.matching import AnswerGroup, AnswerRecipe, Candidate, counts_of, is_cut_as_composed
from eirene.synth.material import (
    ArgumentPart,
    ComposedSentence,
    Composer,
    Material,
    Point,
    Tally,
    material_of,
    placed,
    unusable,
)
from eirene.synth.plans import AnswerPlan, Kind, Wording
from eirene.text.english import Decapitalizer
from eirene.text.sentences import split_sentences

_UNSAYABLE: frozenset[Kind] = frozenset({"wrong_side", "partial"})
"""Kinds for which the response itself would have to be rewritten."""


@dataclass(frozen=True, slots=True)
class Base:
    """A response without errors: its topic, the arguments it says (by side), and its sentences."""

    id: str
    material: Material
    used: tuple[tuple[Point, ...], ...]
    sentences: tuple[ComposedSentence, ...]


def bases_of(items: Iterable[Item], topics: Sequence[Topic], tally: Tally) -> Iterator[Base]:
    """The responses whose topic and arguments are found; the others are counted.

    A response is an item whose perspectives hold the arguments that it says, in the words of the topic; the topic is
    the one that `meta` names (`topic`, or `npov.topic` as `eirene npov --json` writes), else the one with its question.
    """
    by_id = {topic.id: topic for topic in topics}
    by_name = {key_of(name): topic for topic in reversed(topics) for name in reversed(topic.names)}
    materials: dict[str, Material | None] = {}
    for item in items:
        topic = by_id.get(_topic_id(item)) or by_name.get(key_of(item.question))
        if topic is None:
            tally["response: its topic is not in the file"] += 1
            continue
        if topic.id not in materials:
            materials[topic.id] = material_of(topic, tally, only_sayable=False)
        material = materials[topic.id]
        if material is None:
            tally["response: its topic is not usable"] += 1
            continue
        used = _used(item, material)
        if used is None:
            tally["response: an argument or a side that its topic does not have, or that is there twice"] += 1
            continue
        yield Base(item.id, material, used, _sentences(item.answer, used))


def groups_from(bases: Sequence[Base], recipe: AnswerRecipe, tally: Tally) -> Iterator[AnswerGroup]:
    """Groups of answers, each one response with other arguments given."""
    kinds = [kind for kind in recipe.kinds if kind not in _UNSAYABLE]
    if not kinds:
        said = "with given responses the kinds are none, coverage, hallucination, both, repetition; got "
        raise InputError(f"{said}{', '.join(recipe.kinds)}", field="kinds")
    for wording in recipe.wordings:
        for base in bases:
            given = _given_as(base, wording, recipe.seed, tally)
            if given is not None:
                made = {kind: _Maker(given, rng_for(recipe.seed, "synth", given.id, kind)).make(kind) for kind in kinds}
                answers = {k: a for k, a in made.items() if a is not None and is_cut_as_composed(a.sentences)}
                yield AnswerGroup(f"{given.id}-{wording}", wording, answers)


def _topic_id(item: Item) -> str:
    npov = item.meta.get("npov")
    named = npov.get("topic") if isinstance(npov, dict) else item.meta.get("topic")
    return named if isinstance(named, str) else ""


def _used(item: Item, material: Material) -> tuple[tuple[Point, ...], ...] | None:
    """The topic's arguments that the item gives, by side; None where one is not found, or a side has none."""
    known = {(material.names[p.side], key_of(text)): p for p in material.points for text in (p.given, *p.paraphrases)}
    found = [
        known.get((side.name, key_of(argument))) for side in item.perspectives or () for argument in side.arguments
    ]
    points = [point for point in found if point is not None]
    sides = tuple(tuple(p for p in points if p.side == n) for n in range(len(material.names)))
    complete = len(points) == len(found) == len({p.id for p in points}) and all(sides)
    return sides if complete else None


def _sentences(answer: str, used: Sequence[Sequence[Point]]) -> tuple[ComposedSentence, ...]:
    """The response's sentences, each with the arguments that it says word for word; what it says otherwise is not
    known, and then no sentence is known to say nothing else."""
    cut = [s for s in split_sentences(answer) if s.text]
    gaps = [""] + [answer[one.text_end : other.text_start] for one, other in pairwise(cut)]
    found = [[_located(p, s.text) for side in used for p in side] for s in cut]
    parts = [tuple(part for part in parts if part is not None) for parts in found]
    known = {part.argument for some in parts for part in some} == {p.id for side in used for p in side}
    return placed(
        [
            ComposedSentence(s.text, some[0].side if some else None, some, known=known and bool(some), gap=gap or " ")
            for s, some, gap in zip(cut, parts, gaps, strict=True)
        ]
    )


def _located(point: Point, text: str) -> ArgumentPart | None:
    for wording in (point.given, *point.paraphrases):
        bare = wording.rstrip(" .!…")
        at = text.casefold().find(bare.casefold())
        if at >= 0 and len(text.casefold()) == len(text):
            return ArgumentPart(point.id, point.side, wording, "supported", at, at + len(bare))
    return None


def _given_as(base: Base, wording: Wording, seed: int, tally: Tally) -> Base | None:
    """The response with its arguments given as they are, or each by one of its paraphrases."""
    if wording == "given":
        return base
    if not all(point.paraphrases for side in base.used for point in side):
        tally["response: an argument without a paraphrase"] += 1
        return None
    rng = rng_for(seed, "synth", base.id, "given")
    new = {
        p.id: replace(p, given=p.paraphrases[int(rng.integers(len(p.paraphrases)))])
        for p in base.material.points
        if p.paraphrases
    }
    material = replace(base.material, points=tuple(new[p.id] for p in base.material.points if p.id in new))
    return replace(base, material=material, used=tuple(tuple(new[p.id] for p in side) for side in base.used))


class _Maker:
    def __init__(self, base: Base, rng: np.random.Generator) -> None:
        self._base = base
        self._rng = rng
        material = base.material
        self._sayable = [p for side in base.used for p in side if not unusable(p.given)]
        self._composer = Composer(material.who, Decapitalizer([material.question, *(p.given for p in material.points)]))

    def make(self, kind: Kind) -> Candidate | None:
        """An answer of a kind with the response's text as it is, but for a repetition; None where there can be none."""
        used = self._base.used
        spare = [p for p in self._base.material.points if not any(p.id == q.id for side in used for q in side)]
        removable = [p for side in used if len(side) > 1 for p in side]
        added = self._one_of(spare) if kind in ("coverage", "both") else None
        removed = self._one_of(removable) if kind in ("hallucination", "both") else None
        again = self._one_of(self._sayable) if kind == "repetition" else None
        wanted = {"coverage": [added], "hallucination": [removed], "both": [added, removed], "repetition": [again]}
        if None in wanted.get(kind, ()):
            return None
        given = [[p for p in side if p is not removed] for side in used]
        if added is not None:
            given[added.side].insert(int(self._rng.integers(len(given[added.side]) + 1)), added)
        plan = AnswerPlan(
            kind,
            tuple(map(tuple, given)),
            (),
            () if added is None else (added,),
            () if removed is None else (removed,),
        )
        sentences = self._text(removed, again)
        counts = counts_of(plan, sentences)
        return Candidate(self._base.material, plan, sentences, counts, None, self._base.id)

    def _text(self, removed: Point | None, again: Point | None) -> tuple[ComposedSentence, ...]:
        """The response's sentences, what is taken away marked as not given; what is said again names its side."""
        body = []
        for sentence in self._base.sentences:
            parts = [
                replace(p, kind="unsupported") if removed is not None and p.argument == removed.id else p
                for p in sentence.parts
            ]
            body.append(replace(sentence, parts=tuple(parts)))
        if again is not None:
            part = ArgumentPart(again.id, again.side, again.given, "repeated")
            body.insert(1 + int(self._rng.integers(len(body))), self._composer.one(part, self._rng))
        return placed(body)

    def _one_of(self, points: Sequence[Point]) -> Point | None:
        return points[int(self._rng.integers(len(points)))] if points else None
