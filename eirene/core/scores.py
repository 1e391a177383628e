"""Scores of errors as detectors give them: numbers in [0, 1], higher is worse, or `Unscored` with the reason.

What a pairwise judge, which is not told which of two texts is the rewrite, makes of them is here too.
No number stands for "could not be scored": every mean and gate handles `Unscored` by name.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from eirene.core.validation import FrozenModel


class Unscored(FrozenModel):
    """No score could be given. Never a number."""

    unscored: str
    """Why not."""


Probability = Annotated[float, Field(ge=0.0, le=1.0)]
Score = Probability | Unscored
Error = Literal["hallucination", "coverage"]
"""The two errors that are scored."""
ERRORS: tuple[Error, ...] = get_args(Error)


class SentenceScore(FrozenModel):
    """Hallucination score of one sentence of the answer (`n` from 1)."""

    n: int
    hallucination: Score


class WordScore(FrozenModel):
    """Error score of one word, with its character offsets in the answer, or in the argument that it belongs to."""

    start: int
    end: int
    score: Probability


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
    low: Probability | None = None
    high: Probability | None = None
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


def log_odds(p: float, *, edge: float = 1e-6) -> float:
    """The log odds of a probability in [0, 1], which is taken as no nearer than `edge` to either end."""
    p = min(max(p, edge), 1.0 - edge)
    return math.log(p / (1.0 - p))


def probability(log_odds: float) -> float:
    """The probability in [0, 1] of log odds: the logistic function."""
    return 0.5 * (1.0 + math.tanh(0.5 * log_odds))


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
ORDERS: tuple[Side, Side] = ("before", "after")
"""Which text is shown first: the two orders in which a pairwise judge is asked."""


class PairJudgement(FrozenModel):
    """How likely a rewrite is the better answer, by a judge that was shown each of the two texts first once.

    `odds`: the log-odds that the rewrite is better, for each of `ORDERS`; None where one could not be read. `better`:
    the logistic function of their mean, so that a liking for the first place cancels out. `votes`: how many replies
    the odds were counted on, in both orders together; 0 where they are those of one token.
    """

    judge: str
    odds: tuple[float, float] | None
    better: Score
    votes: Annotated[int, Field(ge=0)] = 0

    @classmethod
    def of(cls, first: float | Unscored, second: float | Unscored, *, judge: str, votes: int = 0) -> Self:
        """The judgement by the log-odds of both orders; unscored where one of them is."""
        if isinstance(first, Unscored) or isinstance(second, Unscored):
            why = first if isinstance(first, Unscored) else second
            return cls(judge=judge, odds=None, better=why, votes=votes)
        better = 0.5 * (1.0 + math.tanh(0.25 * (first + second)))
        return cls(judge=judge, odds=(first, second), better=better, votes=votes)

    @property
    def bias(self) -> float | None:
        """The log-odds for the text shown first, whichever it is: 0 is none; None where the odds are not known."""
        return None if self.odds is None else (self.odds[1] - self.odds[0]) / 2
