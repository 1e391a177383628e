"""--cache, --price and the provider's batch files on the command line, against a server that counts."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from eirene.cli.model_flags import ModelFlags
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, ScriptedReply, ScriptedRequest
from tests.batch_endpoint import answer_requests
from tests.cli.run import Run, assert_error, write

REWRITE = "Trams are quiet and pollute less. Buses are cheap."
CRITIQUES = ("1. [Complete]\n2. [Complete]", "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]")
ROWS = [
    {"id": f"row-{n}", "question": f"Trams or buses in town {n}?", "answer": "Trams are quiet. Buses are cheap.",
     "perspectives": [{"name": "trams", "arguments": ["Trams are quiet.", "Trams pollute less."]}]}
    for n in range(3)
]  # fmt: skip
pytestmark = pytest.mark.usefixtures("loopback")


def script(request: ScriptedRequest, index: int) -> ScriptedReply:
    if "Write the improved answer now" in request.text:
        return REWRITE
    if "Verdict" in request.text:
        return "It is all there.\n\nVerdict: no"
    return CRITIQUES[(int(request.body["seed"]) + index) % 3 != 0]


def rows_of(file: Path) -> list[dict[str, Any]]:
    """The journal's rows by id, without what a rerun may change, and so the checksum."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return sorted(
        ({k: v for k, v in row.items() if k not in ("usage", "line_crc32")} for row in rows),
        key=lambda row: str(row["id"]),
    )


def usage_of(file: Path, name: str) -> int:
    return sum(json.loads(line)["usage"][name] for line in file.read_text("utf-8").splitlines())


def test_a_second_batch_with_the_same_cache_calls_nothing_and_says_the_same(run: Run, tmp_path: Path) -> None:
    """The records are equal but for their usage, which counts the replies that were known; the judge's among them."""
    data, cache = write(tmp_path / "in.jsonl", *ROWS), tmp_path / "calls.sqlite"
    with LoopbackServer(script) as server:
        common = ["--backend", "openai:m", "--judge", "openai:m", "--base-url", server.base_url, "--cache", cache]
        assert run("batch", data, "--out", tmp_path / "a.jsonl", *common).code == 0
        calls = server.calls
        assert run("batch", data, "--out", tmp_path / "b.jsonl", *common).code == 0
        assert server.calls == calls > 0
    assert rows_of(tmp_path / "a.jsonl") == rows_of(tmp_path / "b.jsonl")
    assert usage_of(tmp_path / "a.jsonl", "cache_hits") == 0 == usage_of(tmp_path / "b.jsonl", "calls")
    assert usage_of(tmp_path / "b.jsonl", "cache_hits") > 60
    assert usage_of(tmp_path / "b.jsonl", "input_tokens") == 0


def test_refine_says_what_came_from_the_cache(run: Run, tmp_path: Path) -> None:
    """The cost of a record names the replies that were known."""
    item, cache = write(tmp_path / "in.jsonl", ROWS[0]), tmp_path / "calls.sqlite"
    with LoopbackServer(script) as server:
        command = ["refine", item, "--backend", "openai:m", "--base-url", server.base_url, "--cache", cache]
        first, second = run(*command, "--price", "1,2", "--json").record, run(*command)
    assert first["usage"]["cost_usd"] > 0
    assert re.search(r"no model calls, \d+ replies from the call cache", " ".join(second.out.split()))


@pytest.mark.slow
def test_records_by_way_of_batch_files_are_those_of_a_live_run(run: Run, tmp_path: Path) -> None:
    """Export, the fake endpoint, import: the rows of a live run, and no critique is asked of the live model."""
    data = write(tmp_path / "in.jsonl", *ROWS)
    requests, replies = tmp_path / "requests.jsonl", tmp_path / "replies.jsonl"
    with LoopbackServer(script) as server:
        common = ["--backend", "openai:m", "--base-url", server.base_url]
        common += ["--stop", "none"]  # one request for all critiques, live as in the file
        assert run("batch", data, "--out", tmp_path / "live.jsonl", *common).code == 0
        calls, out = server.calls, tmp_path / "imported.jsonl"
        exported = run("batch", data, "--out", out, *common, "--export-requests", requests)
        assert (exported.code, server.calls, out.exists()) == (0, calls, False)
        assert "wrote 3 requests for 3 rows" in exported.err
        lines = answer_requests(requests, script)
        random.Random(1).shuffle(lines)
        replies.write_text("\n".join(lines), encoding="utf-8")
        cache = ["--cache", tmp_path / "calls.sqlite"]
        imported = run("batch", data, "--out", out, *common, *cache, "--import-replies", replies)
        assert imported.code == 0
        assert "read 60 critiques: 3 of 3 rows have all of theirs" in imported.err
        rewrites = re.compile("You mend the answer|Write the improved")
        assert all(rewrites.search(request.text) for request in server.requests[calls:])
    assert rows_of(out) == rows_of(tmp_path / "live.jsonl")


def test_what_cannot_be_used_is_one_line_and_no_call(run: Run, tmp_path: Path) -> None:
    """A file that is no cache, a size that is none, replies without a cache, two kinds of price."""
    data, text = write(tmp_path / "in.jsonl", *ROWS), tmp_path / "notes.txt"
    text.write_text("no database, but a text of some length " * 20, encoding="utf-8")
    with LoopbackServer(script) as server:
        command = ["batch", data, "--out", tmp_path / "o.jsonl", "--backend", "openai:m", "--base-url", server.base_url]
        assert_error(run(*command, "--cache", text), "is another program's, or is damaged; name another file")
        assert_error(run(*command, "--cache", f"{tmp_path / 'c'},huge"), "500MB")
        assert_error(run(*command, "--import-replies", text), "--cache FILE")
        assert_error(run(*command, "--price", text.rename(tmp_path / "notes.toml")), "is not TOML")
        assert server.calls == 0


def test_a_dry_run_sends_nothing_leaves_no_journal_and_knows_what_is_done(run: Run, tmp_path: Path) -> None:
    """What the rest may take is told by the rows that are done; without a price there is no cost."""
    data, out = write(tmp_path / "in.jsonl", *ROWS), tmp_path / "out.jsonl"
    with LoopbackServer(script) as server:
        command = ["batch", data, "--out", out, "--backend", "openai:m", "--base-url", server.base_url]
        told = run(*command, "--dry-run")
        assert (told.code, server.calls, out.exists()) == (0, 0, False)
        assert told.out.startswith("3 rows: 0 are done, 3 are left; what a row takes is known once some are done")
        assert run(*command, "--limit", "2").code == 0
        calls, left = server.calls, json.loads(run(*command, "--dry-run", "--json").out)
        assert server.calls == calls > 0
        assert left["rows"] == {"total": 3, "done": 2, "left": 1}
        assert left["the_rest_may_take"]["calls"] == left["a_row_took"]["calls"] == calls / 2
        assert left["the_rest_may_take"]["cost_usd"] is None
        assert "US dollars unknown (--price IN,OUT)" in run(*command, "--dry-run").out


@pytest.mark.parametrize("backend", ["openai:gpt-4o-mini", "embedded"])
def test_what_calls_nothing_needs_no_key(run: Run, tmp_path: Path, backend: str) -> None:
    """Neither of the model nor of a judge; what does call one says so before anything is done."""
    data, out = write(tmp_path / "in.jsonl", *ROWS), tmp_path / "out.jsonl"
    command = ["batch", data, "--out", out, "--backend", backend, "--judge", "openai:gpt-4o"]
    told = json.loads(run(*command, "--dry-run", "--json").out)
    assert told == {"rows": {"total": 3, "done": 0, "left": 3}, "a_row_took": None, "the_rest_may_take": None}
    assert_error(run(*command), "needs an API key: set OPENAI_API_KEY")
    assert not out.exists()


def test_requests_written_without_a_key_are_those_written_with_one(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their ids are what the replies are known by again."""
    command = ["batch", write(tmp_path / "in.jsonl", *ROWS), "--out", tmp_path / "out.jsonl"]
    command += ["--backend", "openai:gpt-4o-mini", "--export-requests"]
    assert run(*command, tmp_path / "without.jsonl").code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "x-key-for-nobody")
    assert run(*command, tmp_path / "with.jsonl").code == 0
    assert (tmp_path / "without.jsonl").read_text("utf-8") == (tmp_path / "with.jsonl").read_text("utf-8")


def test_the_rows_of_a_sample_are_not_paid_for_twice(run: Run, tmp_path: Path) -> None:
    """K rows are made, into the journal; a dry run says what a row took, and the run afterwards makes only the rest."""
    rows = [{**ROWS[0], "id": f"row-{n}"} for n in range(8)]
    data, out = write(tmp_path / "in.jsonl", *rows), tmp_path / "out.jsonl"
    with LoopbackServer(script) as server:
        command = ["batch", data, "--out", out, "--backend", "openai:m", "--base-url", server.base_url]
        assert run(*command, "--sample", "4", "--price", "1,2").code == 0
        before, took = set(out.read_text("utf-8").splitlines()), server.calls
        told = json.loads(run(*command, "--dry-run", "--json", "--price", "1,2").out)
        assert (told["rows"]["done"], told["rows"]["left"]) == (4, 4)
        assert told["a_row_took"]["calls"] == took / 4 and told["a_row_took"]["cost_usd"] > 0
        assert told["the_rest_may_take"]["cost_usd"] == 4 * told["a_row_took"]["cost_usd"]
        assert "A row of the journal took" in run(*command, "--dry-run", "--price", "1,2").out
        assert run(*command, "--price", "1,2").code == 0
    assert len(before) == 4 and before < set(out.read_text("utf-8").splitlines())
    assert [row["id"] for row in rows_of(out)] == [row["id"] for row in rows]


def test_json_without_a_dry_run_is_refused(run: Run, tmp_path: Path) -> None:
    """A batch prints no JSON of its own."""
    data = write(tmp_path / "in.jsonl", *ROWS)
    assert_error(run("batch", data, "--out", tmp_path / "o.jsonl", "--json"), "--json goes with --dry-run")


def test_the_list_of_prices_that_ships_is_for_the_providers_own_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the environment sends the client elsewhere, what a model costs is not known."""
    from eirene.cli.model_flags import CallFlags

    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    assert CallFlags().listed_price("openai:gpt-4o", base_url=None) is not None
    assert CallFlags().listed_price("openai:gpt-4o", base_url="http://127.0.0.1:9/v1") is None
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert CallFlags().listed_price("openai:gpt-4o", base_url=None) is None


def hanging_at_first(request: ScriptedRequest, index: int) -> ScriptedReply:
    """No reply to the first attempt of each request."""
    return BrokenReply("hang") if request.attempt == 1 else script(request, index)


def test_an_attempt_that_takes_longer_than_the_timeout_is_made_again(run: Run, tmp_path: Path) -> None:
    item, out = write(tmp_path / "in.jsonl", ROWS[0]), tmp_path / "scores.jsonl"
    common = ["--timeout", "1", "--backend", "openai:m", "--base-url"]
    with LoopbackServer(hanging_at_first) as server:
        refined = run("refine", item, "--mode", "improve", "--max-rounds", "1", "--json", *common, server.base_url)
        assert refined.code == 0 and refined.record["usage"]["retries"] >= 1
        judge = ["--detectors", "chainpoll", "--judge", "openai:m", "--polls", "3", "--timeout", "1"]
        assert run("score", item, "--out", out, *judge, "--base-url", server.base_url).code == 0
        assert {request.attempt for request in server.requests} >= {1, 2}
    (row,) = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert row["scores"]["chainpoll"]["hallucination"] == 0.0


def test_the_judge_of_score_has_a_server_of_its_own(run: Run, tmp_path: Path) -> None:
    """As elsewhere `--judge-base-url` wins, and `--base-url` serves where it is not given."""
    item = write(tmp_path / "in.jsonl", ROWS[0])
    command = ["score", item, "--detectors", "chainpoll", "--judge", "openai:m", "--polls", "3"]
    with LoopbackServer(script) as other, LoopbackServer(script) as judge:
        flags = ["--base-url", other.base_url, "--judge-base-url", judge.base_url]
        assert run(*command, "--out", tmp_path / "a.jsonl", *flags).code == 0
        assert other.calls == 0 < judge.calls
        assert run(*command, "--out", tmp_path / "b.jsonl", "--base-url", other.base_url).code == 0
        assert other.calls > 0


def test_a_detector_without_a_model_of_its_own_runs_here_beside_one_on_a_server() -> None:
    for detectors, models, is_here in [
        ("lynx,minicheck", ["lynx=openai:m"], True),
        ("lynx", ["lynx=openai:m"], False),
        ("lynx,granite-guardian", ["openai:m"], False),
        ("minicheck,rouge", None, True),
        ("rouge", None, False),
    ]:
        flags = ModelFlags(detectors=detectors, detector_model=models)
        assert flags.has_local_model == is_here, (detectors, models)
        assert flags.asks_a_server == (models is not None)
