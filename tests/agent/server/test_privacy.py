"""Clients are told that the model behind the server failed and how; where it is stands in the operator's log alone,
and a key that its error quotes nowhere."""

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
from tests.canary import KEY, assert_hidden, echo

pytestmark = pytest.mark.usefixtures("loopback")

ELSEWHERE = "http://127.0.0.2:1/secret"
Script = Callable[[ScriptedRequest, int], ScriptedReply]
FAILURES: dict[str, Script] = {
    "redirect": lambda *_: HttpError(307, headers={"Location": ELSEWHERE}),
    "refusal that names the server": lambda *_: HttpError(400, "127.0.0.1 finds it too long"),
    "404": lambda *_: HttpError(404, "nothing at 127.0.0.1"),
    "503": lambda *_: HttpError(503, "127.0.0.1 is down"),
    "web page": lambda *_: RawReply.body([b"<html>127.0.0.1</html>"], kind="text/html"),
    "dropped": lambda *_: BrokenReply("drop"),
    "garbage": lambda *_: BrokenReply("garbage"),
    **{f"{status} that quotes the key": echo(status) for status in (400, 401, 429, 503)},
}
failures = pytest.mark.parametrize(("name", "fails"), FAILURES.items(), ids=FAILURES)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    caplog.set_level(logging.DEBUG, logger="eirene")


def chat(server: Served, **more: Any) -> httpx.Response:
    body = {"model": "refine/improve/test", "messages": ASK, "eirene_trace": "full", **GIVEN, **more}
    return httpx.post(f"{server.root}/v1/chat/completions", json=body, timeout=30)


def page(record: Record, item: Item) -> str:
    return render_page(record, item=item)


def assert_private(up: LoopbackServer, *texts: str) -> None:
    """No text has the key, or an address of a model's server."""
    assert_hidden(*texts)
    for text in texts:
        assert not [found for found in ("127.0.0.1", "127.0.0.2", f":{up.port}") if found in text], text[:2000]


@failures
def test_a_draft_that_fails(name: str, fails: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whole and streamed, before the head of the stream is out and after it."""
    kept, n = tmp_path / "runs.jsonl", list(FAILURES).index(name)
    with LoopbackServer(fails) as up:
        with served(embedded_engine(up), keep_alive_s=(0.001, 5.0)[n // 2 % 2], runs=str(kept)) as server:
            reply = chat(server, stream=n % 2 == 0)
            assert_private(up, reply.text, str(reply.headers), *everything(server))
        assert reply.status_code in (200, 400, 429, 502)
        assert "the model behind this server did not answer: openai:test: " in reply.text
        assert "quotes" not in name or f"HTTP {name[:3]}" in reply.text
        assert_private(up, kept.read_text("utf-8"))
        assert f"openai:test at {up.base_url}: " in caplog.text
        assert_hidden(caplog.text)


@failures
def test_a_loop_that_fails_after_the_draft(
    name: str, fails: Script, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        return DRAFT if request.number == 1 else fails(request, index)

    kept = tmp_path / "runs.jsonl"
    with LoopbackServer(script) as up:
        with served(chat_engine(up, max_rounds=1), render=page, runs=str(kept), timeout_s=20) as server:
            reply = chat(server)
            assert reply.json()["eirene"]["status"] == "failed"
            shown = everything(server)
            assert "quotes" not in name or (f"HTTP {name[:3]}" in reply.text and f"HTTP {name[:3]}" in shown[-1])
            assert_private(up, reply.text, *shown)
        assert_private(up, kept.read_text("utf-8"))
        assert f"openai:test at {up.base_url}: " in caplog.text
        assert_hidden(caplog.text)


def test_the_operator_of_a_redirected_server_reads_where_it_leads(caplog: pytest.LogCaptureFixture) -> None:
    with LoopbackServer(FAILURES["redirect"]) as up, served(embedded_engine(up), keep_alive_s=5.0) as server:
        assert chat(server).json()["error"]["code"] == "upstream_failed"
    assert ELSEWHERE in caplog.text
