"""What goes wrong behind, before and in the server: a client gets the draft or a protocol error, never a hang."""

from __future__ import annotations

import asyncio
import functools
import gzip
import http.client
import itertools
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest

from eirene.agent.server.engine import Engine
from eirene.agent.settings import Settings
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, RawReply, ScriptedReply
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, Served, behind, chat_engine, embedded_engine, served
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
IMPROVE = "refine/improve/test"


def ask(server: Served, **more: Any) -> Any:
    return server.client().chat.completions.create(**{"model": IMPROVE, "messages": ASK, "extra_body": GIVEN, **more})


def then(*outcomes: ScriptedReply) -> Callable[[Any, int], ScriptedReply]:
    """The outcomes in order; the last for all that comes after."""
    return lambda request, index: outcomes[min(request.number, len(outcomes)) - 1]


@each(
    "outcome, status, code",
    [
        (HttpError(429, headers={"Retry-After": "0"}), 429, "rate_limit_exceeded"),
        (HttpError(429, code="insufficient_quota"), 429, "insufficient_quota"),
        (HttpError(401, "bad key"), 502, "upstream_failed"),
        (HttpError(400, "too long"), 400, "upstream_refused"),
        (HttpError(503), 502, "upstream_failed"),
        (BrokenReply("drop"), 502, "upstream_failed"),
        (BrokenReply("cut"), 502, "upstream_failed"),
        (BrokenReply("garbage"), 502, "upstream_failed"),
        (HttpError(307, headers={"Location": "http://127.0.0.2:1/"}), 502, "upstream_failed"),
        (RawReply.body(itertools.repeat(b"a" * 2**14)), 502, "upstream_unusable"),
    ],
)
def test_without_a_draft_the_error_has_the_protocols_form(outcome: ScriptedReply, status: int, code: str) -> None:
    """Streamed or not, as long as the head of the stream is not out."""
    with LoopbackServer(then(outcome)) as up, served(embedded_engine(up), keep_alive_s=5) as server:
        with pytest.raises(openai.APIStatusError) as found:
            ask(server, stream=status != 502)
        assert (found.value.status_code, found.value.code) == (status, code)
        assert found.value.response.headers["x-eirene-run-id"].startswith("run-")


def test_an_error_late_in_a_stream_is_an_event_that_the_client_raises() -> None:
    head_is_out = threading.Event()

    def late(request: Any, _: int) -> ScriptedReply:
        head_is_out.wait(60)
        return HttpError(400, "too long")

    with LoopbackServer(late) as up, served(embedded_engine(up)) as server:
        stream = ask(server, stream=True)
        head_is_out.set()
        with pytest.raises(openai.APIError, match="too long"):
            list(stream)


@each("outcome, stream", [(HttpError(400, "no"), False), (BrokenReply("cut"), True)])
def test_an_upstream_that_fails_after_the_draft_leaves_the_draft_marked_as_such(
    outcome: ScriptedReply, stream: bool
) -> None:
    engine_settings = {"max_rounds": 1}
    with LoopbackServer(then(DRAFT, outcome)) as up:
        engine = chat_engine(up, **engine_settings)
        with served(engine, timeout_s=4) as server:
            reply = ask(server, stream=stream)
            if stream:
                chunks = list(reply)
                text = "".join(c.choices[0].delta.content or "" for c in chunks)
                trace, finish = chunks[-1].eirene, chunks[-1].choices[0].finish_reason
            else:
                text, trace = reply.choices[0].message.content, reply.eirene
                finish = reply.choices[0].finish_reason
            assert (text, trace["status"], finish) == (DRAFT, "failed", "stop")
            assert trace["records"][0]["error"]["kind"]


class Waiting:
    """A script whose first reply is the draft; every later request waits until told to end."""

    def __init__(self) -> None:
        self.is_over = False

    def __call__(self, request: Any, _: int) -> ScriptedReply:
        deadline = time.monotonic() + 20
        while request.number > 1 and not self.is_over and time.monotonic() < deadline:
            time.sleep(0.01)
        return DRAFT


def test_an_upstream_that_hangs_after_the_draft_costs_the_time_limit_and_no_more() -> None:
    script = Waiting()
    with LoopbackServer(script) as up, served(chat_engine(up), timeout_s=3) as server:
        reply = ask(server)
        script.is_over = True
        assert (reply.choices[0].message.content, reply.eirene["status"]) == (DRAFT, "failed")
        assert reply.eirene["records"][0]["error"]["kind"] == "Deadline"


def test_an_upstream_that_hangs_after_the_draft_ends_a_stream_with_the_draft() -> None:
    """The stream stays alive until the time limit, then brings the draft, marked as such, and ends."""
    script = Waiting()
    with LoopbackServer(script) as up, served(chat_engine(up), timeout_s=3) as server:
        chunks = list(ask(server, stream=True))
        script.is_over = True
        assert "".join(c.choices[0].delta.content or "" for c in chunks) == DRAFT
        assert (chunks[-1].eirene["status"], chunks[-1].choices[0].finish_reason) == ("failed", "stop")


def test_an_upstream_that_hangs_before_the_draft_ends_a_stream_with_an_error() -> None:
    """The comments keep the line alive; at the time limit the client raises what the event says."""
    with (
        LoopbackServer(DRAFT, latency_s=30) as up,
        served(embedded_engine(up), timeout_s=0.4) as server,
        pytest.raises(openai.APIError, match="no answer within"),
    ):
        list(ask(server, stream=True))


def test_an_upstream_that_hangs_before_the_draft_is_a_504() -> None:
    with LoopbackServer(DRAFT, latency_s=30) as up, served(embedded_engine(up), timeout_s=0.3) as server:
        with pytest.raises(openai.InternalServerError) as found:
            ask(server)
        assert (found.value.status_code, found.value.code) == (504, "timeout")


def test_a_client_that_goes_away_ends_the_work() -> None:
    for stream in (False, True):
        with LoopbackServer(DRAFT, latency_s=30) as up, served(embedded_engine(up)) as server:
            with pytest.raises(openai.APITimeoutError):
                list(ask_with(server, timeout=0.4, stream=stream))
            until(functools.partial(is_cancelled, server))
            assert "eirene_in_flight 0.0" in httpx.get(f"{server.root}/metrics").text


def is_cancelled(server: Served) -> bool:
    return [run.state for run in server.app.state.service.runs.recent()] == ["cancelled"]


def ask_with(server: Served, *, timeout: float, **more: Any) -> Any:
    client: Any = server.client(timeout=httpx.Timeout(20, read=timeout if not more["stream"] else 20))
    reply = client.chat.completions.create(model=MODEL, messages=ASK, **more)
    if more["stream"]:
        reply.response.close()  # in the middle of the comments
        raise openai.APITimeoutError(request=reply.response.request)
    return reply


def until(condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
    """Waits for something that another thread does; fails if it never does."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


def test_beyond_places_and_queue_a_client_is_told_when_to_come_back() -> None:
    with LoopbackServer(DRAFT, latency_s=30) as up, served(embedded_engine(up), concurrency=1, queue=0) as server:
        holding = http.client.HTTPConnection("127.0.0.1", server.port)
        holding.request("POST", "/v1/chat/completions", json.dumps({"model": MODEL, "messages": ASK}))
        until(lambda: up.under_way == 1)
        with pytest.raises(openai.RateLimitError) as found:
            ask(server)
        assert found.value.code == "server_busy"
        assert int(found.value.response.headers["retry-after"]) >= 1
        holding.close()


def test_those_that_wait_get_their_turn() -> None:
    with LoopbackServer(DRAFT, latency_s=0.05) as up, served(embedded_engine(up), concurrency=2, queue=20) as server:
        url, body = f"{server.root}/v1/chat/completions", {"model": MODEL, "messages": ASK, **GIVEN}
        with httpx.Client(timeout=20) as client, ThreadPoolExecutor(12) as pool:
            replies = list(pool.map(lambda _: client.post(url, json=body), range(12)))
        assert [r.status_code for r in replies] == [200] * 12
        assert up.most_under_way <= 2


BAD: list[tuple[Any, int, str | None]] = [
    (b"", 400, None), (b"{", 400, None), (b"[]", 400, None), (b"null", 400, None), (b"\xff{}", 400, None),
    (b'{"model": "test", "temperature": NaN}', 400, None),
    (b"[" * 100_000, 400, None),
    (b'{"model": "\\ud800"}', 400, None),
    ({"model": "test"}, 400, "messages"),
    ({"messages": ASK}, 400, "model"),
    ({"model": "test", "messages": []}, 400, "messages"),
    ({"model": "test", "messages": [{"role": "king", "content": "x"}]}, 400, "messages.0.role"),
    ({"model": "test", "messages": ASK, "n": 0}, 400, "n"),
    ({"model": "test", "messages": ASK, "n": 10_000}, 400, "n"),
    ({"model": "test", "messages": ASK, "temperature": "hot"}, 400, "temperature"),
    ({"model": "test", "messages": ASK, "seed": False}, 400, "seed"),
    ({"model": "test", "messages": ASK, "max_tokens": "9"}, 400, "max_tokens"),
    ({"model": "test", "messages": ASK, "stream": 1}, 400, "stream"),
    ({"model": "test", "messages": ASK, "context": 5}, 400, "context"),
    ({"model": "test", "messages": ASK, "context": [" "]}, 400, "context.0"),
    ({"model": "test", "messages": ASK, "perspectives": [{"name": "pro"}]}, 400, "perspectives.0.arguments"),
    ({"model": "test", "messages": ASK, "perspectives": [{"name": "a", "arguments": ["x"]}] * 2}, 400, "perspectives"),
    ({"model": "test", "messages": ASK, "context": ["x" * 300_000]}, 400, "context"),
    ({"model": "test", "messages": ASK, "eirene_trace": "all"}, 400, "eirene_trace"),
    ({"model": "test", "messages": [*ASK, {"role": "assistant", "content": " "}]}, 400, "messages"),
    ({"model": "test", "messages": [{"role": "user", "content": "x" * 2_000_000}]}, 413, None),
]  # fmt: skip


def test_a_key_given_twice_is_refused_and_named_and_a_byte_order_mark_is_not() -> None:
    """Which of two values was meant cannot be told, and a proxy before the server may have read the other."""
    chat = json.dumps({"model": "draft/test", "messages": ASK})[1:]
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        url = f"{server.root}/v1/chat/completions"
        for twice, key in (
            ('"model": "refine/edit/test", ', "model"), ('"context": [], "context": ["x"], ', "context"),
            ('"tools": [{"type": "function", "type": "custom"}], ', "type"),
        ):  # fmt: skip
            reply = httpx.post(url, content="{" + twice + chat)
            error = reply.json()["error"]
            assert (reply.status_code, error["code"]) == (400, "invalid_json")
            assert f"has the key '{key}' twice" in error["message"]
        assert up.calls == 0
        assert httpx.post(url, content=b"\xef\xbb\xbf{" + chat.encode()).status_code == 200
        packed = httpx.post(url, content=gzip.compress(b"{" + chat.encode()), headers={"Content-Encoding": "gzip"})
        assert (packed.status_code, packed.json()["error"]["code"]) == (415, "packed_body")


def test_a_client_that_leaves_during_its_body_is_no_mistake_of_the_servers(caplog: pytest.LogCaptureFixture) -> None:
    with served(embedded_engine()) as server:
        for path in ("/v1/chat/completions", "/v1/runs"):
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500\r\n\r\n"
                client.sendall(head.encode() + b'{"model": ')
            line = f'eirene_requests_total{{path="{path}",status="499"}} 1.0'
            while line not in (told := httpx.get(f"{server.root}/metrics").text):
                assert 'status="500"' not in told
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_body_that_cannot_be_used_is_told_where_it_is_wrong() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up), max_body=1_000_000) as server:
        for body, status, param in BAD:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            reply = httpx.post(f"{server.root}/v1/chat/completions", content=content)
            error = reply.json()["error"]
            assert (reply.status_code, error["param"]) == (status, param), (content[:80], error)
            assert error["type"] == "invalid_request_error"
        assert up.calls == 0


def test_a_body_without_a_length_is_limited_as_well() -> None:
    with served(embedded_engine(), max_body=2000) as server:
        reply = httpx.post(f"{server.root}/v1/chat/completions", content=(b"x" * 500 for _ in range(10)))
        assert (reply.status_code, reply.json()["error"]["code"]) == (413, "request_too_large")


def test_paths_and_methods_that_are_not_there_are_told_in_the_protocols_form() -> None:
    with served(embedded_engine()) as server:
        assert httpx.get(f"{server.root}/v1/nothing").json()["error"]["code"] == "not_found"
        assert httpx.get(f"{server.root}/v1/chat/completions").status_code == 405
        assert httpx.put(f"{server.root}/v1/runs").headers["allow"] == "GET, POST"
        assert httpx.get(f"{server.root}/v1/runs/run-x").json()["error"]["param"] == "run_id"


def test_a_mistake_of_ours_is_a_500_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Engine):
        async def answer(self, *_: Any, **__: Any) -> Any:
            raise RuntimeError("a secret")

    plain = embedded_engine()
    with LoopbackServer(DRAFT) as up, served(Faulty(plain.parts, Settings(), upstream=behind(up))) as server:
        for stream in (False, True):
            reply = httpx.post(
                f"{server.root}/v1/chat/completions", json={"model": MODEL, "messages": ASK, "stream": stream}
            )
            assert (reply.status_code, reply.json()["error"]["code"]) == (500, "internal_error")
            assert "secret" not in reply.text


def test_a_mistake_of_ours_late_in_a_stream_is_an_event() -> None:
    class Faulty(Engine):
        async def answer(self, *_: Any, **__: Any) -> Any:
            await asyncio.to_thread(head_is_out.wait, 60)
            raise RuntimeError("a secret")

    head_is_out = threading.Event()
    with served(Faulty(embedded_engine().parts, Settings())) as server:
        body = {"model": "embedded", "messages": ASK, "stream": True}
        with httpx.stream("POST", f"{server.root}/v1/chat/completions", json=body) as reply:
            head_is_out.set()
            text = reply.read().decode()
    assert '"code":"internal_error"' in text
    assert text.endswith("data: [DONE]\n\n")
    assert "secret" not in text


def test_a_client_that_sends_half_a_request_harms_nobody() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        with socket.create_connection(("127.0.0.1", server.port)) as half:
            half.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{")
        assert ask(server).eirene["status"]
