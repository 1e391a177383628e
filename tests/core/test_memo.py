"""Bounded memory: values made once for all who want them, the oldest let go; what is dear is made once a process."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from eirene.core.memo import Memo, cache_folder, once
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.verifier.runtime import shipped_verifier
from eirene.retrieval.encoders import encoder_named


async def test_who_comes_meanwhile_waits_and_who_comes_later_finds_it() -> None:
    asked = []

    async def ask() -> int:
        asked.append(1)
        await asyncio.sleep(0)
        return 7

    memo: Memo[str, int] = Memo(2)
    assert await asyncio.gather(*(memo.get_or_await("a", ask) for _ in range(5))) == [7] * 5
    assert await memo.get_or_await("a", ask) == 7
    assert len(asked) == 1 and not memo._turns


async def test_a_failure_is_no_result_and_the_next_asks_again() -> None:
    left = [ValueError("gone"), 3]

    async def ask() -> int:
        await asyncio.sleep(0)
        found = left.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    memo: Memo[str, int] = Memo(2)
    first, second = await asyncio.gather(
        memo.get_or_await("a", ask), memo.get_or_await("a", ask), return_exceptions=True
    )
    assert isinstance(first, ValueError) and second == 3


async def test_who_comes_after_a_failure_waits_for_the_next_who_asks() -> None:
    """One at a time asks for a key, however many fail: each time is paid for."""
    begun, go_on = asyncio.Semaphore(0), asyncio.Semaphore(0)
    asking: list[int] = []

    async def ask() -> int:
        asking.append(1)
        begun.release()
        await go_on.acquire()
        return asking.pop()

    memo: Memo[str, int] = Memo(2)
    askers = [asyncio.create_task(memo.get_or_await("a", ask, worth=lambda _: False)) for _ in range(2)]
    for n in range(3):
        await begun.acquire()
        if n == 1:  # the second asks, for the first has failed
            askers.append(asyncio.create_task(memo.get_or_await("a", ask, worth=lambda _: False)))
            await asyncio.sleep(0)
        assert len(asking) == 1
        go_on.release()
    await asyncio.gather(*askers)


async def test_a_cancelled_asker_leaves_the_others_their_turn() -> None:
    async def ask() -> int:
        await asyncio.sleep(0.01)
        return 1

    memo: Memo[str, int] = Memo(2)
    first, second = asyncio.create_task(memo.get_or_await("a", ask)), asyncio.create_task(memo.get_or_await("a", ask))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1
    with pytest.raises(asyncio.CancelledError):
        await first


async def test_what_is_not_worth_it_and_what_is_oldest_is_let_go() -> None:
    values = iter(range(10))

    async def ask() -> int:
        return next(values)

    memo: Memo[str, int] = Memo(2)

    async def get(key: str) -> int:
        return await memo.get_or_await(key, ask, worth=lambda value: value > 0)

    assert [await get("a") for _ in range(3)] == [0, 1, 1]
    assert [await get(k) for k in ("b", "a", "c", "a", "b")] == [2, 1, 3, 1, 4]


def test_it_outlives_an_event_loop() -> None:
    memo: Memo[str, int] = Memo(2)

    async def ask() -> int:
        return 1

    async def both() -> list[int]:
        return await asyncio.gather(memo.get_or_await("a", ask), memo.get_or_await("a", ask))

    assert [asyncio.run(both()) for _ in range(2)] == [[1, 1], [1, 1]]


def test_threads_with_loops_of_their_own_share_one() -> None:
    memo: Memo[str, int] = Memo(2)

    async def slow() -> int:
        await asyncio.sleep(0.01)
        return 1

    async def both() -> list[int]:
        return await asyncio.gather(memo.get_or_await("a", slow), memo.get_or_await("a", slow))

    with ThreadPoolExecutor(4) as pool:
        assert [found.result() for found in [pool.submit(asyncio.run, both()) for _ in range(4)]] == [[1, 1]] * 4
    assert len(memo) == 1 and not memo._turns


def test_what_was_used_longest_ago_goes_first() -> None:
    memo: Memo[str, int] = Memo(2)
    for key, value in (("a", 1), ("b", 2)):
        memo.put(key, value)
    assert memo.get("a") == 1
    memo.put("c", 3)
    assert (memo.get("a"), memo.get("b"), memo.get("c")) == (1, None, 3)
    assert memo.get_or_make("b", lambda: 4) == 4 == memo.get_or_make("b", lambda: 5)


@pytest.mark.parametrize("variable", ["EIRENE_CACHE", "XDG_CACHE_HOME", "HOME"])
def test_the_folder_follows_the_environment(variable: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Eirene's own variable comes before that of the desktop, and both before the home folder."""
    for name in ("EIRENE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    under = {"EIRENE_CACHE": "", "XDG_CACHE_HOME": "eirene", "HOME": ".cache/eirene"}[variable]
    assert cache_folder() == tmp_path / under


def test_threads_that_ask_meanwhile_wait_for_the_one_that_makes_it() -> None:
    begun, go_on, made = threading.Event(), threading.Event(), []

    @once
    def thing() -> object:
        begun.set()
        go_on.wait()
        made.append(object())
        return made[0]

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(thing())) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    go_on.set()
    for thread in threads:
        thread.join()
    assert found == made * 4


def test_after_a_failure_the_next_caller_tries_again() -> None:
    tries: list[int] = []

    @once
    def thing() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return 7

    with pytest.raises(OSError, match="not yet"):
        thing()
    assert [thing(), thing(), len(tries)] == [7, 7, 2]


def test_all_parts_of_a_process_share_one_encoder() -> None:
    assert shipped_verifier().encoder is shipped_encoder()
    assert encoder_named() is shipped_encoder()
