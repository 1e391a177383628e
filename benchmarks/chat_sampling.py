"""Twenty critiques from a chat model: how long, how many requests, how well counted, how early one may stop.

    python benchmarks/chat_sampling.py [--items 300]

Everything runs through the real `langchain-openai` client against a scripted server on loopback, which for the timings
is a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

import numpy as np

from eirene.core.critique import Sample
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.vote import select
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.testing.loopback import LoopbackServer, NPolicy
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest
from eirene.text.sentences import split_sentences

LATENCY_S = 0.2
SHARE = 0.9
ANSWER = "Trams are quiet. Buses are cheap. Both are late."
FAULTY = "1. [Incomplete] Reasons: Pollution is missing here, number {}.\n2. [Complete]\n3. [Complete]"
OTHERS = (
    "1. [Complete]\n2. [Incomplete] Reasons: For whom, number {}?\n3. [Complete]",
    "1. [Complete]\n2. [Complete]\n3. [Complete]",
    "1. [Incomplete] Reasons: Noise, number {}.\n2. [Incomplete] Reasons: Price.\n3. [Complete]",
)


def request_for(number: int) -> FeedbackRequest:
    """The request of one item; its seed is the item's number."""
    item = Item(question=f"Trams or buses in town {number}?", answer=ANSWER)
    return FeedbackRequest(item, ANSWER, split_sentences(ANSWER), seed=number)


def critique(request: ScriptedRequest, index: int) -> str:
    """One critique, the most common one with probability `SHARE`, the rest evenly; a function of seed and index."""
    rng = np.random.default_rng([request.body["seed"], index])
    text = FAULTY if rng.random() < SHARE else OTHERS[rng.integers(len(OTHERS))]
    return text.format(rng.integers(10**6))


def serve(policy: NPolicy, pipe: Connection) -> None:
    """Runs a server until the pipe says that it is enough; then sends the number of requests."""
    with LoopbackServer(critique, latency_s=LATENCY_S, n=policy) as server:
        pipe.send(server.base_url)
        while pipe.recv() == "calls":
            pipe.send(server.calls)


@contextmanager
def server_process(policy: NPolicy) -> Iterator[tuple[str, Connection]]:
    """A server in a process of its own: its address, and a pipe that gives its count for the word `calls`."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(policy, there))
    process.start()
    yield here.recv(), here
    here.send("stop")
    process.join()


async def timings(base_url: str, pipe: Connection, repeats: int = 15) -> tuple[float, list[float], list[int]]:
    """Milliseconds of the first draw of 20, and of later ones; requests of each draw."""

    def calls() -> int:
        pipe.send("calls")
        return int(pipe.recv())

    model = ChatFeedback(resolve_chat("openai:bench", options=ChatOptions(base_url=base_url)))
    times, requests, before = [], [], 0
    for number in range(repeats):
        began = time.perf_counter()
        result = await draw_samples(model, request_for(number), n=20, stop="none", meter=Meter())
        times.append(1000 * (time.perf_counter() - began))
        assert all(s.is_valid for s in result.samples)
        requests.append(calls() - before)
        before += requests[-1]
    return times[0], times[1:], requests


def winner(samples: tuple[Sample, ...], request: FeedbackRequest) -> tuple[str, ...] | None:
    """The tags that are selected."""
    chosen = select(samples, request.sentences, n_requested=20, min_consistency=0.0, early_stop=False).critique
    return None if chosen is None else tuple(s.tag for s in chosen.sentences)


async def stopping(items: int) -> str:
    """Samples and requests that `beta` needs, and how often it picks what 20 samples pick."""
    drawn, same = [], 0
    with LoopbackServer(critique, n="refuses") as server:
        model = ChatFeedback(resolve_chat("openai:bench", options=ChatOptions(base_url=server.base_url)))
        await draw_samples(model, request_for(items), n=2, stop="none", meter=Meter())  # finds out that there is no `n`
        meter = Meter()
        for number in range(items):
            request = request_for(number)
            early = await draw_samples(model, request, n=20, stop="beta", meter=meter)
            drawn.append(len(early.samples))
            whole = await draw_samples(model, request, n=20, stop="none", meter=Meter())
            same += winner(early.samples, request) == winner(whole.samples, request)
        return (
            f"beta, winner's share {SHARE}: mean {statistics.mean(drawn):.2f} samples, {meter.total.calls / items:.2f} "
            f"calls an item (longest {max(drawn)}); winner as with 20 in {same} of {items} = {same / items:.1%}"
        )


async def counting(items: int) -> str:
    """The client's token count against the server's, with one call of ten failing once."""
    ways: tuple[ScriptedReply, ...] = (
        HttpError(500),
        HttpError(429, headers={"Retry-After": "0"}),
        BrokenReply("drop"),
    )

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        seed = request.body["seed"]
        fails = index == 0 and request.attempt == 1 and np.random.default_rng(seed).random() < 0.1
        return ways[seed % len(ways)] if fails else critique(request, index)

    errors, retries = [], 0
    options = RetryPolicy(first_wait_s=0.001)
    with LoopbackServer(script, n="refuses") as server:
        model = ChatFeedback(resolve_chat("openai:bench", options=ChatOptions(base_url=server.base_url, retry=options)))
        for number in range(items):
            meter, read, written = Meter(), server.input_tokens, server.output_tokens
            await draw_samples(model, request_for(number), n=20, stop="none", meter=meter)
            errors.append(abs(meter.total.input_tokens - (server.input_tokens - read)))
            errors.append(abs(meter.total.output_tokens - (server.output_tokens - written)))
            retries += meter.total.retries
    return (
        f"usage: {items} items, {retries} retries, mean error {statistics.mean(errors):g} tokens, worst {max(errors)}"
    )


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=300)
    items = parser.parse_args().items
    policies: tuple[NPolicy, ...] = ("takes", "refuses", "ignores")
    for policy in policies:
        with server_process(policy) as (base_url, pipe):
            first, later, requests = asyncio.run(timings(base_url, pipe))
        print(
            f"20 samples, latency {1000 * LATENCY_S:.0f} ms, server {policy} n: first draw {first:.0f} ms in "
            f"{requests[0]} requests; then median {statistics.median(later):.0f}, worst {max(later):.0f} ms in "
            f"{max(requests[1:])} (of {len(later)} draws)",
            flush=True,
        )
    print(asyncio.run(stopping(items)), flush=True)
    print(asyncio.run(counting(max(1, items // 10))), flush=True)


if __name__ == "__main__":
    main()
