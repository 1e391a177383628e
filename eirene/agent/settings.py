"""Everything that a run may be told, checked once: what the loop does and where the gate draws its lines."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from eirene.core.records import Mode
from eirene.core.signature import MAX_SEED
from eirene.core.validation import CheckedModel, short_repr

StopRule = Literal["none", "exact", "beta"]
Critic = Literal["completeness", "hallucination", "both"]
CRITICS: tuple[Critic, ...] = get_args(Critic)


class Settings(CheckedModel):
    """How one item is refined. Immutable; part of every record's signature.

    - `samples`: critiques drawn per vote (EIR: 20; a vote needs 3); `stop`: when to stop drawing early.
    - `max_rounds`: rewrites at most; `patience`: rejected rounds in a row after which one more is still tried.
    - `after_accept`: `stop`, or `continue` with the accepted text while rounds are left.
    - `min_consistency`: tag consistency in [0, 1] under which the run abstains (0 is off).
    - `tolerance`, `min_gain`: the gate's two tests, as differences of error scores in [0, 1].
    - `when_gain_unmeasured`: what the gate does with a harmless rewrite whose gain nothing can measure.
    - `critic`: who is asked: `completeness`, `hallucination`, or `both`; mode edit takes one of the last two.
    - `removal`: what mode edit does with text that nothing takes the place of: `remove`, or `mark` it in brackets.
    - `deadline_s`: seconds for the whole item; past it the run fails with the original answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "fine-grained"
    samples: Annotated[int, Field(ge=3, le=10_000)] = 20
    stop: StopRule = "none"
    max_rounds: Annotated[int, Field(ge=1, le=100)] = 2
    patience: Annotated[int, Field(ge=0)] = 1
    after_accept: Literal["stop", "continue"] = "stop"
    min_consistency: Annotated[float, Field(ge=0, le=1)] = 0.0
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.02
    min_gain: Annotated[float, Field(ge=0, le=1)] = 0.02
    when_gain_unmeasured: Literal["accept", "keep"] = "accept"
    critic: Annotated[Critic, Field(validate_default=True)] = "completeness"
    removal: Literal["remove", "mark"] = "remove"
    deadline_s: Annotated[float, Field(gt=0)] = 600.0
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] = 0

    @field_validator("critic")
    @classmethod
    def _has_edits(cls, critic: Critic, others: ValidationInfo) -> Critic:
        if others.data.get("mode") == "edit" and critic == "completeness":
            raise ValueError("mode edit carries out the edits of hallucinations; take critic hallucination or both")
        return critic

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Settings from keyword values; raises `InputError` that names the setting, the rule and the value."""
        return cls(**values)

    @classmethod
    def own_message(cls, problem: Any) -> str | None:
        """A setting's name stands bare in messages, as it does in calls and in files."""
        name, kind = str(problem["loc"][0]), problem["type"]
        if kind == "frozen_instance":
            return None
        if kind == "extra_forbidden":
            return f"unknown setting {name!r}; known: {', '.join(cls.model_fields)}"
        if kind == "value_error":
            return str(problem["ctx"]["error"])
        if kind != "literal_error" and not kind.startswith(("greater_", "less_")):
            return None
        return f"{name} must {problem['msg'].lower().removeprefix('input should ')}, got {short_repr(problem['input'])}"

    @property
    def recursion_limit(self) -> int:
        """Supersteps that LangGraph may run: the five nodes for each round, and a margin for start and end."""
        return 5 * self.max_rounds + 5
