"""Draws of many replies to one prompt, by one request where the provider takes `n`, else by concurrent calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.prompts import Message


@dataclass(frozen=True, slots=True)
class Drawing:
    """Several replies to be drawn to one prompt: the prompt, how they are drawn, and the seed of each."""

    messages: Sequence[Message]
    sampling: Sampling
    seeds: Sequence[int]


async def draw_replies(
    chat: ChatModel, drawing: Drawing, *, meter: Meter
) -> AsyncGenerator[Reply | BackendError, None]:
    """One reply a seed, in the order of the seeds; a call that failed for good gives its error in that place.

    What the call cache knows is taken from it, the rest is drawn: by one request for all of it (with the first seed)
    while the provider takes `n`; what is then still missing, and everything where it does not, by concurrent calls.
    Closing the generator cancels the calls under way. Raises `PERMANENT_ERRORS`.
    """
    known = await chat.recall(drawing.messages, sampling=drawing.sampling, seeds=drawing.seeds, meter=meter)
    missing = [seed for seed, reply in zip(drawing.seeds, known, strict=True) if reply is None]
    fresh = _fresh(chat, replace(drawing, seeds=missing), meter)
    async with aclosing(fresh):  # a generator that is merely dropped would leave its calls running
        for reply in known:
            yield await anext(fresh) if reply is None else reply


async def _fresh(chat: ChatModel, drawing: Drawing, meter: Meter) -> AsyncGenerator[Reply | BackendError, None]:
    seeds, done = drawing.seeds, 0
    if len(seeds) > 1 and chat.takes_n:
        try:
            replies = await chat.send(drawing.messages, sampling=drawing.sampling, seeds=seeds, meter=meter)
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            for _ in seeds:
                yield error
            return
        for reply in replies:
            yield reply
        done = len(replies)
    rest = _concurrently(chat, replace(drawing, seeds=seeds[done:]), meter)
    async with aclosing(rest):
        async for outcome in rest:
            yield outcome


async def _concurrently(chat: ChatModel, drawing: Drawing, meter: Meter) -> AsyncGenerator[Reply | BackendError, None]:
    messages, sampling, seeds = drawing.messages, drawing.sampling, drawing.seeds

    async def one(seed: int) -> Reply:
        return (await chat.send(messages, sampling=sampling, seeds=[seed], meter=meter, is_shared=True))[0]

    # A provider that writes the prompt to a cache has it there for those only that ask when the first is answered.
    at_once = 1 if chat.wants_breakpoint(messages, sampling) else len(seeds)
    tasks = [asyncio.create_task(one(seed)) for seed in seeds[:at_once]]
    try:
        for place in range(len(seeds)):
            if place == len(tasks):
                tasks += [asyncio.create_task(one(seed)) for seed in seeds[place:]]
            task = tasks[place]
            try:
                yield await task
            except PERMANENT_ERRORS:
                raise
            except BackendError as error:
                yield error
    finally:
        for task in tasks:
            task.cancel()
        # Waits for the cancelled, and takes note of the errors of those that nobody will look at any more.
        await asyncio.gather(*tasks, return_exceptions=True)
