"""The waits between attempts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError, RateLimitError
from eirene.models.faults import Fault
from eirene.models.limits import RetryPolicy

POLICY = RetryPolicy(attempts=4, first_wait_s=1.0, max_wait_s=3.0, max_retry_after_s=60.0)
BUSY = Fault(RateLimitError("busy"), retryable=True)


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


@pytest.mark.parametrize(("asked", "at_least"), [(0.0, 0.0), (10.0, 10.0), (60.0, 60.0)])
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
