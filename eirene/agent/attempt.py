"""Attempt: one round's rewrite on its way from the refiner, over its checks and scores, to the gate's decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from eirene.agent.state import Json, State
from eirene.core.records import Drawn, EditDecision, RewriteComparison
from eirene.core.scores import PairJudgement, Scores
from eirene.core.validation import FrozenModel
from eirene.gate.edits import CheckedRewrite

_OF_ROUNDS = {"candidate", "written", "drawn", "edits", "mended", "comparison", "pairwise", "scores"}


class Attempt(FrozenModel):
    """A rewrite and all that is known of it; each step returns another one with more. In a state it is JSON."""

    candidate: str | None = None
    """The rewrite, without the edits that were undone; None before there is one."""
    unusable: str | None = None
    """Why it is not worth scoring; None where it is."""
    written: str | None = None
    """What the refiner wrote, where that is another text than `candidate`."""
    drawn: Drawn | None = None
    """How a model drew it; None where it was not drawn."""
    edits: tuple[EditDecision, ...] = ()
    """What became of each edit."""
    mended: tuple[str, ...] = ()
    """The faults that the edits took out."""
    comparison: RewriteComparison | None = None
    """How likely `candidate` is the better answer, where passages tell; it decides then, and no score."""
    without_errors: str | None = None
    """The best text so far without what those faults made false; None where they made nothing false."""
    scores: dict[str, Scores] = Field(default_factory=dict)
    """The scores of `candidate`, by detector."""
    scores_without_errors: dict[str, Scores] = Field(default_factory=dict)
    """Those of `without_errors`, where they are looked at."""
    gain_measurable: bool = False
    """Whether the scores can show that something was gained, and not only what was kept."""
    pairwise: PairJudgement | None = None
    """The votes of the pairwise judge, where it was asked."""

    @classmethod
    def of(cls, state: State) -> Self:
        """The attempt that the state holds; one without a rewrite where it holds none."""
        return cls.model_validate(state.get("attempt") or {})

    @classmethod
    def waiting(cls, state: State) -> list[Self]:
        """The attempts that were drawn with that of the state, and wait for it to be turned down."""
        return [cls.model_validate(a) for a in state.get("waiting") or ()]

    @property
    def scorable(self) -> str | None:
        """The text to be scored; None where there is none, or none that is worth it."""
        return None if self.unusable else self.candidate

    @property
    def rank(self) -> tuple[bool, float]:
        """What is the better of two attempts: one that can be scored, and the likelier to be the better answer."""
        return self.scorable is not None, 0.0 if self.comparison is None else self.comparison.better

    def passing_over(self, others: Sequence[Attempt]) -> Self:
        """With a word on each of the attempts in whose place it is taken."""
        if self.drawn is None or not others:
            return self
        told = (*self.drawn.passed_over, *(other.described for other in others))
        return self.model_copy(update={"drawn": self.drawn.model_copy(update={"passed_over": told})})

    @property
    def described(self) -> str:
        """What became of it, for the record of another one."""
        how = "a rewrite" if self.drawn is None else f"{self.drawn.form} {self.drawn.n} of {self.drawn.of}"
        chance = "" if self.comparison is None else f"better with probability {self.comparison.better:.2f}"
        refused = "" if self.drawn is None or not self.drawn.refused else f" ({'; '.join(self.drawn.refused)})"
        return f"{how}: {self.unusable or chance or 'not tried'}{refused}"

    def with_edits(self, checked: CheckedRewrite) -> Self:
        """After the checks: without the edits that were undone, and compared."""
        found = self.with_decisions(checked).model_copy(update={"comparison": checked.comparison})
        if checked.text == self.candidate:
            return found
        return found.model_copy(update={"candidate": checked.text, "written": self.candidate})

    def refused(self, checked: CheckedRewrite, why: str) -> Self:
        """After checks that leave nothing to be scored: the rewrite as it was written, and why."""
        return self.with_decisions(checked).model_copy(update={"unusable": why})

    def with_decisions(self, checked: CheckedRewrite) -> Self:
        """With what became of its edits, and the text as it is."""
        told = {"edits": checked.decisions, "mended": checked.mended, "without_errors": checked.without_errors}
        return self.model_copy(update=told)

    def scored(self, scores: dict[str, Scores], *, gain_measurable: bool) -> Self:
        """After the detectors have read it."""
        return self.model_copy(update={"scores": scores, "gain_measurable": gain_measurable})

    def compared(self, scores_without_errors: dict[str, Scores], pairwise: PairJudgement | None) -> Self:
        """With what was asked because of its scores."""
        return self.model_copy(update={"scores_without_errors": scores_without_errors, "pairwise": pairwise})

    def in_state(self, waiting: Sequence[Attempt] | None = None) -> Json:
        """The update that puts it into the state; `waiting`: those that now wait for it to be turned down."""
        held: Json = {"attempt": self.model_dump(mode="json")}
        return held if waiting is None else {**held, "waiting": [a.model_dump(mode="json") for a in waiting]}

    def as_round(self, state: State, *, decision: Literal["accept", "reject"], why: str) -> Json:
        """The update that appends the round to those of the state: critique, samples, attempt and decision."""
        asked: Json = {"critique": state.get("critique"), "samples": state.get("samples", [])}
        asked["evidence"] = state.get("evidence")
        own = self.model_dump(mode="json", include=_OF_ROUNDS)
        return {"rounds": [{**asked, **own, "decision": decision, "why": why}]}
