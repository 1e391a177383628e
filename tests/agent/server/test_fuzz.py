"""Bodies of all kinds: whatever comes, the answer follows the protocol and is no mistake of the server's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, SIDES, embedded_engine, served

# The server's threads draw while a body is made, which Hypothesis takes for a strategy that draws by itself.
DRAWN = "ignore:Do not use the `random` module inside strategies:hypothesis.errors.HypothesisDeprecationWarning"
pytestmark = [pytest.mark.usefixtures("loopback"), pytest.mark.filterwarnings(DRAWN)]

TEXT = st.text(max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PART = st.fixed_dictionaries({"type": st.sampled_from(["text", "image_url", "x"])}, optional={"text": TEXT}) | JSON
CALL = st.fixed_dictionaries(
    {},
    optional={
        "id": TEXT | JSON,
        "type": st.just("function") | JSON,
        "function": st.fixed_dictionaries({}, optional={"name": TEXT, "arguments": TEXT | JSON}) | JSON,
    },
)
MESSAGE = (
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", "king"])},
        optional={
            "content": TEXT | st.lists(PART, max_size=3) | JSON,
            "tool_calls": st.lists(CALL, max_size=2) | JSON,
            "tool_call_id": TEXT | JSON,
            "name": TEXT,
        },
    )
    | JSON
)
BODY = st.fixed_dictionaries(
    {"model": st.sampled_from(["test", "refine/improve/test", "refine/generic/test"]) | JSON},
    optional={
        "messages": st.just(ASK) | st.lists(MESSAGE, max_size=4) | JSON,
        "n": st.integers(-1, 3) | JSON,
        "stream": st.booleans() | JSON,
        "stream_options": st.just({"include_usage": True}) | JSON,
        "temperature": st.floats() | JSON,
        "seed": st.integers() | JSON,
        "max_tokens": st.integers(-1, 10) | JSON,
        "stop": TEXT | st.lists(TEXT, max_size=3) | JSON,
        "tools": JSON,
        "tool_choice": JSON,
        "response_format": st.just({"type": "json_object"}) | JSON,
        "reasoning_effort": TEXT | JSON,
        "user": TEXT | JSON,
        "context": st.lists(TEXT, max_size=3) | JSON,
        "perspectives": st.just(SIDES) | JSON,
        "eirene_trace": st.sampled_from(["short", "full"]) | JSON,
    },
)
FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def _client() -> Iterator[httpx.Client]:
    import pytest_socket

    pytest_socket.enable_socket()
    with (
        LoopbackServer(DRAFT) as upstream,
        served(embedded_engine(upstream, samples=3), timeout_s=20) as server,
        httpx.Client(base_url=server.root, timeout=30) as client,
    ):
        yield client


def check(client: httpx.Client, path: str, content: bytes) -> None:
    reply = client.post(path, content=content)
    assert reply.status_code < 500, (reply.text, content)
    if reply.status_code >= 400:
        error = reply.json()["error"]
        assert set(error) == {"message", "type", "param", "code"}
        assert error["message"]
    elif "event-stream" in reply.headers.get("content-type", ""):
        assert reply.text.endswith("data: [DONE]\n\n")
        assert '"server_error"' not in reply.text


@FUZZ
@given(body=BODY)
def test_no_body_of_a_chat_is_a_mistake_of_ours(_client: httpx.Client, body: dict[str, Any]) -> None:
    check(_client, "/v1/chat/completions", json.dumps(body).encode())


@FUZZ
@given(body=st.dictionaries(st.sampled_from(["question", "answer", "perspectives", "context", "mode", "x"]), JSON))
def test_no_body_of_a_run_is_a_mistake_of_ours(_client: httpx.Client, body: dict[str, Any]) -> None:
    check(_client, "/v1/runs", json.dumps(body).encode())


@FUZZ
@given(content=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_are_a_mistake_of_ours(_client: httpx.Client, content: bytes) -> None:
    for path in ("/v1/chat/completions", "/v1/runs"):
        check(_client, path, content)


@FUZZ
@given(path=st.text(max_size=30))
def test_no_path_is_a_mistake_of_ours(_client: httpx.Client, path: str) -> None:
    for root in ("/", "/v1/runs/", "/runs/", "/v1/"):
        assert _client.get(root + quote(path, safe="")).status_code < 500
