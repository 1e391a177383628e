"""Error plans of synthetic answers, by kind: what is given, what is said, and how the two differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar, get_args

import numpy as np

from eirene.core.errors import InputError
from eirene.synth.material import ArgumentPart, Material, PartKind, Point, unusable
from eirene.text.clauses import clause_spans

T = TypeVar("T")
Name = TypeVar("Name", bound=str)
Kind = Literal["none", "coverage", "hallucination", "both", "wrong_side", "repetition", "partial"]
KINDS: tuple[Kind, ...] = get_args(Kind)
CORE: tuple[Kind, ...] = ("none", "coverage", "hallucination", "both")
"""The kinds of the NPOV paper (section 4.2); the others are what it calls ambiguous errors (section 3)."""
Wording = Literal["given", "paraphrase"]
WORDINGS: tuple[Wording, ...] = get_args(Wording)
"""Whether an answer says arguments in the words in which they are given, or by a paraphrase."""

_REPEATS: dict[Kind, tuple[int, ...]] = {"coverage": (0, 0, 1, 1, 2), "both": (0, 0, 1), "repetition": (1,)}
"""How many arguments are said twice, drawn for a group. An answer without an error repeats nothing; elsewhere a
repetition makes up for what is missing, since it can be told from a further argument only by reading."""


@dataclass(frozen=True, slots=True)
class AnswerPlan:
    """One answer before it is worded: the arguments given, by side, and what stands in the mouth of each side."""

    kind: Kind
    given: tuple[tuple[Point, ...], ...]
    said: tuple[tuple[ArgumentPart, ...], ...]
    missing: tuple[Point, ...] = ()
    foreign: tuple[Point, ...] = ()


def shapes_of(material: Material, *, most: int) -> list[tuple[int, ...]]:
    """How many arguments may be given on each side: from 1 to `most`, the sides at most one apart, and at least one
    argument of the topic left over that is not given, for it has to be missing or foreign somewhere."""
    sizes = [len(material.of(side)) for side in range(len(material.names))]
    found = []
    for base in range(1, most + 1):
        for odd in range(-1, len(sizes)):
            shape = tuple(base + (side == odd) for side in range(len(sizes)))
            fits = all(n <= min(size, most) for n, size in zip(shape, sizes, strict=True))
            if fits and max(shape) > 1 and sum(shape) < sum(sizes):
                found.append(shape)
    return found


@dataclass(frozen=True, slots=True)
class Frame:
    """What all answers of a group share: how many arguments of each side are given (`shape`), whether they are said in
    the given words, and how many arguments an answer of each kind says twice."""

    shape: tuple[int, ...]
    wording: Wording
    repeats: Mapping[Kind, int]


def draw_frame(shapes: Sequence[tuple[int, ...]], wording: Wording, rng: np.random.Generator) -> Frame:
    """The frame of one group."""
    repeats = {kind: choices[int(rng.integers(len(choices)))] for kind, choices in _REPEATS.items()}
    return Frame(shapes[int(rng.integers(len(shapes)))], wording, repeats)


def draw(kind: Kind, material: Material, frame: Frame, rng: np.random.Generator) -> AnswerPlan | None:
    """A plan of this kind within the frame; None where the draw cannot be done.

    coverage: one given argument is not said. hallucination: one is said that is not given. both: each once.
    wrong_side: one stands in the mouth of another side. repetition: one is said twice. partial: one is said by half.
    """
    return _PlanDrawing(material, frame, rng).plan(kind)


def half_of(text: str) -> str | None:
    """The first clause of a wording of several, if it can stand alone: an argument that is half said."""
    spans = list(clause_spans(text))
    half = text[spans[0][0] : spans[0][1]].rstrip(" ,;:") if len(spans) > 1 else ""
    return half if half and not unusable(half) else None


class _PlanDrawing:
    """One plan in the making. `said` is what stands in the mouth of each side."""

    def __init__(self, material: Material, frame: Frame, rng: np.random.Generator) -> None:
        self._material = material
        self._frame = frame
        self._rng = rng
        self._said: list[list[ArgumentPart]] = []

    def plan(self, kind: Kind) -> AnswerPlan | None:
        given = [self._shuffled(self._material.of(side))[:n] for side, n in enumerate(self._frame.shape)]
        missing = foreign = None
        if kind in ("coverage", "both"):
            # Of a side that has another: a side that says nothing at all would be no test.
            missing = self._one_of([p for side in given if len(side) > 1 for p in side])
            if missing is None:
                return None
        if kind in ("hallucination", "both"):
            spare = [p for p in self._material.points if not any(p in side for side in given)]
            foreign = self._near(spare, missing)
            if foreign is None:
                return None
        self._said = [[self._part(p, "supported") for p in self._shuffled(side) if p is not missing] for side in given]
        if foreign is not None:
            self._insert(foreign.side, self._part(foreign, "unsupported"))
        if not self._twist(kind, missing):
            return None
        return AnswerPlan(
            kind,
            tuple(map(tuple, given)),
            tuple(map(tuple, self._said)),
            () if missing is None else (missing,),
            () if foreign is None else (foreign,),
        )

    def _twist(self, kind: Kind, missing: Point | None) -> bool:
        """Makes the changes that concern what is said alone; whether they could be made."""
        if kind == "wrong_side":
            return self._misplace()
        if kind == "partial":
            return self._halve()
        return all(self._repeat(missing) for _ in range(self._frame.repeats.get(kind, 0)))

    def _repeat(self, missing: Point | None) -> bool:
        """Says an argument again, in other words where there are any; of the missing one's side where there is one."""
        seen = [part.argument for parts in self._said for part in parts]
        once = {p.argument: p.text for parts in self._said for p in parts if p.kind == "supported"}
        points = [p for p in self._material.points if p.id in once and seen.count(p.id) == 1]
        point = self._near(points, missing)
        if point is None:
            return False
        self._insert(point.side, self._part(point, "repeated", but=once[point.id]))
        return True

    def _misplace(self) -> bool:
        movable = [(side, n) for side, parts in enumerate(self._said) if len(parts) > 1 for n in range(len(parts))]
        chosen = self._one_of(movable)
        if chosen is None:
            return False
        part = self._said[chosen[0]].pop(chosen[1])
        others = [side for side in range(len(self._said)) if side != chosen[0]]
        self._insert(others[int(self._rng.integers(len(others)))], replace(part, kind="wrong_side"))
        return True

    def _halve(self) -> bool:
        halves = [(parts, n, h) for parts in self._said for n, p in enumerate(parts) if (h := half_of(p.text))]
        chosen = self._one_of(halves)
        if chosen is None:
            return False
        parts, n, half = chosen
        parts[n] = replace(parts[n], text=half, kind="half")
        return True

    def _near(self, points: Sequence[Point], other: Point | None) -> Point | None:
        """One of the points; of the side of the other one, if there is one, so that no side is a part short."""
        return self._one_of([p for p in points if other is not None and p.side == other.side] or points)

    def _part(self, point: Point, kind: PartKind, *, but: str = "") -> ArgumentPart:
        texts = point.paraphrases if self._frame.wording == "paraphrase" else (point.given,)
        free = [text for text in texts if text != but] or [point.given]
        return ArgumentPart(point.id, point.side, free[int(self._rng.integers(len(free)))], kind)

    def _insert(self, side: int, part: ArgumentPart) -> None:
        self._said[side].insert(int(self._rng.integers(len(self._said[side]) + 1)), part)

    def _one_of(self, choices: Sequence[T]) -> T | None:
        return choices[int(self._rng.integers(len(choices)))] if choices else None

    def _shuffled(self, points: Sequence[T]) -> list[T]:
        return [points[int(n)] for n in self._rng.permutation(len(points))]


def parse_names(names: str, known: tuple[Name, ...], field: str) -> tuple[Name, ...]:
    """Names from a list with commas, in the order of the known ones; raises `InputError` for one that is not known."""
    asked = [name.strip() for name in names.split(",") if name.strip()]
    wrong = [name for name in asked if name not in known]
    if wrong or not asked:
        what = f"unknown: {', '.join(map(repr, wrong))}" if wrong else "none is named"
        raise InputError(f"{what}; {field} are {', '.join(known)}", field=field)
    return tuple(name for name in known if name in asked)
