"""Limits on calls: those under way, a level that follows the provider, the waits between attempts."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError, RateLimitError
from eirene.models.faults import Fault
from eirene.models.limits import AdaptiveLevel, Limiter, RetryPolicy
from tests.rows import each

POLICY = RetryPolicy(attempts=4, first_wait_s=1.0, max_wait_s=3.0, max_retry_after_s=60.0)
BUSY = Fault(RateLimitError("busy"), retryable=True)


async def _most_at_once(limiter: Limiter, calls: int) -> int:
    under_way = most = 0

    async def call() -> None:
        nonlocal under_way, most
        async with limiter.slot():
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    await asyncio.gather(*(call() for _ in range(calls)))
    return most


def test_no_more_calls_than_allowed_are_under_way_in_any_event_loop() -> None:
    limiter = Limiter(3)
    assert [asyncio.run(_most_at_once(limiter, 10)) for _ in range(2)] == [3, 3]


def test_two_limiters_do_not_know_of_each_other() -> None:
    assert asyncio.run(_most_at_once(Limiter(2), 5)) == 2
    assert asyncio.run(_most_at_once(Limiter(4), 5)) == 4


def test_a_limit_below_one_is_an_error() -> None:
    with pytest.raises(InputError, match="concurrency must be at least 1, got 0"):
        Limiter(0)


def test_good_replies_lift_it_to_the_ceiling_and_no_further() -> None:
    level = AdaptiveLevel(64)
    for _ in range(200):
        level.went_well(under_way=level.now)
    assert level.now == 64


def test_a_refusal_halves_it_once_for_all_calls_sent_before() -> None:
    level = AdaptiveLevel(16)
    for _ in range(5):
        level.refused(sent_at_step=0)
    assert (level.now, level.steps_down) == (8, 1)


def test_after_a_refusal_it_grows_by_one_a_round_and_never_falls_below_one() -> None:
    level = AdaptiveLevel(16)
    level.refused(sent_at_step=0)
    for _ in range(9):
        level.went_well(under_way=level.now)
    assert level.now == 9
    for step in range(1, 20):
        level.refused(sent_at_step=step)
    assert level.now == 1


def test_an_idle_limit_proves_nothing() -> None:
    level = AdaptiveLevel(64)
    level.went_well(under_way=1)
    assert level.now == 16


@given(attempt=st.integers(1, 3), seed=st.integers(0, 99))
def test_waits_double_up_to_the_longest_and_jitter_takes_off_at_most_half(attempt: int, seed: int) -> None:
    wait = POLICY.wait_s(BUSY, attempt=attempt, rng=np.random.default_rng(seed))
    longest = {1: 1.0, 2: 2.0, 3: 3.0}[attempt]
    assert wait is not None
    assert longest / 2 <= wait <= longest


def test_the_same_seed_gives_the_same_waits() -> None:
    def waits(seed: int) -> list[float | None]:
        rng = np.random.default_rng(seed)
        return [POLICY.wait_s(BUSY, attempt=n, rng=rng) for n in (1, 2, 3)]

    assert waits(5) == waits(5) != waits(6)


def test_there_is_no_wait_after_the_last_attempt_nor_after_what_cannot_be_mended() -> None:
    rng = np.random.default_rng(0)
    assert POLICY.wait_s(BUSY, attempt=4, rng=rng) is None
    assert POLICY.wait_s(Fault(RateLimitError("no"), retryable=False), attempt=1, rng=rng) is None


@each("asked, at_least", [(0.0, 0.0), (10.0, 10.0), (60.0, 60.0)])
def test_a_wait_that_was_asked_for_is_never_cut_short(asked: float, at_least: float) -> None:
    fault = Fault(RateLimitError("busy"), retryable=True, retry_after_s=asked)
    wait = POLICY.wait_s(fault, attempt=1, rng=np.random.default_rng(0))
    assert wait is not None
    assert at_least <= wait <= at_least * 1.1


def test_too_long_a_wait_is_a_failure_at_once() -> None:
    fault = Fault(RateLimitError("busy"), retryable=True, retry_after_s=3600.0)
    assert POLICY.wait_s(fault, attempt=1, rng=np.random.default_rng(0)) is None


def test_no_attempts_is_an_error() -> None:
    with pytest.raises(InputError, match="attempts must be at least 1, got 0"):
        RetryPolicy(attempts=0)
