"""A real server on a thread, over a scripted upstream, for clients of any kind."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import openai
import uvicorn

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.server.access import ServeOptions
from eirene.agent.server.app import create_app
from eirene.agent.server.drafts import Upstream
from eirene.agent.server.engine import Engine
from eirene.agent.server.pages import RenderPage
from eirene.agent.server.serve import configure, listen
from eirene.agent.settings import Settings
from eirene.core.records import Item
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, chat_builder
from eirene.testing.loopback import LoopbackServer

SIDES = [
    {"name": "pro", "arguments": ["Zoos teach children about animals."]},
    {"name": "con", "arguments": ["Cages make animals suffer."]},
]
DRAFT = "Supporters say that zoos teach children about animals."
QUESTION = "Should zoos be closed?"
ASK: list[Any] = [{"role": "user", "content": QUESTION}]
MODEL = "refine/fine-grained/test"
GIVEN: dict[str, Any] = {"perspectives": SIDES}
COMMAND = [sys.executable, "-m", "eirene", "serve", "--port", "0"]


@contextlib.contextmanager
def running(*flags: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The command as a process of its own, and its address."""
    with subprocess.Popen(
        [*COMMAND, *flags], stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        found = re.search(r"http://[\d.]+:\d+", first)
        assert found is not None, first + process.stderr.read()
        try:
            yield process, found[0]
        finally:
            process.kill()


class Served:
    """A running server: its address, and clients for it."""

    def __init__(self, port: int, app: Any) -> None:
        self.port = port
        self.app = app
        self.root = f"http://127.0.0.1:{port}"
        self._clients: list[openai.OpenAI] = []

    def client(self, key: str = "any", **options: Any) -> openai.OpenAI:
        """OpenAI's own client; no retries, so that every error is seen."""
        client = openai.OpenAI(base_url=f"{self.root}/v1", api_key=key, **{"max_retries": 0, "timeout": 20, **options})
        self._clients.append(client)
        return client

    def close(self) -> None:
        """Closes the clients."""
        for client in self._clients:
            client.close()


@contextlib.contextmanager
def served(engine: Engine, *, render: RenderPage | None = None, **options: Any) -> Iterator[Served]:
    """The server around an engine, on a free port; runs have a page of one line, unless `render` makes a better."""
    chosen = ServeOptions(**{"port": 0, "grace_s": 2, "keep_alive_s": 0.05, **options})
    app = create_app(engine, chosen, render=render or (lambda record, item: f"<p>{record.status} {item.question}</p>"))
    listener = listen(chosen.host, 0)
    server = uvicorn.Server(configure(app, chosen))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="served")
    thread.start()
    running = Served(listener.getsockname()[1], app)
    try:
        yield running
    finally:
        running.close()
        server.should_exit = True
        thread.join(20)
        listener.close()
    assert not thread.is_alive()


def everything(server: Served) -> list[str]:
    """What the server tells of its runs: the list, each run, its events, its page."""
    runs = httpx.get(f"{server.root}/v1/runs").json()["data"]
    paths = [
        f"{at}{run['id']}{end}"
        for run in runs
        for at, end in (("/v1/runs/", ""), ("/v1/runs/", "/events"), ("/runs/", ""))
    ]
    return [json.dumps(runs), *(httpx.get(server.root + path, timeout=30).text for path in paths)]


def embedded_engine(
    upstream: LoopbackServer | None = None, *, fill: Callable[[Item], Item] | None = None, **settings: Any
) -> Engine:
    """The embedded loop, and drafts from a scripted server where there is one."""
    writer = None if upstream is None else behind(upstream)
    return Engine(resolve_backend("embedded"), Settings(**settings), upstream=writer, fill=fill)


def chat_engine(upstream: LoopbackServer, *, calls: int = 32, **settings: Any) -> Engine:
    """Drafts, critiques and rewrites by one scripted server, with so many calls of the loop under way at most."""
    parts = resolve_backend("openai:test", BackendOptions(base_url=upstream.base_url, concurrency=calls))
    return Engine(parts, Settings(**settings), upstream=behind(upstream))


def behind(server: LoopbackServer, *, timeout_s: float = 10.0) -> Upstream:
    """The writer of drafts on a scripted server, with quick retries."""
    build = chat_builder("openai:test", ChatOptions(base_url=server.base_url))
    retry = RetryPolicy(attempts=2, first_wait_s=0.01)
    return Upstream(build(), name="openai:test", rebuild=build, retry=retry, timeout_s=timeout_s)
