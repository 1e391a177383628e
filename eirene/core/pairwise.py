"""Pairwise votes: which of two texts a judge prefers, asked in both orders, and whether anything harmful came in.

The judge is never told which of the two is the rewrite. Votes that disagree and votes that cannot be read are no gain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from eirene.core.validation import FrozenModel

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
