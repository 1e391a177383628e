"""`serve` goes on with the trace of an incoming `traceparent`, across its two event loops."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from eirene.core.tracing import Tracing
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, RawReply, ScriptedRequest
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, QUESTION, Served, embedded_engine, running, served
from tests.otlp_collector import Collector
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
CHAT: dict[str, Any] = {"model": MODEL, "messages": ASK, **GIVEN}


@contextlib.contextmanager
def traced(upstream: LoopbackServer | None, collector: Collector, **options: Any) -> Iterator[Served]:
    """A server whose spans are sent when it has ended."""
    with (
        collector.provider() as provider,
        Tracing(provider=provider).active(),
        served(embedded_engine(upstream), **options) as server,
    ):
        yield server


@each("stream", [False, True])
def test_a_chat_is_part_of_the_trace_that_its_client_began(stream: bool) -> None:
    with Collector() as collector, LoopbackServer(DRAFT) as upstream:
        with traced(upstream, collector) as server:
            asked = {**CHAT, "stream": stream}
            reply = httpx.post(f"{server.root}/v1/chat/completions", json=asked, headers=HEADERS, timeout=60)
            assert reply.status_code == 200, reply.text
            httpx.get(f"{server.root}/healthz", headers=HEADERS)
        spans = collector.spans
        assert {span.trace for span in spans} == {TRACE}
        (request,) = [span for span in spans if span.parent == SPAN]
        assert (request.name, request.kind) == ("POST /v1/chat/completions", "SERVER")
        assert request.attributes["http.response.status_code"] == 200
        (draft,) = collector.named("chat ")
        assert collector.path(draft) == [request.name, "chat test"]
        assert draft.attributes["gen_ai.usage.output_tokens"] == upstream.output_tokens
        (gate,) = [span for span in spans if span.name == "gate"]
        assert collector.path(gate) == [request.name, "invoke_workflow eirene", "gate"]
        assert not any(text in b"".join(collector.raw) for text in (b"zoos", b"suffer"))


def test_a_run_of_the_page_is_part_of_its_request() -> None:
    with Collector() as collector:
        with traced(None, collector) as server:
            body = {"question": QUESTION, "answer": DRAFT, **GIVEN}
            run = httpx.post(f"{server.root}/v1/runs", json=body, headers=HEADERS, timeout=60).json()
            httpx.get(f"{server.root}/v1/runs/{run['id']}/events", timeout=60)
        (gate,) = [span for span in collector.spans if span.name == "gate"]
        assert collector.path(gate) == ["POST /v1/runs", "invoke_workflow eirene", "gate"]
        assert gate.trace == TRACE


def test_two_chats_without_the_header_are_two_traces_and_a_failing_model_is_seen() -> None:
    with Collector() as collector, LoopbackServer(lambda request, n: HttpError(401, "no key")) as upstream:
        with traced(upstream, collector) as server:
            for _ in range(2):
                assert httpx.post(f"{server.root}/v1/chat/completions", json=CHAT, timeout=60).status_code >= 500
        assert len({root.trace for root in collector.roots}) == 2
        assert all(root.failed for root in collector.roots)
        assert {call.attributes["error.type"] for call in collector.named("chat ")} == {"AuthError"}


def test_what_an_upstream_writes_where_names_belong_is_in_no_span() -> None:
    """A known ending by its name, else "other"; of a model's name and a reply's number what looks like one, no key."""
    said = "A visitor's own words, and sk-abcdefgh12345678"
    sent = iter([
        {"id": said, "model": said, "finish": said, "n": 99},
        {"id": said, "model": "sk-abcdefgh12345678", "finish": said},
        {"id": "x" * 400, "model": "Bearer " + "k" * 40, "finish": "eos"},
        {"id": "chatcmpl-77", "model": "org/small-1.5:free", "finish": "tool_use"},
    ])  # fmt: skip

    def script(request: ScriptedRequest, n: int) -> RawReply:
        told = next(sent)
        choices = int(str(told.pop("n", 1)))
        choice = {"index": 0, "message": {"role": "assistant", "content": DRAFT}, "finish_reason": told.pop("finish")}
        body = {"object": "chat.completion", "created": 0, **told, "choices": [choice] * choices}
        return RawReply.body([json.dumps(body).encode()])

    with Collector() as collector, LoopbackServer(script) as upstream:
        with traced(upstream, collector) as server:
            for _ in range(4):
                reply = httpx.post(
                    f"{server.root}/v1/chat/completions", json={**CHAT, "model": "draft/test"}, timeout=60
                )
                assert reply.status_code == 200, reply.text
        kept = b"".join(collector.raw)
        assert not any(part in kept for part in (b"visitor", b"sk-abc", b"xxxx", b"kkkk"))
        told = [span.attributes for span in collector.named("chat ")]
    endings = [list(found["gen_ai.response.finish_reasons"]) for found in told]
    assert endings == [["other"] * 64, ["other"], ["stop"], ["tool_use"]]
    names = [(found.get("gen_ai.response.id"), found.get("gen_ai.response.model")) for found in told]
    assert names[1:] == [(None, None), (None, None), ("chatcmpl-77", "org/small-1.5:free")]


def test_a_client_that_leaves_during_its_body_is_no_failure_and_its_headers_are_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Neither are those of one that stays."""
    odd = {"baggage": "key secret, =secret", "tracestate": "secret!, secret", **HEADERS}
    with Collector() as collector, LoopbackServer(DRAFT) as upstream:
        with traced(upstream, collector) as server:
            url = f"{server.root}/v1/chat/completions"
            assert httpx.post(url, json={**CHAT, "model": "draft/test"}, headers=odd, timeout=60).status_code == 200
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                head = "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n"
                client.sendall(head.encode() + b'{"model": ')
            while 'status="499"' not in httpx.get(f"{server.root}/metrics").text:
                pass
        requests = collector.named("POST ")
        assert {(span.trace == TRACE, span.attributes["http.response.status_code"]) for span in requests} == {
            (True, 200), (False, 499),
        }  # fmt: skip
        assert not any(span.failed for span in requests)
    assert "secret" not in caplog.text


def test_who_has_no_key_adds_nothing_to_a_trace() -> None:
    with Collector() as collector:
        with traced(None, collector, key="k") as server:
            reply = httpx.post(f"{server.root}/v1/chat/completions", json=CHAT, headers=HEADERS, timeout=60)
            assert reply.status_code == 401
        assert collector.spans == []


@pytest.mark.slow
def test_the_command_traces_what_it_serves() -> None:
    with Collector() as collector:
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.address, "OTEL_BSP_SCHEDULE_DELAY": "10"}
        with running("--trace", "content", **variables) as (process, root):
            model = httpx.get(f"{root}/v1/models", timeout=60).json()["data"][0]["id"]
            body = {**CHAT, "model": model, "messages": [*ASK, {"role": "assistant", "content": DRAFT}]}
            assert httpx.post(f"{root}/v1/chat/completions", json=body, headers=HEADERS, timeout=60).status_code == 200
            process.terminate()
            assert process.wait(60) == 0
        (run,) = collector.named("invoke_workflow")
        assert run.trace == TRACE
        assert "suffer" in run.attributes["gen_ai.output.messages"]
