"""The server over upstreams that answer as Ollama and vLLM do, and for a client that asks as Open WebUI does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import RawReply, ScriptedRequest
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, SIDES, chat_engine, embedded_engine, served
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


def answering(shape: Any) -> Callable[[ScriptedRequest, int], RawReply]:
    """A script of replies in this shape."""

    def script(request: ScriptedRequest, _: int) -> RawReply:
        text = CRITIQUE if "enough information" in request.text else BETTER if DRAFT in request.text else DRAFT
        n = int(request.body.get("n") or 1)
        return RawReply.body([json.dumps(shape(n, [text] * n)).encode()])

    return script


@each("shape, requests", [(ollama, 1 + 3 + 1), (vllm, 1 + 1 + 1)])
def test_a_chat_goes_through_whatever_the_upstream_adds_or_leaves_out(shape: Any, requests: int) -> None:
    """A draft, a vote of three and a rewrite: the vote is one request where `n` is taken, else one each."""
    with LoopbackServer(answering(shape)) as up, served(chat_engine(up, samples=3)) as server:
        reply: Any = server.client().chat.completions.create(model=MODEL, messages=ASK, extra_body=GIVEN)
    assert (reply.eirene["status"], reply.choices[0].message.content) == ("accepted", BETTER)
    assert requests <= up.calls <= requests + 1  # one more where `n` was tried and not taken


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
    assert not {"metadata", "chat_id", "features", "perspectives"} & set(scripted.requests[0].body)
