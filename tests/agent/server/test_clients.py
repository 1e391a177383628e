"""The server over upstreams that answer as Ollama and vLLM do, and for a client that asks as Open WebUI does."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.server.drafts import Upstream
from eirene.agent.server.engine import Engine
from eirene.agent.settings import Settings
from eirene.models.resolve import ChatOptions, chat_builder
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, SIDES, embedded_engine, served
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
CRITIQUE = "1. [Incomplete] Reasons: the suffering of animals is missing"
BETTER = "Supporters say that zoos teach children about animals, but cages make animals suffer."


def ollama(n: int, texts: list[str]) -> dict[str, Any]:
    """One choice whatever was asked for, and the thoughts of a reasoning model beside it."""
    message = {"role": "assistant", "content": texts[0], "reasoning": "Hm."}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "system_fingerprint": "fp_ollama",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    }  # fmt: skip


def vllm(n: int, texts: list[str]) -> dict[str, Any]:
    """As many choices as were asked for, and its own fields, mostly null."""
    own = {"reasoning_content": None, "refusal": None, "annotations": None, "audio": None, "function_call": None}
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text, "tool_calls": [], **own}, "logprobs": None,
         "finish_reason": "stop", "stop_reason": None, "token_ids": None}
        for i, text in enumerate(texts)
    ]  # fmt: skip
    usage = {"prompt_tokens": 3, "completion_tokens": 4 * n, "total_tokens": 3 + 4 * n, "prompt_tokens_details": None}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices,
        "service_tier": None, "system_fingerprint": None, "usage": usage, "prompt_logprobs": None,
        "prompt_token_ids": None, "kv_transfer_params": None,
    }  # fmt: skip


@contextlib.contextmanager
def upstream(shape: Any) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that answers in this shape; gives its address, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            asked.append(body)
            said = json.dumps(body["messages"])
            text = CRITIQUE if "enough information" in said else BETTER if DRAFT in said else DRAFT
            n = int(body.get("n") or 1)
            sent = json.dumps(shape(n, [text] * n)).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@each("shape, requests", [(ollama, 1 + 3 + 1), (vllm, 1 + 1 + 1)])
def test_a_chat_goes_through_whatever_the_upstream_adds_or_leaves_out(shape: Any, requests: int) -> None:
    """A draft, a vote of three and a rewrite: the vote is one request where `n` is taken, else one each."""
    with upstream(shape) as (address, asked):
        build = chat_builder("openai:test", ChatOptions(base_url=address))
        parts = resolve_backend("openai:test", BackendOptions(base_url=address))
        engine = Engine(parts, Settings(samples=3), upstream=Upstream(build(), name="openai:test", rebuild=build))
        with served(engine) as server:
            reply: Any = server.client().chat.completions.create(model=MODEL, messages=ASK, extra_body=GIVEN)
    assert (reply.eirene["status"], reply.choices[0].message.content) == ("accepted", BETTER)
    assert requests <= len(asked) <= requests + 1  # one more where `n` was tried and not taken


def test_a_client_such_as_open_webui_is_served() -> None:
    """It looks the models up, streams, and sends fields that no one else knows."""
    with LoopbackServer(DRAFT) as scripted, served(embedded_engine(scripted)) as server:
        names = [m["id"] for m in httpx.get(f"{server.root}/v1/models", timeout=20).json()["data"]]
        assert MODEL in names
        body = {
            "model": MODEL, "messages": ASK, "stream": True, "stream_options": {"include_usage": True}, "chat_id": "c",
            "session_id": "s", "id": "i", "metadata": {"user_id": "u", "files": None}, "features": {"web_search": 0},
            "background_tasks": {"title_generation": True}, "params": {}, "tool_servers": [], "variables": {},
            "perspectives": SIDES,
        }  # fmt: skip
        with httpx.stream("POST", f"{server.root}/v1/chat/completions", json=body, timeout=20) as reply:
            lines = [line[6:] for line in reply.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    chunks = [json.loads(line) for line in lines[:-1]]
    text = "".join(c["delta"].get("content") or "" for chunk in chunks for c in chunk["choices"])
    assert "suffer" in text
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert "metadata" not in scripted.requests[0].body
