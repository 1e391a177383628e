"""`eirene refine --judge` and `eirene score --detectors chainpoll`: the real client, a judge on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedReply, ScriptedRequest
from tests.cli.run import GIVEN, Run, assert_error, write

pytestmark = pytest.mark.usefixtures("loopback")

ROWS = "rows.jsonl"
OPEN = {"id": "open", "question": "Trams or buses?", "answer": "Trams are quiet. A bus costs 900 euros to build."}


def judge(request: ScriptedRequest, index: int) -> ScriptedReply:
    """Four of five polls find the price false, where the text has it."""
    found = "costs 900 euros" in request.text and index < 4
    return f"Poll {index}: one claim after the other.\n\nVerdict: {'yes' if found else 'no'}"


def backend(request: ScriptedRequest, index: int) -> ScriptedReply:
    if "improved answer" in request.text:
        return "Trams are quiet. A bus costs a great deal to build."
    return judge(request, index)


def test_refine_with_a_judge_of_another_server(run: Run, tmp_path: Path) -> None:
    """The embedded backend abstains on an open question in any mode that samples; in `improve` a model rewrites."""
    with LoopbackServer(backend) as model, LoopbackServer(judge) as other:
        done = run(
            "refine", write(tmp_path / ROWS, OPEN), "--mode", "improve", "--backend", "openai:writer",
            "--base-url", model.base_url, "--judge", "openai:judge", "--judge-base-url", other.base_url, "--json",
        )  # fmt: skip
        assert {r.body["model"] for r in model.requests} == {"writer"}
        assert [(r.body["model"], r.n) for r in other.requests] == [("judge", 1), ("judge", 5), ("judge", 5)]
    record = done.record
    assert (done.code, record["status"]) == (0, "accepted"), done
    assert "unsupported content 0.80 -> 0.00 (by judge)" in record["why"]
    polls = record["scores"]["original"]["judge"]["polls"]
    assert polls["asked"] == "correctness" and polls["replies"][4]["error"] is False
    assert 0.3 < polls["low"] < 0.8 < polls["high"] < 1
    assert record["usage"]["calls"] == 4 and "judge:openai:judge" in record["signature"]


def test_the_judge_is_at_the_backends_server_by_default(run: Run, tmp_path: Path) -> None:
    with LoopbackServer(backend) as server:
        done = run("refine", write(tmp_path / ROWS, OPEN), "--mode", "improve", "--backend", "openai:writer",
                   "--base-url", server.base_url, "--judge", "openai:judge", "--polls", "3")  # fmt: skip
        assert [r.n for r in server.requests if r.body["model"] == "judge"] == [1, 3, 3]
    assert done.code == 0 and "judge" in done.out


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--judge", "gpt"), "a judge is named provider:model, hf:path-or-id or gguf:FILE"),
        (("--judge", "openai:x"), "needs an API key"),
        (("--judge", "openai:x", "--judge-base-url", "http://127.0.0.1:1", "--polls", "2"), "polls must be at least 3"),
    ],
)
def test_a_judge_that_cannot_be_used_stops_the_run_before_it_begins(
    run: Run, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    assert_error(run("refine", write(tmp_path / ROWS, GIVEN), *flags), said)


def test_score_with_a_judge(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    with LoopbackServer(judge) as server:
        done = run("score", write(tmp_path / ROWS, GIVEN), "--out", out, "--judge", "openai:judge",
                   "--detectors", "chainpoll,chainpoll-correctness", "--base-url", server.base_url)  # fmt: skip
        assert (done.code, server.calls) == (0, 2)
    found = json.loads(out.read_text("utf-8"))["scores"]
    assert found["chainpoll"]["hallucination"] == found["chainpoll-correctness"]["hallucination"] == 0.0
    assert [found[name]["polls"]["asked"] for name in found] == ["adherence", "correctness"]


def test_a_judge_that_fails_leaves_rows_unscored_with_the_reason(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    with LoopbackServer(lambda *_: HttpError(404, "no such model")) as server:
        done = run("score", write(tmp_path / ROWS, GIVEN), "--out", out, "--detectors", "rouge,chainpoll",
                   "--judge", "openai:judge", "--base-url", server.base_url)  # fmt: skip
    assert done.code == 1
    found = json.loads(out.read_text("utf-8"))["scores"]
    assert "no such model" in found["chainpoll"]["hallucination"]["unscored"]
    assert isinstance(found["rouge"]["hallucination"], float)


def test_samples_in_the_row_need_no_model(run: Run, tmp_path: Path) -> None:
    row = {**OPEN, "meta": {"samples": ["Trams are quiet.", "Trams are quiet and clean."],
                            "token_logprobs": [[-0.1, -2.5], [-1.0, -1.1]]}}  # fmt: skip
    out = tmp_path / "scores.jsonl"
    done = run("score", write(tmp_path / ROWS, row), "--out", out, "--detectors",
               "selfcheck-ngram,selfcheck-embedding,pseudo-entropy")  # fmt: skip
    found = json.loads(out.read_text("utf-8"))["scores"]
    assert done.code == 0
    ngram = [s["hallucination"] for s in found["selfcheck-ngram"]["sentences"]]
    assert ngram[0] < ngram[1]  # no sample speaks of a price
    assert found["pseudo-entropy"]["raw"]["tokens"] == 2.0
