"""The limit on calls under way."""

from __future__ import annotations

import asyncio

import pytest

from eirene.core.errors import InputError
from eirene.models.limits import Limiter


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
