"""`eirene npov`: for a reader, as a row, and through the loop."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.records import Record, parse_item
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.cli.run import EXAMPLES, Run, assert_error, write
from tests.rows import each
from tests.tiny_llama import make_llama

TOPICS = EXAMPLES / "topics.jsonl"
QUERY = "Should cities ban cars downtown?"


def test_a_reader_sees_question_response_and_arguments(run: Run) -> None:
    result = run("npov", "--query", QUERY, "--topics", TOPICS)
    assert (result.code, result.err) == (0, "")
    assert [line for line in result.out.splitlines() if line[:1].strip()] == [
        "Question", "Asked", "Response", "Arguments: pro", "Arguments: con", "Made",
    ]  # fmt: skip


def test_json_is_a_row_that_the_other_commands_take(run: Run) -> None:
    row = run("npov", "--query", QUERY, "--topics", TOPICS, "--json").out
    assert parse_item(json.loads(row)).question == "Should private cars be kept out of city centres?"
    record = Record.model_validate(run("refine", "-", "--json", stdin=row.encode()).record)
    assert record.status == "complete"


def test_refine_shows_the_record_that_refine_would(run: Run) -> None:
    direct = run("npov", "--query", QUERY, "--topics", TOPICS, "--refine", "--json", "--seed", "3").record
    row = run("npov", "--query", QUERY, "--topics", TOPICS, "--json", "--seed", "3").out
    piped = run("refine", "-", "--json", "--seed", "3", stdin=row.encode()).record
    for record in (direct, piped):
        record["usage"]["seconds"] = 0
    assert direct == piped


def test_where_no_topic_fits_the_nearest_are_listed_with_exit_code_1(run: Run) -> None:
    result = run("npov", "--query", "Is tea better than coffee?", "--topics", TOPICS, "--k", "2")
    assert result.code == 1
    assert result.out.count("Should ") == 2
    assert "no topic fits" in result.err
    row = run("npov", "--query", "Is tea better than coffee?", "--topics", TOPICS, "--json").record
    assert row["topic"] is None
    assert len(row["nearest"]) == 3


def test_a_lower_threshold_takes_what_is_near(run: Run) -> None:
    query = "night trains subsidies"
    assert run("npov", "--query", query, "--topics", TOPICS, "--threshold", "0.95").code == 1
    assert run("npov", "--query", query, "--topics", TOPICS, "--threshold", "0.3").code == 0


@each(
    "arguments, said",
    [
        (["--query", " ", "--topics", str(TOPICS)], "blank"),
        (["--query", "q", "--topics", "nowhere.jsonl"], "no such file"),
        (["--query", "cashless shops", "--topics", str(TOPICS), "--backend", "what"], "unknown backend"),
        (["--query", "q", "--topics", str(TOPICS), "--threshold", "3"], "threshold"),
        (["--query", "q"], "--topics"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(run: Run, arguments: list[str], said: str) -> None:
    assert_error(run("npov", *arguments), said)


def test_a_topic_with_one_side_is_refused_with_what_to_do(run: Run, tmp_path: Path) -> None:
    row = {"question": "Is it so?", "perspectives": [{"name": "pro", "arguments": ["Yes."]}]}
    path = write(tmp_path / "t.jsonl", row)
    assert_error(run("npov", "--query", "Is it so?", "--topics", path), "needs two sides")


def test_a_local_model_that_writes_and_refines_is_loaded_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transformers

    loaded: list[str] = []
    load = transformers.AutoModelForCausalLM.from_pretrained

    def counted(path: str, *arguments: object, **options: object) -> object:
        loaded.append(path)
        return load(path, *arguments, **options)

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", counted)
    llama = make_llama(tmp_path / "llama", hidden=16, layers=1)
    flags = ("--backend", f"hf:{llama}", "--refine", "--json")
    run("npov", "--query", "Is tea better than coffee?", "--topics", TOPICS, *flags)
    assert loaded == []  # no topic fits: nothing is written
    run("npov", "--query", QUERY, "--topics", TOPICS, *flags)
    assert loaded == [str(llama)]


RESPONSE = "Introduction: Cities argue.\n\nResponse: Some say that streets calm down. Others say that trade suffers."


@pytest.mark.usefixtures("loopback")
def test_the_price_and_the_cache_are_those_of_the_writer_and_of_the_loop(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("langchain_openai")

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        return "1. [Complete]" if "numbered statements" in request.text else RESPONSE

    prices = tmp_path / "prices.toml"
    prices.write_text('date = "2026-06"\n[models."openai:*"]\ninput = 1\noutput = 2\n', encoding="utf-8")
    with LoopbackServer(script) as server:
        command = ["npov", "--query", QUERY, "--topics", TOPICS, "--backend", "openai:m", "--base-url", server.base_url,
                   "--json", "--cache", tmp_path / "calls.sqlite"]  # fmt: skip
        for price in (["--price", "1,2"], ["--price", prices]):
            written = run(*command, *price).record["meta"]["npov"]["usage"]
            assert written["cost_usd"] is not None
        assert server.calls == 1 and written["cache_hits"] == 1 and written["calls"] == 0
        first, second = (run(*command, "--price", "1,2", "--refine").record["usage"] for _ in range(2))
    assert first["calls"] > 0 and first["cost_usd"] > 0
    assert second["calls"] == 0 < second["cache_hits"]


def test_the_server_of_a_model_is_none_of_the_embedded_writer(run: Run) -> None:
    said = "the backend 'embedded' calls no server"
    assert_error(run("npov", "--query", QUERY, "--topics", TOPICS, "--base-url", "http://127.0.0.1:9/v1"), said)
