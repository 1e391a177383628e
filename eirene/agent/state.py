"""The graph's state (plain values that survive a checkpoint), the models of a run, and the events that it emits."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, TypedDict

from eirene.core.critique import Critique, Sample
from eirene.core.loop_settings import Readout, RewriteForm, StopRule
from eirene.core.records import Item
from eirene.core.scores import Scores
from eirene.core.usage import Usage
from eirene.eval.base import Detector, PairwiseJudge
from eirene.feedback_model.base import FeedbackModel
from eirene.gate.calibration import GateCalibration
from eirene.gate.checks.registry import CHECKS, NamedCheck
from eirene.refiners.base import Refiner

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.verifier.runtime import Verifier

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

    `whole`: the answer as it came, where it has thinking in it, which the item's has not. `samples` holds the current
    vote alone: an appending list would grow over rounds. `attempt`: the rewrite of the round under way, None before
    there is one (`eirene.agent.attempt`); `waiting` are others that were drawn with it. `evidence`: what models were
    shown of the passages beside the best text.
    """

    whole: str | None
    round: int
    rejected_in_a_row: int
    best: str
    best_scores: Json
    original_scores: Json
    samples: list[Json]
    evidence: Json | None
    early_stop: bool
    stop: StopRule | None
    critique: Json | None
    attempt: Json | None
    waiting: list[Json]
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
    signature (the encoder's or model's digest). `pairwise` compares text and rewrite where nothing was given and no
    judge measures; None where no model is at hand that could. `hallucination_model` is the critic of fine-grained
    hallucinations, None where there is none; its version goes into the signature of the runs that ask it. `checks` are
    those of the gate, each of which may object to an edit; `encoder` is what they compare sentences with, by default
    the one that ships; `verifier` reads edits against given text: the shipped one in every backend, None to do without.
    `gate_calibration`: what the gate's threshold with passages stands on, by default what ships. `shows_evidence`:
    critic or refiner is a language model, for which sentences of the passages are looked up. `candidates`, `rewrite`
    and `readout`: how many rewrites the refiner is asked for at once, in which form, and what critiques are read from,
    where the settings do not say.
    """

    backend: str
    feedback_model: FeedbackModel
    refiner: Refiner
    detectors: Sequence[Detector]
    advisory: frozenset[str] = frozenset()
    judges: frozenset[str] = frozenset()
    version: str | None = None
    pairwise: PairwiseJudge | None = None
    hallucination_model: FeedbackModel | None = None
    hallucination_version: str | None = None
    checks: Sequence[NamedCheck] = CHECKS
    encoder: Encodes | None = None
    verifier: Verifier | None = None
    gate_calibration: GateCalibration | None = None
    shows_evidence: bool = True
    candidates: int = 1
    rewrite: RewriteForm = "patch"
    readout: Readout = "vote"

    def deciding(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """The scores by which the gate decides."""
        return {name: found for name, found in scores.items() if name not in self.advisory}


def item_of(state: State) -> Item:
    """The input row."""
    return Item.model_validate(state["item"])


def best_text(state: State) -> str:
    """The last accepted rewrite, else the original."""
    best = state.get("best")
    return str(state["item"]["answer"]) if best is None else best


def load_critique(state: State) -> Critique | None:
    """The selected critique of the current text, if there is one."""
    data = state.get("critique")
    return None if data is None else Critique.model_validate(data)


def load_samples(state: State) -> list[Sample]:
    """The current vote's samples."""
    return [Sample.model_validate(s) for s in state.get("samples", [])]


def load_scores(data: Json) -> dict[str, Scores]:
    """Scores by detector from their JSON form."""
    return {name: Scores.model_validate(s) for name, s in data.items()}


def dump_scores(scores: dict[str, Scores]) -> Json:
    """The JSON form of scores by detector."""
    return {name: s.model_dump(mode="json") for name, s in scores.items()}


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
