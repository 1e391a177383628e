"""Scores of errors as detectors give them: numbers in [0, 1], higher is worse, or `Unscored` with the reason.

The votes of a pairwise judge, which is not told which of two texts is the rewrite, are here too.
No number stands for "could not be scored": every mean and gate handles `Unscored` by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

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


_Z = 1.959963984540054  # 95 %, two-sided


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share in [0, 1] of `n` draws, n at least 1 (Wilson 1927, score interval).

    Unlike the share plus or minus its standard error it is not empty where all draws agree: five of five says at least
    0.57.
    """
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    return 0.0 if share == 0 else max(0.0, centre - half), 1.0 if share == 1 else min(1.0, centre + half)


Side = Literal["before", "after"]
Outcome = Literal["better", "harm", "no gain", "unscored"]
ORDERS: tuple[Side, Side] = ("before", "after")
"""Which text is shown first, in the order in which the votes stand."""


class PairVote(FrozenModel):
    """One reply of a judge that compared the text before with the rewrite.

    `first`: which of them it was shown first. `better`: which answers the question better. `faulty`: which says
    something false, harmful or off the point that the other does not. Both are None where the reply cannot be read,
    for the reason `unread`.
    """

    first: Side
    better: Literal["before", "after", "tie"] | None = None
    faulty: Literal["before", "after", "both", "neither"] | None = None
    text: str = ""
    unread: str | None = None

    @property
    def is_harm(self) -> bool:
        """Whether it says that something harmful came in."""
        return self.faulty in ("after", "both")


class PairVotes(FrozenModel):
    """What a judge's votes on a rewrite come to; `requested` were asked for in each of the two orders.

    `outcome`: harm where one vote says so; better where, in both orders, more than half of the votes asked for prefer
    the rewrite; unscored where no vote could be read. `first_place`: the share of the votes for one of the two that
    went to the text shown first: 0.5 without position bias, 1.0 where it always is the first; None without such votes.
    """

    judge: str
    requested: Annotated[int, Field(ge=1)]
    votes: tuple[PairVote, ...]
    outcome: Outcome
    why: str
    first_place: Annotated[float, Field(ge=0.0, le=1.0)] | None = None

    @classmethod
    def of(cls, votes: Sequence[PairVote], *, judge: str, requested: int) -> Self:
        """The outcome of these votes."""
        outcome, why = _outcome(votes, requested)
        decided = [vote for vote in votes if vote.better in ORDERS]
        first = sum(vote.better == vote.first for vote in decided) / len(decided) if decided else None
        return cls(judge=judge, requested=requested, votes=tuple(votes), outcome=outcome, why=why, first_place=first)

    @classmethod
    def failed(cls, why: str, *, judge: str, requested: int) -> Self:
        """No vote came back at all, and why."""
        return cls(judge=judge, requested=requested, votes=(), outcome="unscored", why=f"the judge failed: {why}")


def _outcome(votes: Sequence[PairVote], requested: int) -> tuple[Outcome, str]:
    read = [vote for vote in votes if vote.unread is None]
    unread = len(votes) - len(read)
    if not read:
        causes = "; ".join(dict.fromkeys(vote.unread for vote in votes if vote.unread))
        return "unscored", f"none of {len(votes)} votes could be read ({causes})"
    harm = sum(vote.is_harm for vote in votes)
    if harm:
        return "harm", f"{harm} of {len(votes)} votes say that something false, harmful or off the point came in"
    # The rewrite is shown second where the text before is shown first.
    second, first = (sum(v.better == "after" for v in votes if v.first == shown) for shown in ORDERS)
    counted = f"{first} of {requested} votes where it is shown first, {second} of {requested} where second"
    aside = f"; {unread} could not be read" if unread else ""
    if 2 * min(first, second) > requested:
        return "better", f"{counted}{aside}"
    return "no gain", f"{counted}{aside}"
