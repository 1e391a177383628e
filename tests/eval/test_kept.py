"""Asking once for what several want."""

from __future__ import annotations

import asyncio

import pytest

from eirene.eval.scoring import Kept


async def test_who_comes_meanwhile_waits_and_who_comes_later_finds_it() -> None:
    asked = []

    async def ask() -> int:
        asked.append(1)
        await asyncio.sleep(0)
        return 7

    kept: Kept[str, int] = Kept(2, worth=lambda _: True)
    assert await asyncio.gather(*(kept.get("a", ask) for _ in range(5))) == [7] * 5
    assert await kept.get("a", ask) == 7
    assert len(asked) == 1
    assert kept._turns == {}


async def test_a_failure_is_no_result_and_the_next_asks_again() -> None:
    left = [ValueError("gone"), 3]

    async def ask() -> int:
        await asyncio.sleep(0)
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    kept: Kept[str, int] = Kept(2, worth=lambda _: True)
    first, second = await asyncio.gather(kept.get("a", ask), kept.get("a", ask), return_exceptions=True)
    assert isinstance(first, ValueError) and second == 3
    assert kept._turns == {}


async def test_who_comes_after_a_failure_waits_for_the_next_who_asks() -> None:
    """One at a time asks for a key, however many fail: each time is paid for."""
    asking: list[int] = [0, 0]

    async def ask() -> int:
        asking[0] += 1
        asking[1] = max(asking)
        await asyncio.sleep(0.01)
        asking[0] -= 1
        return 0

    kept: Kept[str, int] = Kept(2, worth=lambda _: False)

    async def later() -> None:
        await asyncio.sleep(0.015)
        await kept.get("a", ask)

    await asyncio.gather(kept.get("a", ask), kept.get("a", ask), later())
    assert (asking, kept._turns) == ([0, 1], {})


async def test_a_cancelled_asker_leaves_the_others_their_turn() -> None:
    async def ask() -> int:
        await asyncio.sleep(0.01)
        return 1

    kept: Kept[str, int] = Kept(2, worth=lambda _: True)
    first, second = asyncio.create_task(kept.get("a", ask)), asyncio.create_task(kept.get("a", ask))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_what_is_not_worth_it_and_what_is_oldest_is_let_go() -> None:
    values = iter(range(10))

    async def ask() -> int:
        return next(values)

    kept: Kept[str, int] = Kept(2, worth=lambda value: value > 0)
    assert [await kept.get("a", ask) for _ in range(3)] == [0, 1, 1]
    assert [await kept.get(k, ask) for k in ("b", "a", "c", "a", "b")] == [2, 1, 3, 1, 4]


def test_it_outlives_an_event_loop() -> None:
    kept: Kept[str, int] = Kept(2, worth=lambda _: True)

    async def ask() -> int:
        return 1

    async def both() -> list[int]:
        return await asyncio.gather(kept.get("a", ask), kept.get("a", ask))

    assert [asyncio.run(both()) for _ in range(2)] == [[1, 1], [1, 1]]
