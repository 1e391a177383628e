"""Work that holds up its event loop, or never ends: /healthz answers meanwhile, chats in time, and a stop stops."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx
import pytest

from eirene.agent.server.engine import Engine
from eirene.agent.settings import Settings
from tests.agent.server.serving import ASK, DRAFT, SIDES, Served, embedded_engine, served
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
CHAT = {"model": "embedded", "messages": [*ASK, {"role": "assistant", "content": DRAFT}], "perspectives": SIDES}


class Stuck:
    """A refiner that holds up the event loop it runs on until it is let go."""

    name = "stuck"

    def __init__(self) -> None:
        self.began, self.let_go = threading.Event(), threading.Event()

    async def refine(self, *_: Any, **__: Any) -> str:
        self.began.set()
        self.let_go.wait(120)
        return "never shown"


@contextmanager
def stuck_server(**options: Any) -> Iterator[tuple[Stuck, Served]]:
    parts, refiner = embedded_engine().parts, Stuck()
    engine = Engine(replace(parts, refiner=refiner), Settings(mode="improve"))
    with served(engine, **options) as server:
        try:
            yield refiner, server
        finally:
            refiner.let_go.set()


def posted(server: Served, replies: list[httpx.Response]) -> threading.Thread:
    url = f"{server.root}/v1/chat/completions"
    thread = threading.Thread(target=lambda: replies.append(httpx.post(url, json=CHAT, timeout=120)))
    thread.start()
    return thread


def test_a_loop_that_is_held_up_holds_up_no_connection() -> None:
    replies: list[httpx.Response] = []
    with stuck_server() as (refiner, server):
        asking = posted(server, replies)
        assert refiner.began.wait(60)
        assert httpx.get(f"{server.root}/healthz", timeout=60).json()["status"] == "ok"
        assert "eirene_in_flight 1.0" in httpx.get(f"{server.root}/metrics", timeout=60).text
        assert not refiner.let_go.is_set()
        refiner.let_go.set()
        asking.join(60)
    assert replies[0].json()["eirene"]["status"] == "kept"


@each("stream", [False, True])
def test_past_the_deadline_the_client_has_its_answer_whatever_runs(stream: bool) -> None:
    with stuck_server(timeout_s=0.5) as (refiner, server):
        reply = httpx.post(f"{server.root}/v1/chat/completions", json={**CHAT, "stream": stream}, timeout=60)
        assert refiner.began.is_set()
        assert not refiner.let_go.is_set()
        chunks = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: {")]
        told = (chunks[-1] if stream else reply.json())["eirene"]
        text = (
            "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks)
            if stream
            else reply.json()["choices"][0]["message"]["content"]
        )
        assert (text, told["status"], told["records"][0]["error"]["kind"]) == (DRAFT, "failed", "Deadline")


STUCK_PROCESS = """
import asyncio, sys, threading
from eirene.agent.backends import resolve_backend
from eirene.agent.server.app import create_app
from eirene.agent.server.engine import Engine
from eirene.agent.server.access import ServeOptions
from eirene.agent.server.serve import serve
from eirene.agent.settings import Settings
from eirene.agent.state import Parts

class Stuck:
    name = "stuck"
    async def refine(self, *_, **__):
        print("began", flush=True)
        {waits}

parts = resolve_backend("embedded")
engine = Engine(Parts("embedded", parts.feedback_model, Stuck(), parts.detectors), Settings(mode="improve"))
options = ServeOptions(port=0, grace_s={grace})
sys.exit(serve(create_app(engine, options), options, on_ready=lambda address: print(address, flush=True)))
"""
ON_THE_LOOP = "threading.Event().wait()"
COMPUTES = "sum(iter(lambda: 1, 2))"
IN_A_THREAD = "await asyncio.to_thread(threading.Event().wait)"


@contextmanager
def stuck_process(waits: str, grace: str) -> Iterator[subprocess.Popen[str]]:
    """A server that is at a chat that never ends."""
    script = STUCK_PROCESS.format(waits=waits, grace=grace)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"{process.stdout.readline().strip()}/v1/chat/completions"
            asking = threading.Thread(target=_ask_in_vain, args=(url,))
            asking.start()
            assert process.stdout.readline() == "began\n"
            yield process
        finally:
            process.kill()
    asking.join(60)


def _ask_in_vain(url: str) -> None:
    with suppress(httpx.HTTPError):
        httpx.post(url, json=CHAT, timeout=240)


@pytest.mark.slow
@each("waits, number, code", [(COMPUTES, signal.SIGTERM, 0), (IN_A_THREAD, signal.SIGINT, 130)])
def test_the_grace_is_a_bound_whatever_runs(waits: str, number: signal.Signals, code: int) -> None:
    with stuck_process(waits, "0.2") as process:
        process.send_signal(number)
        assert process.wait(120) == code


def test_a_second_signal_ends_the_process() -> None:
    with stuck_process(ON_THE_LOOP, "float('inf')") as process:
        process.send_signal(signal.SIGTERM)
        while process.poll() is None:  # the second counts from when the first has been taken
            process.send_signal(signal.SIGTERM)
        assert process.returncode == -signal.SIGTERM


TEXT = {"role": "user", "content": "x"}
TOO_MUCH: list[tuple[dict[str, Any], str, str]] = [
    ({"messages": [TEXT] * 30_000}, "messages", "at most 1000"),
    ({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}] * 5000}]}, "messages", "1000 parts"),
    ({"messages": [{**TEXT, "name": "n" * 10**6}]}, "messages", "at most 1000"),
    ({"messages": ASK, "tools": [{}] * 1000}, "tools", "at most 512"),
    ({"messages": ASK, "context": ["x"] * 10_000}, "context", "at most 2000"),
    ({"messages": ASK, "perspectives": [{"name": "a", "arguments": ["x"]}] * 1000}, "perspectives", "at most 64"),
    ({"messages": ASK, "perspectives": [{"name": "a", "arguments": ["x"] * 9000}]}, "perspectives", "2000 arguments"),
    ({"messages": ASK, "perspectives": [{"name": "a" * 10**6, "arguments": ["x"]}]}, "perspectives", "at most 1000"),
    ({"messages": ASK, "user": "u" * 10**6}, "user", "at most 1000"),
    ({"messages": ASK, "model": "m" * 10**6}, "model", "at most 1000"),
    ({"messages": ASK, "n": 10**9}, "n", "16, got 1000000000"),
    ({"messages": ASK, "stop": ["x"] * 1000}, "stop", ""),
]


def test_a_body_that_holds_too_much_of_something_is_told_of_what() -> None:
    with served(embedded_engine()) as server:
        for fields, param, said in TOO_MUCH:
            reply = httpx.post(f"{server.root}/v1/chat/completions", json={"model": "embedded", **fields}, timeout=60)
            error = reply.json()["error"]
            assert (reply.status_code, error["param"].partition(".")[0]) == (400, param), error
            assert said in error["message"]
            assert error["type"] == "invalid_request_error"


def test_a_body_that_is_nested_too_deeply_is_refused() -> None:
    with served(embedded_engine()) as server:
        for path in ("/v1/chat/completions", "/v1/runs", "/v1/edits"):
            for opening, closing in (("[", "]"), ('{"a":', "}")):
                for depth in (101, 100_000):
                    body = '{"tools": ' + opening * depth + "1" + closing * depth + "}"
                    reply = httpx.post(server.root + path, content=body, timeout=60)
                    assert (reply.status_code, reply.json()["error"]["code"]) == (400, "too_deep"), (path, depth)


def test_a_long_conversation_passes_the_reply_on_as_it_is() -> None:
    with served(embedded_engine()) as server:
        messages = [{"role": "user", "content": "word " * 50_000}, *CHAT["messages"][1:]]  # type: ignore[index]
        reply = httpx.post(f"{server.root}/v1/chat/completions", json={**CHAT, "messages": messages}, timeout=60)
        assert reply.json()["eirene"]["why"].startswith("what was asked has more than 200000 characters")


def test_what_agents_send_is_no_matter_of_size() -> None:
    """A schema of a tool, nested as schemas are, and a long conversation of many tool calls."""
    schema: Callable[[int], Any] = lambda n: {"type": "object", "properties": {"a": schema(n - 1)}} if n else {}  # noqa: E731
    turns: list[Any] = [*ASK, {"role": "assistant", "content": "Well."}] * 400
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema(20)}}] * 128
    with served(embedded_engine()) as server:
        body = {**CHAT, "messages": [*turns, *CHAT["messages"]], "tools": tools}  # type: ignore[misc]
        assert httpx.post(f"{server.root}/v1/chat/completions", json=body, timeout=60).status_code == 200
