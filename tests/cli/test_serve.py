"""`eirene serve` takes the flags of models that every command takes: detectors, a judge, prices, a call cache."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest
from tests.agent.server.serving import ASK, DRAFT, GIVEN, running
from tests.cli.run import Run, assert_error

pytest.importorskip("langchain_openai")


def script(request: ScriptedRequest, index: int) -> ScriptedReply:
    if "Verdict" in request.text:
        return "It is all there.\n\nVerdict: no"
    return DRAFT


@pytest.mark.usefixtures("loopback")
def test_detectors_judge_price_and_cache_reach_the_loop(tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('date = "2026-06"\n[models."openai:*"]\ninput = 1\noutput = 2\n', encoding="utf-8")
    with LoopbackServer(script) as model:
        flags = (
            "--base-url", model.base_url, "--mode", "improve", "--detectors", "alignment,chainpoll",
            "--judge", "openai:m", "--price", str(prices), "--cache", str(tmp_path / "calls.sqlite"),
        )  # fmt: skip
        with running("--backend", "openai:m", *flags, OPENAI_API_KEY="x") as (_, address):
            asked = {"model": "m", "messages": ASK, "eirene_trace": "full", **GIVEN}
            first, second = (
                httpx.post(f"{address}/v1/chat/completions", json=asked, timeout=60).json() for _ in range(2)
            )
    record, again = first["eirene"]["records"][0], second["eirene"]["records"][0]
    assert list(record["scores"]["original"]) == ["alignment", "chainpoll"]
    assert record["usage"]["calls"] > 1 and record["usage"]["cost_usd"] > 0
    assert (again["usage"]["calls"], again["usage"]["cost_usd"]) == (0, 0.0)
    assert again["usage"]["cache_hits"] > 0


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
def test_the_time_for_a_call_is_the_users_to_set() -> None:
    """Of the draft and of the loop: what hangs longer than that is asked once more, long before the answer is late."""

    def hanging_at_first(request: ScriptedRequest, index: int) -> ScriptedReply:
        return BrokenReply("hang") if request.attempt == 1 else script(request, index)

    with LoopbackServer(hanging_at_first) as model:
        flags = ("--base-url", model.base_url, "--mode", "improve", "--max-rounds", "1", "--call-timeout", "1")
        with running("--backend", "openai:m", *flags, OPENAI_API_KEY="x") as (_, address):
            asked = {"model": "m", "messages": ASK, "eirene_trace": "full", **GIVEN}
            reply = httpx.post(f"{address}/v1/chat/completions", json=asked, timeout=50).json()
    (record,) = reply["eirene"]["records"]
    assert record["error"] is None and record["usage"]["retries"] >= 1
    assert reply["choices"][0]["message"]["content"]


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
def test_a_failed_draft_is_logged_with_its_server_and_cause() -> None:
    """The client is told neither; what the server itself said is in no log."""
    with LoopbackServer(lambda *_: HttpError(401, message="SAID BY THE SERVER")) as model:
        flags = ("--upstream", "openai:m", "--base-url", model.base_url)
        with running("--backend", "embedded", *flags, OPENAI_API_KEY="x") as (process, address):
            reply = httpx.post(f"{address}/v1/chat/completions", json={"model": "m", "messages": ASK}, timeout=50)
            process.terminate()
            said = process.communicate(timeout=50)[1]
    assert reply.status_code == 502 and model.base_url not in reply.text
    assert f"openai:m at {model.base_url}: AuthError (HTTP 401)" in said and "SAID BY" not in said


def test_a_time_for_a_call_that_is_none_is_refused(run: Run) -> None:
    said = "'--call-timeout' must be greater than or equal to 0.1, got '0'"
    assert_error(run("serve", "--port", "0", "--call-timeout", "0"), said)


def test_a_detector_without_its_model_keeps_the_server_from_starting(run: Run) -> None:
    said = "the detector 'salience' needs a local model: name one with --local-model"
    assert_error(run("serve", "--port", "0", "--detectors", "salience"), said)
