"""Scores of errors as detectors give them: numbers in [0, 1], higher is worse, or `Unscored` with the reason.

No number stands for "could not be scored": every mean and gate handles `Unscored` by name.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from eirene.core.validation import FrozenModel


class Unscored(FrozenModel):
    """No score could be given. Never a number."""

    unscored: str
    """Why not."""


Score = Annotated[float, Field(ge=0.0, le=1.0)] | Unscored


class SentenceScore(FrozenModel):
    """Hallucination score of one sentence of the answer (`n` from 1)."""

    n: int
    hallucination: Score


class WordScore(FrozenModel):
    """Error score of one word, with its character offsets in the answer, or in the argument that it belongs to."""

    start: int
    end: int
    score: Annotated[float, Field(ge=0.0, le=1.0)]


class ArgumentScore(FrozenModel):
    """Coverage score of argument `n` (from 1) of a group, and of its content words where the detector has them."""

    group: str
    n: int
    coverage: Score
    words: tuple[WordScore, ...] = ()


class Poll(FrozenModel):
    """One reply of a polled judge. `error`: whether it finds one; None where it has no verdict, for the reason
    `unread`.
    """

    error: bool | None
    text: str = ""
    unread: str | None = None


class Polls(FrozenModel):
    """A judge's replies to one question, in order; the score is the share of their verdicts.

    `low` and `high` are a 95 % interval of that share, None without a score. With `early_stop` fewer polls than
    `requested` were taken.
    """

    asked: Literal["adherence", "correctness"]
    requested: Annotated[int, Field(ge=1)]
    replies: tuple[Poll, ...]
    low: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    high: Annotated[float, Field(ge=0.0, le=1.0)] | None = None
    early_stop: bool = False

    @property
    def yes(self) -> int:
        """Replies that find an error."""
        return sum(poll.error is True for poll in self.replies)

    @property
    def answered(self) -> int:
        """Replies with a verdict."""
        return sum(poll.error is not None for poll in self.replies)


class Scores(FrozenModel):
    """One detector's error scores of one answer: numbers in [0, 1], lower is better, or `Unscored`.

    JSON leaves out empty `polls`, `shares` and `raw`, and `chunks` of 1.
    """

    hallucination: Score
    """How far the answer says what was not given."""
    coverage: Score
    """How far the answer leaves out what was given."""
    sentences: tuple[SentenceScore, ...] = ()
    """Hallucination by sentence; empty where the detector has no such level, as below."""
    arguments: tuple[ArgumentScore, ...] = ()
    """Coverage by argument or passage sentence."""
    words: tuple[WordScore, ...] = ()
    """Hallucination by word of the answer."""
    polls: Polls | None = None
    """A polled judge's replies."""
    shares: tuple[tuple[int, int, float], ...] = ()
    """A word map, if asked for, as (row, column, share in [0, 1]): the row is a word of the arguments, the column a
    word of the answer, both from 0."""
    raw: dict[str, float] = Field(default_factory=dict)
    """Measures before they were mapped to [0, 1], by name."""
    chunks: Annotated[int, Field(ge=1)] = 1
    """How many parts the given text was read in; more than 1 where a model could not take it at once."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = dump(self)
        rare: dict[str, Any] = {"polls": None, "shares": (), "raw": {}, "chunks": 1}
        return {name: value for name, value in data.items() if name not in rare or value not in (rare[name], [])}

    @classmethod
    def none(cls, why: str) -> Scores:
        """Neither error could be scored, for one reason."""
        return cls(hallucination=Unscored(unscored=why), coverage=Unscored(unscored=why))


def number(score: Score) -> float | None:
    """The score as a number, or None where there is none."""
    return None if isinstance(score, Unscored) else score
