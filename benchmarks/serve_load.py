"""Loads `eirene serve` with many clients at once over a scripted upstream, and says what they saw.

    python benchmarks/serve_load.py --clients 64 --seconds 60 --latency 1 --mode improve

The server is a process of its own; so is the upstream, so that its work is not counted. Each client chats without a
pause until the time is up, the first ones spread over a latency. A chat of mode improve makes two calls one after the
other, the draft and the rewrite; `bound` is twice calls x latency. `bare` is what the same number of clients see that
make as many calls without Eirene between, right before: what client and machine take themselves. Printed as one JSON
object: chats, those that were lost, latencies in seconds, CPU milliseconds of the server a chat, and its resident
memory in MiB over time.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from typing import Any

import httpx
import numpy as np
from harness import arguments, write_json
from loopback import cpu_s, resident_mib

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

CALLS = 2
"""Of a chat in mode improve or generic, one after the other."""
DRAFT = (
    "Supporters of a shorter week say that people who get a third day off come back rested and get as much done in "
    "less time. Opponents reply that hospitals, care homes and shops cannot close on Fridays."
)
BETTER = DRAFT + " One commuting day less cuts traffic and emissions. Small firms could not bear the higher wage."
QUESTION = "Should the standard working week be cut to four days without a cut in pay?"
PERSPECTIVES = {
    "pro": ["People who rest a third day work faster.", "One commuting day less cuts traffic and emissions."],
    "con": ["Small firms could not bear the higher wage."],
}
_CASE = re.compile(r"In case \d+: ")


def script(request: ScriptedRequest, _: int) -> str:
    """The draft for the bare question, its rewrite for all else; no two are the same, so that nothing is remembered."""
    case = _CASE.search(request.text)
    return f"In case {request.number}: {DRAFT}" if case is None else case.group() + BETTER


def main() -> None:
    """Reads the options, measures, prints."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--mode", choices=("improve", "generic"), default="improve")
    parser.add_argument("--stream", action="store_true", help="ask for streams")
    options = parser.parse_args()
    found = measure(options)
    print(json.dumps(found, indent=1))
    write_json(options.json, found)


@contextlib.contextmanager
def upstream(latency_s: float) -> Iterator[str]:
    """The scripted server in a process of its own; its address."""
    ours, theirs = Pipe()
    process = get_context("spawn").Process(target=serve_upstream, args=(theirs, latency_s), daemon=True)
    process.start()
    yield ours.recv()
    process.terminate()
    process.join()


def serve_upstream(pipe: Connection, latency_s: float) -> None:
    """Serves until it is terminated."""
    with LoopbackServer(script, latency_s=latency_s) as server:
        pipe.send(server.base_url)
        pipe.recv()


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Starts both servers, loads the one, and stops it with SIGTERM."""
    with upstream(options.latency) as base_url:
        serve = [sys.executable, "-m", "eirene", "serve", "--backend", "openai:test", "--base-url", base_url]
        serve += ["--port", "0", "--concurrency", str(options.clients), "--upstream-calls", str(options.clients)]
        with subprocess.Popen(serve, stderr=subprocess.PIPE, text=True) as server:
            assert server.stderr is not None
            root = server.stderr.readline().split(" at ")[1].split()[0]
            bare = asyncio.run(bare_calls(base_url, options))
            result = {**asyncio.run(load(root, server.pid, options)), "bare_p50_s": bare[0], "bare_p95_s": bare[1]}
            server.terminate()
            result["exit_code"] = server.wait(60)
    return result


async def by_clients(options: argparse.Namespace, one: Callable[[], Awaitable[None]], goes_on: Any) -> list[float]:
    """Seconds of each call of `one` by all clients at once, begun spread over a latency, for as long as it goes on."""
    seconds: list[float] = []

    async def client(n: int) -> None:
        await asyncio.sleep(options.latency * n / options.clients)
        done = 0
        while goes_on(done):
            began = time.monotonic()
            await one()
            seconds.append(time.monotonic() - began)
            done += 1

    await asyncio.gather(*(client(n) for n in range(options.clients)))
    return seconds


async def bare_calls(base_url: str, options: argparse.Namespace) -> list[float]:
    """Median and 95th percentile of the seconds that as many calls take straight to the upstream."""
    body = {"model": "test", "messages": [{"role": "user", "content": QUESTION}]}
    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=options.clients)) as client:

        async def one() -> None:
            for _ in range(CALLS):
                await client.post(f"{base_url}/chat/completions", json=body)

        seconds = await by_clients(options, one, lambda done: done < 4)
    return [round(float(value), 2) for value in np.percentile(seconds, [50, 95])]


async def load(root: str, pid: int, options: argparse.Namespace) -> dict[str, Any]:
    """All clients at once, and a look at the server every few seconds."""
    lost = Counter[str]()
    body = {
        "model": f"refine/{options.mode}/test", "messages": [{"role": "user", "content": QUESTION}],
        "stream": options.stream, "perspectives": PERSPECTIVES,
    }  # fmt: skip
    limits = httpx.Limits(max_connections=options.clients)
    async with httpx.AsyncClient(base_url=root, timeout=120, limits=limits) as client:
        await chat(client, body)  # the encoder is loaded with the first
        cpu, end, memory = cpu_s(pid), time.monotonic() + options.seconds, [resident_mib(pid)]

        async def one() -> None:
            if fault := await chat(client, body):
                lost[fault] += 1

        async def look() -> None:
            while time.monotonic() < end:
                await asyncio.sleep(options.seconds / 8)
                memory.append(resident_mib(pid))

        _, seconds = await asyncio.gather(look(), by_clients(options, one, lambda _: time.monotonic() < end))
        spent = cpu_s(pid) - cpu
    p50, p95, p99 = (round(float(value), 2) for value in np.percentile(seconds, [50, 95, 99]))
    return {
        "clients": options.clients, "seconds": options.seconds, "latency_s": options.latency, "mode": options.mode,
        "stream": options.stream, "chats": len(seconds), "lost": lost, "p50_s": p50, "p95_s": p95, "p99_s": p99,
        "bound_s": 2 * CALLS * options.latency, "cpu_ms_a_chat": round(1000 * spent / len(seconds), 1),
        "resident_mib": memory, "load_average": os.getloadavg()[0],
    }  # fmt: skip


async def chat(client: httpx.AsyncClient, body: dict[str, Any]) -> str:
    """One chat; what went wrong, or nothing."""
    try:
        reply = await client.post("/v1/chat/completions", json=body)
    except httpx.HTTPError as error:
        return type(error).__name__
    if reply.status_code != 200:
        return f"status {reply.status_code}"
    if body["stream"]:
        whole = reply.text.endswith("data: [DONE]\n\n") and '"status":"accepted"' in reply.text
        return "" if whole else "half a stream"
    trace = reply.json()["eirene"]
    return "" if trace["status"] == "accepted" else f"{trace['status']}: {trace['why'][:80]}"


if __name__ == "__main__":
    main()
