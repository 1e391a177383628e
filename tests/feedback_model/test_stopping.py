"""The stopping rules: `exact` never changes an outcome, `beta` seldom, and no round is longer than it may be."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta as beta_distribution

from eirene.core.critique import Sample, Tag
from eirene.core.errors import InputError
from eirene.feedback_model.sampling import POSTERIOR, StopRule, leader_wins, next_round, should_stop
from eirene.feedback_model.vote import VoteResult, select
from eirene.text.sentences import split_sentences

A: tuple[Tag, ...] = ("Complete", "Incomplete")
B: tuple[Tag, ...] = ("Incomplete", "Complete")
D: tuple[Tag, ...] = ("Incomplete", "Incomplete")
TWO = split_sentences("One is here. Two is there.")
Votes = list[tuple[Tag, ...] | None]
votes_lists = st.lists(st.sampled_from([A, A, A, B, D, None]), min_size=1, max_size=24)
floors = st.sampled_from([0.0, 0.5, 0.8, 0.85, 1.0])


def drawn_until_stop(votes: Votes, rule: StopRule, floor: float = 0.0) -> int:
    """How many are drawn one at a time before the rule stops."""
    n = len(votes)
    return next(k for k in range(n + 1) if should_stop(votes[:k], n_total=n, rule=rule, min_consistency=floor))


def drawn_in_rounds(votes: Votes, rule: StopRule, floor: float = 0.0) -> int:
    n, k = len(votes), 0
    while not should_stop(votes[:k], n_total=n, rule=rule, min_consistency=floor):
        more = next_round(votes[:k], n_total=n, rule=rule, min_consistency=floor)
        assert 1 <= more <= n - k
        k += more
    return k


def outcome(votes: Votes, floor: float) -> tuple[Tag, ...] | None:
    """The tags that `select` chooses; reasons differ from sample to sample, so that ties are broken by them."""
    samples = [
        Sample(invalid="refused")
        if tags is None
        else Sample(tags=tags, reasons=tuple(f"w{i % 3}" if t == "Incomplete" else None for t in tags))
        for i, tags in enumerate(votes)
    ]
    chosen: VoteResult = select(samples, TWO, n_requested=len(votes), min_consistency=floor)
    return None if chosen.critique is None else tuple(s.tag for s in chosen.critique.sentences)


@given(votes_lists, floors)
def test_exact_never_changes_the_outcome(votes: Votes, floor: float) -> None:
    k = drawn_until_stop(votes, "exact", floor)
    assert outcome(votes[:k], floor) == outcome(votes, floor)


@given(votes_lists)
def test_exact_does_not_stop_while_the_rest_could_change_the_winner(votes: Votes) -> None:
    k = drawn_until_stop(votes, "exact")
    before = votes[: k - 1]
    counts = Counter(v for v in before if v is not None)
    left = len(votes) - len(before)
    if k == 0 or left == 0:
        return
    rival: tuple[Tag, ...] = ("Complete", "Complete")
    (leader, top), (_, second) = [*counts.most_common(2), (rival, 0), (rival, 0)][:2]
    can_be_caught = second + left >= top
    can_fail = outcome([*before, *[None] * left], 0.0) is None and outcome([*before, *[leader] * left], 0.0) is not None
    assert can_be_caught or can_fail


@given(votes_lists, st.sampled_from(["none", "exact", "beta"]), floors)
def test_rounds_stop_where_single_draws_would_or_for_want_of_votes(votes: Votes, rule: StopRule, floor: float) -> None:
    single, rounds = drawn_until_stop(votes, rule, floor), drawn_in_rounds(votes, rule, floor)
    assert rounds >= single
    if None not in votes and floor == 0.0:
        assert rounds == single


@given(votes_lists)
def test_beta_stops_no_later_than_exact_and_never_without_a_quorum_in_reach(votes: Votes) -> None:
    k = drawn_until_stop(votes, "beta")
    assert k <= drawn_until_stop(votes, "exact")
    if outcome(votes[:k], 0.0) is None:
        assert outcome(votes, 0.0) is None


@given(votes_lists)
def test_none_stops_when_all_are_drawn(votes: Votes) -> None:
    assert drawn_until_stop(votes, "none") == len(votes)
    assert next_round([], n_total=len(votes), rule="none") == len(votes)


@given(st.integers(0, 60), st.integers(0, 60))
def test_posterior_is_the_beta_tail(leader: int, runner_up: int) -> None:
    # Against SciPy's regularised incomplete beta function.
    assert math.isclose(leader_wins(leader, runner_up), beta_distribution(leader + 1, runner_up + 1).sf(0.5))


def test_posterior_by_hand() -> None:
    assert leader_wins(0, 0) == 0.5
    assert leader_wins(3, 0) == 1 - 1 / 16
    assert leader_wins(5, 1) == 1 - (7 + 1) / 128
    assert leader_wins(1000, 1000) == 0.5


def test_when_rules_stop_of_20(subtests: pytest.Subtests) -> None:
    for votes, rule, stops in [
        ([A] * 10, "exact", False),  # ten others could still tie, and reasons would decide
        ([A] * 11, "exact", True),
        ([A] * 11 + [B] * 2, "exact", True),
        ([A] * 10 + [B] * 2, "exact", False),  # 2 + 8 would tie
        ([A] * 9 + [None] * 4, "exact", False),  # far ahead, but the quorum of 10 is not safe
        ([A] * 10 + [None] * 4, "exact", True),
        ([None] * 10, "exact", False),
        ([None] * 11, "exact", True),  # no quorum can come about
        ([A] * 3, "beta", False),  # 0.9375
        ([A] * 4, "beta", True),  # 0.96875
        ([A] * 4 + [None] * 5, "beta", False),  # no quorum yet
        ([A] * 5 + [B], "beta", False),  # 0.9375
        ([A] * 6 + [B], "beta", True),
        ([A] * 19, "none", False),
    ]:
        with subtests.test(votes=votes, rule=rule, stops=stops):
            assert should_stop(votes, n_total=20, rule=rule) is stops


def test_rounds_are_the_fewest_draws_that_could_settle_it(subtests: pytest.Subtests) -> None:
    for votes, rule, more in [
        ([], "none", 20),
        ([], "exact", 11),
        ([A] * 9 + [B] * 2, "exact", 2),  # 10 against 2 + 8 would be a tie
        ([A] * 5 + [B] * 6, "exact", 5),  # the leader, B, needs 11 against 5 + 4
        ([], "beta", 4),
        ([A] * 3 + [B], "beta", 3),
        ([A] * 20, "beta", 0),
    ]:
        with subtests.test(votes=votes, rule=rule, more=more):
            assert next_round(votes, n_total=20, rule=rule) == more


def test_beta_saves_most_calls_and_agrees_with_all_20() -> None:
    """A winner with share 0.9: at most 8 calls on average, and the tags that all 20 would have chosen in 99 %."""
    rng = np.random.default_rng(0)
    calls, agree, runs = 0, 0, 2000
    for _ in range(runs):
        votes: Votes = [A if x < 0.9 else B for x in rng.random(20)]
        k = drawn_in_rounds(votes, "beta")
        calls += k
        agree += outcome(votes[:k], 0.0) == outcome(votes, 0.0)
    assert calls / runs <= 8
    assert agree / runs >= 0.99


def test_rules_scale_to_a_thousand_samples() -> None:
    votes: Votes = [A, B] * 450
    assert not should_stop(votes, n_total=2000, rule="beta")
    more = next_round(votes, n_total=2000, rule="beta")
    assert leader_wins(450 + more, 450) >= POSTERIOR > leader_wins(450 + more - 1, 450)
    assert next_round(votes, n_total=1000, rule="exact") == 51


def test_bad_settings_are_input_errors(subtests: pytest.Subtests) -> None:
    for n, rule, says in [(0, "none", "at least 1, got 0"), (5, "late", "none, exact, beta")]:
        with subtests.test(n=n, rule=rule, says=says):
            for function in (should_stop, next_round):
                with pytest.raises(InputError, match=says):
                    function([], n_total=n, rule=rule)
