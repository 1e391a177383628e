"""Clients are told that the model behind the server failed and how; where it is stands in the operator's log alone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from eirene.core.records import Item, Record
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, RawReply, ScriptedReply, ScriptedRequest
from eirene.views.report import render_page
from tests.agent.server.serving import ASK, DRAFT, GIVEN, Served, chat_engine, embedded_engine, everything, served

pytestmark = pytest.mark.usefixtures("loopback")

ELSEWHERE = "http://127.0.0.2:1/secret"
FAILURES: dict[str, Callable[[], ScriptedReply]] = {
    "redirect": lambda: HttpError(307, headers={"Location": ELSEWHERE}),
    "refusal that names the server": lambda: HttpError(400, "127.0.0.1 finds it too long"),
    "404": lambda: HttpError(404, "nothing at 127.0.0.1"),
    "503": lambda: HttpError(503, "127.0.0.1 is down"),
    "web page": lambda: RawReply.body([b"<html>127.0.0.1</html>"], kind="text/html"),
    "dropped": lambda: BrokenReply("drop"),
    "garbage": lambda: BrokenReply("garbage"),
}
failures = pytest.mark.parametrize("make", FAILURES.values(), ids=FAILURES)


def chat(server: Served, **more: Any) -> httpx.Response:
    body = {"model": "refine/improve/test", "messages": ASK, "eirene_trace": "full", **GIVEN, **more}
    return httpx.post(f"{server.root}/v1/chat/completions", json=body, timeout=30)


def page(record: Record, item: Item) -> str:
    return render_page(record, item=item)


def assert_tells_no_address(up: LoopbackServer, *texts: str) -> None:
    for text in texts:
        assert not [found for found in ("127.0.0.1", "127.0.0.2", str(up.port)) if found in text], text[:2000]


@failures
def test_a_draft_that_fails(
    make: Callable[[], ScriptedReply], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = tmp_path / "runs.jsonl"
    with LoopbackServer(lambda *_: make()) as up:
        with served(embedded_engine(up), keep_alive_s=5.0, runs=str(kept)) as server:
            reply = chat(server, stream=make in list(FAILURES.values())[::2])
            assert_tells_no_address(up, reply.text, str(reply.headers), *everything(server))
        assert reply.status_code in (400, 502)
        assert "the model behind this server did not answer: openai:test: " in reply.text
        assert_tells_no_address(up, kept.read_text("utf-8"))
        assert f"openai:test at {up.base_url}: " in caplog.text


@failures
def test_a_loop_that_fails_after_the_draft(
    make: Callable[[], ScriptedReply], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return DRAFT if request.number == 1 else make()

    kept = tmp_path / "runs.jsonl"
    with LoopbackServer(script) as up:
        with served(chat_engine(up, max_rounds=1), render=page, runs=str(kept), timeout_s=20) as server:
            reply = chat(server)
            assert reply.json()["eirene"]["status"] == "failed"
            assert_tells_no_address(up, reply.text, *everything(server))
        assert_tells_no_address(up, kept.read_text("utf-8"))
        assert f"openai:test at {up.base_url}: " in caplog.text


def test_the_operator_of_a_redirected_server_reads_where_it_leads(caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level(logging.WARNING),
        LoopbackServer(lambda *_: HttpError(307, headers={"Location": ELSEWHERE})) as up,
        served(embedded_engine(up), keep_alive_s=5.0) as server,
    ):
        assert chat(server).json()["error"]["code"] == "upstream_failed"
    assert ELSEWHERE in caplog.text
