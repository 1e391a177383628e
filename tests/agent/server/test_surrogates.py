"""Half a surrogate pair, legal in JSON and in no UTF-8 text: from the model it is mended, from clients refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import pytest_socket

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, RawReply, ScriptedReply, ScriptedRequest, TextReply
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, chat_engine, embedded_engine, served
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

HALF = "\ud83d"
MENDED = "�"
LOGPROBS = {"content": [{"token": HALF, "logprob": -1.0, "top_logprobs": [{"token": HALF, "logprob": -1.0}]}]}
CALL = {
    "id": f"call{HALF}",
    "type": "function",
    "function": {"name": f"f{HALF}", "arguments": f'{{"a{HALF}": "{HALF}"}}'},
}


def completion(message: dict[str, Any], *, ending: str = "stop", **more: Any) -> RawReply:
    """A completion with half pairs in whatever is not the text."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": ending, "logprobs": LOGPROBS}
    body = {
        "id": f"id{HALF}",
        "object": "chat.completion",
        "created": 0,
        "model": f"m{HALF}",
        "system_fingerprint": HALF,
    }
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return RawReply.body([json.dumps({**body, "choices": [choice], "usage": usage, **more}).encode("ascii")])


REPLIES: dict[str, Any] = {
    "text": lambda: f"zoos {HALF} teach",
    "alone": lambda: HALF,
    "ending": lambda: TextReply(f"zoos {HALF} teach", finish_reason=f"stop{HALF}"),
    "whole body": lambda: completion({"content": f"zoos {HALF} teach"}, ending=f"done{HALF}"),
    "tool call": lambda: completion({"content": None, "tool_calls": [CALL]}, ending="tool_calls"),
    "no JSON in a call": lambda: completion(
        {"content": None, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": HALF}}]}, ending="tool_calls"
    ),
    "refusal": lambda: completion({"content": None, "refusal": f"no {HALF}"}),
    "error": lambda: HttpError(400, f"no {HALF}"),
    "wrong shape": lambda: completion({"content": {HALF: HALF}}),
}


@pytest.fixture(scope="module")
def replies() -> Iterator[tuple[dict[str, str], str]]:
    """What the upstream says, by a name that a test sets, and the address of a server on it."""
    chosen = {"what": ""}
    pytest_socket.enable_socket()
    with LoopbackServer(lambda *_: REPLIES[chosen["what"]]()) as up, served(embedded_engine(up)) as server:
        yield chosen, server.root


@each("what", REPLIES)
@each("stream, model", [(False, MODEL), (True, MODEL), (False, "draft/test"), (True, "draft/test")])
def test_a_models_half_pair_reaches_the_client_mended(
    what: str, stream: bool, model: str, replies: tuple[dict[str, str], str]
) -> None:
    chosen, root = replies
    chosen["what"] = what
    body = {"model": model, "messages": ASK, "stream": stream, "eirene_trace": "full", **GIVEN}
    reply = httpx.post(f"{root}/v1/chat/completions", json=body, timeout=30)
    runs = httpx.get(f"{root}/v1/runs").json()["data"]
    shown = [httpx.get(f"{root}/v1/runs/{runs[0]['id']}{end}", timeout=30) for end in ("", "/events")]
    assert reply.status_code in ((200, 400, 502) if what in ("error", "wrong shape") else (200,)), reply.text
    assert MENDED in reply.text or what == "wrong shape"  # whose error does not quote it
    if stream and reply.status_code == 200:
        assert reply.text.endswith("data: [DONE]\n\n")
    assert [r.status_code for r in shown] == [200, 200]


@each("stream", [False, True])
@each("what", ["text", "alone", "ending", "whole body", "error"])
def test_a_half_pair_in_critique_and_rewrite_leaves_the_draft_or_a_mended_text(what: str, stream: bool) -> None:
    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return DRAFT if request.number == 1 else REPLIES[what]()

    body = {"model": "refine/improve/test", "messages": ASK, "stream": stream, "eirene_trace": "full", **GIVEN}
    with LoopbackServer(script) as up, served(chat_engine(up, max_rounds=1)) as server:
        reply = httpx.post(f"{server.root}/v1/chat/completions", json=body, timeout=30)
    assert reply.status_code == 200
    assert "eirene" in reply.text and (not stream or reply.text.endswith("data: [DONE]\n\n"))


@each(
    "path, body",
    [
        ("/v1/chat/completions", {"model": MODEL, "messages": [{"role": "user", "content": HALF}]}),
        ("/v1/chat/completions", {"model": HALF, "messages": ASK}),
        ("/v1/chat/completions", {"model": MODEL, "messages": ASK, "user": HALF}),
        ("/v1/chat/completions", {"model": MODEL, "messages": ASK, HALF: 1}),
        ("/v1/runs", {"question": HALF, "answer": "a"}),
        ("/v1/edits", {"text": HALF}),
    ],
)
def test_a_clients_half_pair_is_a_clear_400(path: str, body: dict[str, Any]) -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        reply = httpx.post(server.root + path, content=json.dumps(body).encode("ascii"))
        assert (reply.status_code, up.calls) == (400, 0)
    assert "half a surrogate pair" in reply.json()["error"]["message"]


@each("path", ["/v1/runs/%ED%A0%BD", "/runs/%ED%A0%BD", "/v1/runs/x/events?a=%ED%A0%BD", "/%ED%A0%BD"])
def test_a_half_pair_in_an_address_is_not_found(path: str) -> None:
    with served(embedded_engine(), key="k") as server:
        for headers in ({}, {"Authorization": "Bearer k"}):
            assert httpx.get(server.root + path, headers=headers).status_code in (401, 404)
