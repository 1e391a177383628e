"""What votes in both orders come to: a majority in each is better, one vote of harm is harm, the rest is no gain."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.scores import ORDERS, PairVote, PairVotes
from tests.rows import each


def votes(first: str, text: str) -> list[PairVote]:
    """A letter a vote: r for the rewrite, o for the text before, t for a tie, h for harm, u for unread."""
    made: dict[str, dict[str, Any]] = {
        "r": {"better": "after", "faulty": "neither"},
        "o": {"better": "before", "faulty": "neither"},
        "t": {"better": "tie", "faulty": "neither"},
        "h": {"better": "after", "faulty": "after"},
        "u": {"unread": "empty"},
    }
    return [PairVote.model_validate({"first": first, **made[letter]}) for letter in text]


def outcome(original_first: str, rewrite_first: str) -> PairVotes:
    cast = [*votes("before", original_first), *votes("after", rewrite_first)]
    return PairVotes.of(cast, judge="m", requested=len(original_first))


@each(
    "original_first, rewrite_first, wanted",
    [
        ("rr", "rr", "better"),
        ("r", "r", "better"),
        ("rrt", "rru", "better"),  # more than half of three
        ("rr", "oo", "no gain"),  # always the second
        ("oo", "rr", "no gain"),  # always the first
        ("rr", "rt", "no gain"),  # half of two is no majority
        ("rr", "ru", "no gain"),
        ("rr", "uu", "no gain"),
        ("tt", "tt", "no gain"),
        ("oo", "oo", "no gain"),
        ("rr", "rh", "harm"),
        ("hu", "uu", "harm"),
        ("uu", "uu", "unscored"),
    ],
)
def test_only_a_majority_in_both_orders_is_better(original_first: str, rewrite_first: str, wanted: str) -> None:
    assert outcome(original_first, rewrite_first).outcome == wanted


@each(
    "original_first, rewrite_first, share",
    [("oo", "rr", 1.0), ("rr", "oo", 0.0), ("rr", "rr", 0.5), ("ro", "rt", 2 / 3), ("tt", "uu", None)],
)
def test_position_bias_is_the_share_of_the_preferences_for_the_first(
    original_first: str, rewrite_first: str, share: float | None
) -> None:
    """Ties and unread votes are no preference."""
    assert outcome(original_first, rewrite_first).first_place == pytest.approx(share)


def test_both_faulty_is_harm_and_a_faulty_text_before_is_none() -> None:
    """Something came in with the rewrite, whatever the text before says that the rewrite does not."""
    assert PairVote(first="before", better="after", faulty="both").is_harm
    assert not PairVote(first="before", better="after", faulty="before").is_harm


def test_a_judge_that_failed_is_unscored_and_says_why() -> None:
    failed = PairVotes.failed("AuthError: no", judge="m", requested=2)
    assert (failed.outcome, failed.first_place) == ("unscored", None) and "AuthError: no" in failed.why


@given(st.integers(1, 5).flatmap(lambda n: st.tuples(*[st.text("rothu", min_size=n, max_size=n)] * 2)))
def test_better_is_a_majority_in_each_order_without_harm(cast: tuple[str, str]) -> None:
    """The rule written out anew; and what JSON holds is the same value."""
    found = outcome(*cast)
    is_better = all(2 * letters.count("r") > len(letters) for letters in cast) and "h" not in "".join(cast)
    assert (found.outcome == "better") == is_better
    assert PairVotes.model_validate_json(found.model_dump_json()) == found
    assert [vote.first for vote in found.votes] == [order for order in ORDERS for _ in cast[0]]
