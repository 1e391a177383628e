"""The graph's state: plain values that survive a checkpoint, and the parts that never enter it.

What a step has just dumped is not checked again by the next: both are ours.

The state holds plain values, so that it survives a checkpoint. Reading a value back from a checkpoint checks it;
reading the very object that `dump` returned a moment ago gives the value that it came from.

What a run tells while it runs: small, plain events, in the order in which things happen.

They come out of the graph as LangGraph's `custom` stream, and of `refine` through `on_event`.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NotRequired, TypedDict, TypeVar

from pydantic import BaseModel

from eirene.core.critique import Critique, Sample
from eirene.core.memo import Memo
from eirene.core.records import Item
from eirene.core.scores import Scores
from eirene.core.usage import Usage
from eirene.eval.base import Detector
from eirene.feedback_model.base import FeedbackModel
from eirene.refiners.base import Refiner

Json = dict[str, Any]


def add_usage(left: Json, right: Json) -> Json:
    """Reducer: sums two usage values in their JSON form."""
    return (Usage.model_validate(left) + Usage.model_validate(right)).model_dump()


class Required(TypedDict):
    """What a run of the graph cannot do without: an item in its JSON form, and the seed."""

    item: Json
    seed: int


class State(Required, total=False):
    """Everything a run knows. Values are JSON; only `rounds` and `usage` add up, the rest is overwritten.

    `samples` holds the current vote alone: an appending list would grow over rounds. `candidate` is None before the
    first rewrite; `unusable` says why a rewrite is not worth scoring.
    """

    round: int
    rejected_in_a_row: int
    best: str
    samples: list[Json]
    early_stop: bool
    critique: Json | None
    candidate: str | None
    unusable: str | None
    best_scores: Json
    candidate_scores: Json
    original_scores: Json
    gain_measurable: bool
    rounds: Annotated[list[Json], operator.add]
    usage: Annotated[Json, add_usage]
    status: str
    why: str
    error: Json | None


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The models of a run; two of them are the same only if they are one object.

    `detectors` run in the given order, cheap to dear. All of them decide but those in `advisory`, whose scores are
    shown and no more. `judges` names those that can measure a gain where nothing was given. `version` goes into the
    signature (the encoder's or model's digest). `hallucination_model` is the critic of fine-grained hallucinations,
    None where there is none; its version goes into the signature of the runs that ask it.
    """

    backend: str
    feedback_model: FeedbackModel
    refiner: Refiner
    detectors: Sequence[Detector]
    advisory: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    version: str | None = None
    hallucination_model: FeedbackModel | None = None
    hallucination_version: str | None = None


def item_of(state: State) -> Item:
    """The input row."""
    return Item.model_validate(state["item"])


def best_text(state: State) -> str:
    """The last accepted rewrite, else the original."""
    best = state.get("best")
    return str(state["item"]["answer"]) if best is None else best


def ended(state: State, status: str, why: str) -> Json:
    """The status at the end; what was accepted in an earlier round stays accepted."""
    if any(r["decision"] == "accept" for r in state.get("rounds", [])):
        return {"status": "accepted", "why": f"an earlier round's rewrite stands; then {why}"}
    return {"status": status, "why": why}


def load_critique(state: State) -> Critique | None:
    """The selected critique of the current text, if there is one."""
    data = state.get("critique")
    return None if data is None else load(Critique, data)


def load_samples(state: State) -> list[Sample]:
    """The current vote's samples."""
    return [Sample.model_validate(s) for s in state.get("samples", [])]


def load_scores(data: Json) -> dict[str, Scores]:
    """Scores by detector from their JSON form."""
    return {name: load(Scores, s) for name, s in data.items()}


def dump_scores(scores: dict[str, Scores]) -> Json:
    """The JSON form of scores by detector."""
    return {name: dump(s) for name, s in scores.items()}


M = TypeVar("M", Scores, Critique)

_KEPT = 256  # a step's values are read in the steps right after it, whatever else is under way
_KEPT_PARTS = 500
"""Words, sentences and arguments: what has more is checked again each time, so that memory is bounded in bytes."""

_latest: Memo[int, tuple[Json, BaseModel]] = Memo(_KEPT)


def dump(value: M) -> Json:
    """The value's JSON form, which nobody may change."""
    data: Json = value.model_dump(mode="json")
    if _parts(value) <= _KEPT_PARTS:
        _latest.put(id(data), (data, value))
    return data


def load(kind: type[M], data: Json) -> M:
    """The value of a JSON form. Raises pydantic's `ValidationError` where it is none."""
    held = _latest.get(id(data))
    # The object itself is held as well, so that its id cannot have gone to another one.
    if held is not None and held[0] is data and isinstance(held[1], kind):
        return held[1]
    return kind.model_validate(data)


def _parts(value: Scores | Critique) -> int:
    if isinstance(value, Critique):
        return len(value.sentences)
    return len(value.words) + len(value.sentences) + len(value.shares) + sum(1 + len(a.words) for a in value.arguments)


EventKind = Literal["node_started", "node_finished", "sample", "critique", "scores", "decision"]


class Event(TypedDict):
    """One event. `node` and `round` (from 1) are always there; the rest goes with its kind.

    - `sample`: `n` of `total` critiques have been drawn, `valid` says whether this one may vote
    - `critique`, `scores`, `decision`: `text` says in a few words what was found
    - `node_finished`: `seconds` that the node took
    """

    kind: EventKind
    node: str
    round: int
    n: NotRequired[int]
    total: NotRequired[int]
    valid: NotRequired[bool]
    text: NotRequired[str]
    seconds: NotRequired[float]
