"""Whether a server that is kept busy answers /healthz: n, median and longest time of a probe, by what keeps it busy.

    python benchmarks/serve_health.py --seconds 20

The server is a process of its own (`eirene serve`, embedded loop); the scripted model that writes its drafts, the
clients and the probe share another. `drafts`: the model writes long texts that the loop computes on. `bodies`: requests
made to do harm. `arguments`: a long answer against two thousand arguments. `spaces`: long runs of white space.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

from eirene.testing.loopback import LoopbackServer

LONG = 49_000  # characters: just under what is refined
WORDS = [
    "zoo",
    "animal",
    "child",
    "school",
    "park",
    "water",
    "money",
    "law",
    "city",
    "health",
    "cage",
    "teacher",
    "pupil",
]
SIDES = [{"name": side, "arguments": [f"It helps the {word}." for word in WORDS]} for side in ("pro", "con")]
QUESTION = {"role": "user", "content": "Should zoos be closed?"}
Body = bytes


def prose(n: int) -> str:
    """Sentences that differ: no memory of the encoder's helps."""
    numbered = (f"The {WORDS[i % 13]} of town {i} needs a {WORDS[i * 7 % 13]} and more. " for i in itertools.count())
    text = ""
    while len(text) < n:
        text += next(numbered)
    return text


DRAFTS = [
    prose(LONG),
    "A.\n" * (LONG // 3),
    "word " * (LONG // 5),
    "cats are happy and dogs are glad, and " * (LONG // 38),
    ".,;!? " * (LONG // 6),
    "1. a\n" * (LONG // 5),
]
SPACES = ["Cats sleep" + " " * 16_000 + "at night.", " " * LONG + ".", "\n" * LONG + ".", "a\t" * (LONG // 2)]


def _chat(**fields: object) -> Body:
    return json.dumps({"model": "test", "messages": [QUESTION], "perspectives": SIDES, **fields}).encode()


def _given(answer: str, **fields: object) -> Body:
    return _chat(messages=[QUESTION, {"role": "assistant", "content": answer}], **fields)


def _bodies() -> list[Body]:
    turn = {"role": "user", "content": "x"}
    return [
        _chat(messages=[turn] * 30_000),
        _chat(messages=[turn] * 900),
        b'{"model": "test", "messages": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"model": "test", "messages": [' + b"[]," * 1_000_000 + b"1]}",
        b'{"model": "test", "messages": ["' + b"x" * 3_900_000 + b'"]}',
        _chat(messages=[{"role": "user", "content": "why " * 900_000}]),
        _chat(perspectives=[{"name": str(n), "arguments": ["a b c"]} for n in range(20_000)]),
        _chat(context=["a"] * 300_000),
        _chat(model="m" * 3_000_000),
    ]


def _arguments() -> list[Body]:
    many = [{"name": s, "arguments": [f"{s} {n}: {prose(60)}" for n in range(900)]} for s in ("pro", "con")]
    return [_given(prose(LONG), perspectives=many), _given(prose(LONG), perspectives=None, context=[prose(190_000)])]


LOADS: dict[str, Callable[[], list[Body]]] = {
    "drafts": lambda: [_chat()],
    "bodies": _bodies,
    "arguments": _arguments,
    "spaces": lambda: [_given(text) for text in SPACES],
}


@contextlib.contextmanager
def server(upstream: str, timeout_s: float) -> Iterator[int]:
    """`eirene serve` as a process; its port."""
    command = [sys.executable, "-m", "eirene", "serve", "--port", "0", "--upstream", "openai:test", "--grace", "1"]
    command += ["--base-url", upstream, "--timeout", f"{timeout_s:g}"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())
        assert found is not None, process.stderr.read()
        threading.Thread(target=process.stderr.read, daemon=True).start()
        try:
            yield int(found[1])
        finally:
            process.terminate()


def _ask(port: int, body: Body, timeout_s: float) -> str:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout_s)
    try:
        line.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        reply = line.getresponse()
        status = (json.loads(reply.read()).get("eirene") or {}).get("status", "")
        return f"{reply.status} {status}".strip()
    except OSError as error:
        return type(error).__name__
    finally:
        line.close()


def _probe(port: int, until: float) -> list[float]:
    """Seconds of each answer, a new connection every twentieth second."""
    took = []
    while time.monotonic() < until:
        began = time.monotonic()
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        line.request("GET", "/healthz")
        assert line.getresponse().status == 200
        line.close()
        took.append(time.monotonic() - began)
        time.sleep(0.05)
    return took


def measure(load: str, *, seconds: float, clients: int, timeout_s: float) -> str:
    """One line: what the probe saw, and what became of the requests."""
    outcomes: dict[str, int] = {}
    bodies, counter = LOADS[load](), itertools.count()

    def keep_busy(port: int, until: float) -> None:
        while time.monotonic() < until:
            said = _ask(port, bodies[next(counter) % len(bodies)], timeout_s + 60)
            outcomes[said] = outcomes.get(said, 0) + 1

    drafts = itertools.cycle(DRAFTS)
    with LoopbackServer(lambda request, index: next(drafts)) as upstream, server(upstream.base_url, timeout_s) as port:
        until = time.monotonic() + seconds
        busy = [threading.Thread(target=keep_busy, args=(port, until)) for _ in range(clients)]
        for thread in busy:
            thread.start()
        took = _probe(port, until)
        for thread in busy:
            thread.join()
    p50, longest = statistics.median(took), max(took)
    return f"{load}: n={len(took)} p50={p50 * 1000:.0f} ms max={longest * 1000:.0f} ms; requests {outcomes}"


def main() -> None:
    """Prints a line for each load."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=LOADS, action="append", help="only this one (default: all)")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each load")
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--timeout", type=float, default=10.0, help="the server's --timeout")
    flags = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f}, {flags.clients} clients, --timeout {flags.timeout:g}")
    for load in flags.load or LOADS:
        print(measure(load, seconds=flags.seconds, clients=flags.clients, timeout_s=flags.timeout), flush=True)


if __name__ == "__main__":
    main()
