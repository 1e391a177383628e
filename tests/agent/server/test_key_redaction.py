"""A provider's error that quotes the key reaches no client, no list, no page and no file of the server."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from eirene.core.records import Item, Record
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from eirene.views.report import render_page
from tests.agent.server.serving import (
    ASK,
    DRAFT,
    GIVEN,
    MODEL,
    Served,
    chat_engine,
    embedded_engine,
    everything,
    served,
)
from tests.canary import KEY, assert_hidden, echo

pytestmark = pytest.mark.usefixtures("loopback")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def chat(server: Served, **more: Any) -> httpx.Response:
    body = {"model": MODEL, "messages": ASK, "eirene_trace": "full", **GIVEN, **more}
    return httpx.post(f"{server.root}/v1/chat/completions", json=body, timeout=30)


def page(record: Record, item: Item) -> str:
    return render_page(record, item=item)


@pytest.mark.parametrize(
    ("status", "stream", "keep_alive_s"), [(400, True, 0.001), (401, True, 5.0), (429, False, 0.001), (503, False, 5.0)]
)
def test_a_draft_that_is_refused(
    status: int, stream: bool, keep_alive_s: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="eirene")
    kept = tmp_path / "runs.jsonl"
    options = {"keep_alive_s": keep_alive_s, "runs": str(kept)}
    with LoopbackServer(echo(status)) as up, served(embedded_engine(up), **options) as server:
        reply = chat(server, stream=stream)
        assert f"HTTP {status}" in reply.text
        assert_hidden(reply.text, str(reply.headers), *everything(server), kept)
    assert_hidden(caplog.text)


@pytest.mark.parametrize(("status", "stream"), [(400, True), (401, False)])
def test_a_loop_that_is_refused(status: int, stream: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        return DRAFT if request.number == 1 else echo(status)(request, index)

    caplog.set_level(logging.DEBUG, logger="eirene")
    kept = tmp_path / "runs.jsonl"
    with LoopbackServer(script) as up, served(chat_engine(up), render=page, runs=str(kept)) as server:
        reply = chat(server, stream=stream)
        shown = everything(server)
        assert f"HTTP {status}" in reply.text and f"HTTP {status}" in shown[-1]
        assert_hidden(reply.text, str(reply.headers), *shown, kept)
    assert_hidden(caplog.text)
