"""What the call cache costs and saves: CPU per vote of 20 replies, and how long the event loop is held up.

    python benchmarks/call_cache.py [--votes 1000]

Times are the process's CPU, SQLite's thread included. The longest hold-up is what a task that only wants to run every
millisecond waits beyond that, with and without a cache that another task uses as fast as it can.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from eirene.core.usage import Meter
from eirene.models.cache import CallCache, reply_keys
from eirene.models.chat import ChatModel, Sampling, draw_replies
from eirene.models.replies import Reply
from eirene.models.scripted import ScriptedChatModel
from eirene.prompts import Message

REPLY = "1. [Complete]\n2. [Incomplete] Reasons: " + "it leaves out what the other side says " * 8
SEEDS = range(20)


def prompts(n: int, start: int = 0) -> list[list[Message]]:
    return [[Message("user", f"{i} " + "word " * 600)] for i in range(start, start + n)]


def size_of(cache: CallCache) -> int:
    return os.path.getsize(cache.path)


async def cpu_us(work: Callable[[list[Message]], Awaitable[object]], asked: list[list[Message]]) -> float:
    began = time.process_time()
    for messages in asked:
        await work(messages)
    return (time.process_time() - began) / len(asked) * 1e6


async def drawn(chat: ChatModel, messages: list[Message]) -> None:
    async for _ in draw_replies(chat, messages, sampling=Sampling(1.0, 0.9), seeds=SEEDS, meter=Meter()):
        pass


async def held_up_ms(work: Callable[[], Awaitable[object]] | None) -> tuple[float, float]:
    """The median and the longest delay of a task that wants to run every millisecond, for two seconds."""
    delays, over = [], asyncio.Event()

    async def busy() -> None:
        while work is not None and not over.is_set():
            await work()

    task = asyncio.create_task(busy())
    until = time.perf_counter() + 2
    while time.perf_counter() < until:
        before = time.perf_counter()
        await asyncio.sleep(0.001)
        delays.append(time.perf_counter() - before - 0.001)
    over.set()
    await task
    delays.sort()
    return delays[len(delays) // 2] * 1e3, delays[-1] * 1e3


async def measure(votes: int, folder: str) -> None:
    cache = CallCache(Path(folder) / "calls.sqlite", max_bytes=10**9)
    asked = prompts(votes)

    def keys(messages: list[Message]) -> list[bytes]:
        return reply_keys("openai:m", messages, Sampling(1.0, 0.9).asked(), seeds=SEEDS)

    async def hash_only(messages: list[Message]) -> object:
        return keys(messages)

    async def keep(messages: list[Message]) -> object:
        return await cache.keep({key: Reply(REPLY, "stop") for key in keys(messages)})

    async def recall(messages: list[Message]) -> object:
        return await cache.recall(keys(messages))

    print("CPU microseconds for a vote of 20 replies, keys included")
    print(f"  keys alone        {await cpu_us(hash_only, asked):8.0f}")
    print(f"  looked up, none   {await cpu_us(recall, asked):8.0f}")
    print(f"  stored            {await cpu_us(keep, asked):8.0f}")
    print(f"  looked up, all    {await cpu_us(recall, asked):8.0f}")
    print("CPU microseconds for the same vote through the call layer, a scripted model behind it")
    plain = ChatModel(ScriptedChatModel(lambda _: REPLY), name="openai:n")
    cached = ChatModel(ScriptedChatModel(lambda _: REPLY), name="openai:n", cache=cache)
    some = prompts(min(votes, 300), start=10**6)
    print(f"  without a cache   {await cpu_us(lambda m: drawn(plain, m), some):8.0f}")
    print(f"  with, first run   {await cpu_us(lambda m: drawn(cached, m), some):8.0f}")
    print(f"  with, second run  {await cpu_us(lambda m: drawn(cached, m), some):8.0f}")
    entries, counted = len(cache), size_of(cache)
    print(f"{entries:,} replies of {len(REPLY)} letters take {counted / entries:.0f} bytes each in the file")
    fresh = iter(prompts(10**5, start=10**7))
    idle, busy = await held_up_ms(None), await held_up_ms(lambda: keep(next(fresh)))
    print(f"hold-up of the event loop, median and longest: idle {idle[0]:.2f} and {idle[1]:.1f} ms, "
          f"beside a cache that stores without pause {busy[0]:.2f} and {busy[1]:.1f} ms")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, default=1000)
    with tempfile.TemporaryDirectory() as temporary:
        asyncio.run(measure(parser.parse_args().votes, temporary))
