"""The whole loop on chat models: over the real protocol, and on a model object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage

import eirene
from eirene.agent.backends import BackendOptions
from eirene.cli import main
from eirene.models.costs import Price
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

ITEM: dict[str, Any] = {
    "id": "trams",
    "question": "Trams or buses?",
    "answer": "Trams are quiet. Buses are cheap.",
    "perspectives": [
        {"name": "trams", "arguments": ["Trams are quiet.", "Trams pollute less."]},
        {"name": "buses", "arguments": ["Buses are cheap."]},
    ],
}
CRITIQUE = "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]"
REWRITE = "Trams are quiet and pollute less. Buses are cheap."


def reply_to(text: str) -> str:
    if "You mend the answer" in text:
        return "1: Trams are quiet and pollute less."
    return f"Sure, here is the improved answer:\n\n{REWRITE}" if "Write the improved answer now" in text else CRITIQUE


def script(request: ScriptedRequest, _: int) -> str:
    return reply_to(request.text)


@pytest.mark.usefixtures("loopback")
def test_a_server_gives_a_full_record_and_its_own_count() -> None:
    with LoopbackServer(script) as server:
        record = eirene.refine(ITEM, backend="openai:test", base_url=server.base_url)
        assert (record.status, record.answer, record.backend) == ("accepted", REWRITE, "openai:test")
        (only,) = record.rounds
        assert only.critique is not None
        assert (only.critique.n_drawn, only.critique.n_valid, only.critique.tag_consistency) == (5, 5, 1.0)
        usage = record.usage
        assert (usage.calls, usage.input_tokens, usage.output_tokens) == (2, server.input_tokens, server.output_tokens)
        assert usage.cost_usd is None
        assert "t=1,p=0.9,structured=auto,prompts=" in record.signature


@pytest.mark.usefixtures("loopback")
def test_a_price_gives_a_cost() -> None:
    with LoopbackServer(script) as server:
        options = BackendOptions(base_url=server.base_url, price=Price(input_usd=1.0, output_usd=2.0))
        cost = eirene.refine(ITEM, backend="openai:test", backend_options=options).usage.cost_usd
        assert cost == pytest.approx((server.input_tokens + 2 * server.output_tokens) / 1e6)


@pytest.mark.usefixtures("loopback")
def test_a_wrong_key_is_exit_code_2_with_the_original_in_the_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    file = tmp_path / "item.json"
    file.write_text(json.dumps(ITEM), encoding="utf-8")
    with LoopbackServer(script, key="right") as server:
        code = main(["refine", str(file), "--backend", "openai:test", "--base-url", server.base_url, "--json"])
        record = json.loads(capsys.readouterr().out)
        assert (code, record["status"], record["error"]["kind"]) == (2, "failed", "AuthError")
        assert record["answer"] == ITEM["answer"]
        assert (server.calls, record["usage"]["calls"], record["usage"]["retries"]) == (1, 1, 0)


def test_a_model_object_is_a_backend_in_every_mode() -> None:
    for mode, calls in (("improve", 1), ("generic", 1), ("fine-grained", 2)):
        model = ScriptedChatModel(lambda messages: reply_to(messages[-1].text))
        record = eirene.refine(ITEM, backend=model, mode=mode)
        assert (record.status, len(model.calls)) == ("accepted", calls)


def test_a_rewrite_that_was_cut_off_is_a_rejected_round_and_the_next_is_told() -> None:
    def replies(messages: list[BaseMessage]) -> str | AIMessage:
        text = messages[-1].text
        if ("You mend" in text or "now:" in text) and "Attempt 1" not in text:
            return AIMessage("Trams are", response_metadata={"finish_reason": "length"})
        return reply_to(text)

    model = ScriptedChatModel(replies)
    record = eirene.refine(ITEM, backend=model)
    assert record.status == "accepted"
    assert [r.decision for r in record.rounds] == ["reject", "accept"]
    assert (record.rounds[0].candidate, "cut off" in record.rounds[0].why) == ("Trams are", True)
    assert "Turned down because: the rewrite was cut off" in model.calls[-1].text


def test_a_backend_that_is_none_is_an_input_error() -> None:
    with pytest.raises(eirene.InputError, match="unknown backend 'gpt-4o'; known: 'embedded', provider:model"):
        eirene.refine(ITEM, backend="gpt-4o")


async def test_drafts_and_critiques_stay_out_of_the_message_stream() -> None:
    graph = eirene.build_graph(ScriptedChatModel(lambda messages: reply_to(messages[-1].text)))
    state: Any = eirene.initial_state(eirene.Item.model_validate(ITEM), 0)
    modes = [mode async for mode, _ in graph.astream(state, stream_mode=["messages", "values"])]
    assert set(modes) == {"values"}
