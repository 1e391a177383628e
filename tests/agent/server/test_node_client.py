"""OpenAI's client for Node against the server; skipped where node or the package is missing.

npm install --no-save --prefix build/npm openai@6 && python -m pytest tests/agent/server/test_node_client.py
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eirene.agent.server.drafts import Upstream
from eirene.agent.server.engine import Engine
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply
from tests.agent.server.serving import DRAFT, GIVEN, MODEL, Served, embedded_engine, served
from tests.rows import each

NODE = shutil.which("node")
MODULES = Path(__file__).parents[3] / "build" / "npm" / "node_modules"
ENVIRONMENT = {**os.environ, "NODE_PATH": os.pathsep.join([os.environ.get("NODE_PATH", ""), str(MODULES)])}
SCRIPT = Path(__file__).with_name("openai_client.cjs")
_CALL: Any = {"name": "look_up", "args": {"what": "zoos é"}, "id": "call_7", "type": "tool_call"}


def why_not() -> str | None:
    """What keeps the tests from running, if anything."""
    if NODE is None:
        return "no node on this machine"
    command = [NODE, "-e", "require.resolve('openai')"]
    found = subprocess.run(command, env=ENVIRONMENT, capture_output=True, check=False)
    return None if found.returncode == 0 else "no npm package: npm install --no-save --prefix build/npm openai@6"


pytestmark = [
    pytest.mark.skipif(why_not() is not None, reason=why_not() or ""),
    pytest.mark.usefixtures("loopback"),
]


def _script(request: Any, _: int) -> ScriptedReply:
    if request.text == "busy":
        return HttpError(429, "slow down", headers={"Retry-After": "0"})
    return BrokenReply("cut") if request.text == "broken" else DRAFT


def _tools_engine() -> Engine:
    model = ScriptedChatModel([AIMessage(content="", tool_calls=[_CALL])] * 2)
    return Engine(embedded_engine().parts, embedded_engine().settings, upstream=Upstream(model, name="openai:test"))


@pytest.fixture(scope="module")
def seen() -> dict[str, Any]:
    """What the client saw, by what it did."""
    import pytest_socket

    pytest_socket.enable_socket()
    with contextlib.ExitStack() as stack:
        upstream = stack.enter_context(LoopbackServer(_script))
        sleeping = stack.enter_context(LoopbackServer(DRAFT, latency_s=60))

        def root(engine: Engine, **options: Any) -> str:
            running: Served = stack.enter_context(served(engine, **options))
            return running.root

        asked = {
            "base": root(embedded_engine(upstream), keep_alive_s=5),
            "tools": root(_tools_engine()),
            "slow": root(embedded_engine(sleeping), timeout_s=1),
            "locked": root(embedded_engine(upstream), key="secret"),
            "model": MODEL,
            "given": GIVEN,
        }
        assert NODE is not None
        command = [NODE, str(SCRIPT), json.dumps(asked)]
        done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_chat_is_refined_and_brings_its_trace(seen: dict[str, Any]) -> None:
    """The answer, its trace, the run's id in body and header, and the list of models."""
    assert "suffer" in seen["chat"]["choices"][0]["message"]["content"]
    assert seen["chat"]["eirene"]["status"] == "accepted"
    assert seen["run"] == seen["chat"]["eirene"]["run_id"]
    assert seen["models"][0] == "test"
    assert MODEL in seen["models"]


def test_streams_add_up_to_the_whole_answer(seen: dict[str, Any]) -> None:
    """One choice, three choices, and the client's own helper all give the text that comes unstreamed."""
    text = seen["chat"]["choices"][0]["message"]["content"]
    assert seen["stream"]["texts"] == [text]
    assert seen["stream"]["finish"] == ["stop"]
    assert seen["stream"]["chunks"] > 8
    assert seen["stream"]["usage"] == seen["chat"]["usage"]
    assert seen["stream"]["trace"]["status"] == "accepted"
    assert seen["three_streamed"]["texts"] == [text] * 3
    assert seen["helper"] == text
    assert [choice["message"]["content"] for choice in seen["three"]["choices"]] == [text] * 3


def test_tool_calls_pass_through(seen: dict[str, Any]) -> None:
    """Name, id and arguments come as the model gave them, whole and streamed."""
    whole = seen["tools"]["choices"][0]
    assert (whole["finish_reason"], whole["message"]["content"]) == ("tool_calls", None)
    for call in (whole["message"]["tool_calls"][0], seen["tools_streamed"]["calls"][0]):
        assert (call["id"], call["function"]["name"]) == ("call_7", "look_up")
        assert json.loads(call["function"]["arguments"]) == {"what": "zoos é"}
    assert seen["tools_streamed"]["finish"] == ["tool_calls"]


@each(
    "what, kind, status, code",
    [
        ("no_model", "NotFoundError", 404, "model_not_found"),
        ("bad_field", "BadRequestError", 400, "invalid_value"),
        ("busy", "RateLimitError", 429, "rate_limit_exceeded"),
        ("broken", "InternalServerError", 502, "upstream_failed"),
        ("broken_stream", "InternalServerError", 502, "upstream_failed"),
        ("timeout", "APIConnectionTimeoutError", None, None),
        ("server_timeout", "InternalServerError", 504, "timeout"),
        ("late", "APIError", None, "timeout"),
        ("wrong_key", "AuthenticationError", 401, "invalid_api_key"),
    ],
)
def test_errors_are_the_clients_own(seen: dict[str, Any], what: str, kind: str, status: int | None, code: str) -> None:
    """Every failure is the exception that the client has for it; one late in a stream is raised as well."""
    assert {key: seen[what][key] for key in ("kind", "status", "code")} == {
        "kind": kind,
        "status": status,
        "code": code,
    }


def test_a_key_that_fits_opens(seen: dict[str, Any]) -> None:
    """The key is brought as OpenAI's is."""
    assert seen["right_key"] == 5
