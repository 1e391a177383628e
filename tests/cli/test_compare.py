"""`eirene compare` and `eirene report` as a user meets them: offline, resumed, killed, and with bad input."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write

FILES = {"rows.jsonl", "summary.json", "table.md", "report.html"}


def test_the_embedded_default_compares_offline_with_a_report(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = run("compare", EXAMPLES / "npov.jsonl", "--out", out, "--limit", "2", "--samples", "4")
    assert done.code == 0, done.err
    assert {p.name for p in out.iterdir()} == FILES
    assert "fine-grained minus generic" in done.out
    table = (out / "table.md").read_text()
    assert table.count("|v:") == 1 and table.splitlines()[-1].startswith("All figures: `mode:improve/generic/")
    assert "hardly anything in mode improve:" in done.err
    again = run("compare", EXAMPLES / "npov.jsonl", "--out", out, "--limit", "2", "--samples", "4", "--blind", tmp_path)
    assert "6 of them there before" in again.err
    n = len((tmp_path / "key.jsonl").read_text().splitlines())
    assert n and f"{n} pairs to be marked in {tmp_path / 'blind.html'}: give readers this page alone" in again.err
    assert (out / "table.md").read_text() == table
    assert "between the 3 modes can be told: 2 items scored in all" in (out / "report.html").read_text()
    assert run("report", out / "rows.jsonl", "-o", out / "again.html").code == 0
    assert "6 records" in (out / "again.html").read_text()


def test_a_sample_is_drawn_by_its_seed_and_keeps_the_order_of_the_file(run: Run, tmp_path: Path) -> None:
    rows = write(tmp_path / "rows.jsonl", *({**GIVEN, "id": f"r{n}"} for n in range(9)))
    for name in ("a", "b"):
        arguments = ("--modes", "improve", "--sample", "3,1", "--samples", "4")
        assert run("compare", rows, "--out", tmp_path / name, *arguments).code == 0
    files = [(tmp_path / name / "rows.jsonl").read_text().splitlines() for name in "ab"]
    ids = [[json.loads(line)["id"] for line in lines] for lines in files]
    assert ids[0] == ids[1] == sorted(ids[0])
    assert ids[0] != ["r0", "r1", "r2"]


def test_bad_usage_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GIVEN)
    for arguments, said in [
        (("--modes", "improve,best"), "unknown mode 'best'"),
        (("--modes", ""), "no mode named"),
        (("--seeds", "0,x"), "seeds must be integers"),
        (("--limit", "-1"), "limit must be at least 0"),
        (("--sample", "x"), "--sample wants a number of rows"),
        (("--judge", "embedded"), "a judge is named provider:model"),
        (("--price", "1"), "price must be two numbers"),
        (("--price", "1,-1"), "price must not be negative"),
        (("--modes", "human"), "mode human needs 'feedback'"),
        (("--samples", "1"), "samples must"),
    ]:
        assert_error(run("compare", rows, "--out", tmp_path / "out", *arguments), said)
        assert not (tmp_path / "out" / "rows.jsonl").exists()


@pytest.mark.parametrize("command", [("compare",), ("evaluate", "detectors")])
def test_figures_are_not_written_over_a_file_of_the_users(run: Run, tmp_path: Path, command: tuple[str, ...]) -> None:
    """A folder that has one of their names and no rows is of no earlier run, and stays as it is."""
    (tmp_path / "summary.json").write_text("mine")
    labelled = {**GIVEN, "answer": "A.", "meta": {"labels": {"hallucination": True}}}
    data = write(tmp_path / "data.jsonl", {"question": "Q?", **labelled})
    assert_error(run(*command, data, "--out", tmp_path), "has a summary.json that is of no earlier run")
    assert {p.name: p.read_text() for p in tmp_path.iterdir() if p != data} == {"summary.json": "mine"}


def test_a_folder_that_is_a_file_is_named(run: Run, tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", GIVEN)
    assert_error(run("compare", rows, "--out", rows), "is a file; name a folder")


def reply(request: ScriptedRequest, _: int) -> str:
    if "one compact JSON object" in request.text:
        return '{"errors": []}'
    return "Zoos teach children, and cages make animals suffer."


@pytest.mark.usefixtures("loopback")
def test_a_judge_and_a_price_are_counted_apart(run: Run, tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", *({**GIVEN, "id": f"r{n}"} for n in range(2)))
    with LoopbackServer(reply) as server:
        chat = ("--backend", "openai:test", "--base-url", server.base_url, "--price", "1,2")
        done = run(
            "compare", rows, "--out", tmp_path / "out", "--modes", "improve,generic", "--judge", "openai:judge", *chat
        )
        assert done.code == 0, done.err
        summary = json.loads((tmp_path / "out" / "summary.json").read_text())
        calls = [found["usage"]["calls"] for found in summary["per_mode"].values()]
        assert sum(calls) + summary["judge_usage"]["calls"] == server.calls
    assert summary["per_mode"]["improve"]["usage"]["cost_usd"] > 0
    assert summary["judge"].startswith("openai:judge,prompt=")
    assert "Error correction" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
def test_too_many_failed_rows_are_exit_code_1_and_a_bad_key_is_2(run: Run, tmp_path: Path) -> None:
    from eirene.testing.script import HttpError

    rows = write(tmp_path / "in.jsonl", {**GIVEN, "id": "r"})
    with LoopbackServer(lambda *_: HttpError(400, "no")) as server:
        chat = ("--backend", "openai:test", "--base-url", server.base_url, "--modes", "improve")
        assert run("compare", rows, "--out", tmp_path / "a", *chat).code == 1
        assert run("compare", rows, "--out", tmp_path / "a", *chat, "--fail-on-error", "1").code == 0
    with LoopbackServer(reply, key="secret") as server:
        chat = ("--backend", "openai:test", "--base-url", server.base_url, "--modes", "improve")
        assert run("compare", rows, "--out", tmp_path / "b", *chat).code == 2
    assert (tmp_path / "b" / "rows.jsonl").read_text() == ""


@pytest.mark.usefixtures("loopback")
@pytest.mark.slow  # two processes; resuming has quick tests among the experiment's own
def test_killed_and_started_again_loses_nothing_and_pays_for_nothing_twice(run: Run, tmp_path: Path) -> None:
    """The row of every call that was answered and written is kept; its call never comes again."""
    rows = write(tmp_path / "in.jsonl", *({**GIVEN, "id": f"r{n}", "question": f"Zoo {n}?"} for n in range(12)))
    out = tmp_path / "out"
    with LoopbackServer(reply, latency_s=0.05) as server:
        arguments = [
            "compare",
            str(rows),
            "--out",
            str(out),
            "--modes",
            "improve,generic",
            "--max-rounds",
            "1",
        ]
        arguments += ["--backend", "openai:test", "--base-url", server.base_url, "--concurrency", "3"]
        killed = subprocess.Popen([sys.executable, "-m", "eirene", *arguments], stderr=subprocess.DEVNULL)
        while server.calls < 10:
            assert killed.poll() is None
            time.sleep(0.005)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        kept = {(r["id"], r["mode"]) for r in map(json.loads, (out / "rows.jsonl").read_text().splitlines(True)) if r}
        assert 0 < len(kept) < 24
        with (out / "rows.jsonl").open("a") as file:
            file.write('{"id": "r11", "mode": "gen')  # what a kill in the middle of a line leaves
        before = server.calls
        assert run(*arguments).code == 0
        again = {asked(request) for request in server.requests[before:]}
    done = [(r["id"], r["mode"]) for r in map(json.loads, (out / "rows.jsonl").read_text().splitlines())]
    assert sorted(done) == sorted((f"r{n}", mode) for n in range(12) for mode in ("improve", "generic"))
    assert again == set(done) - kept


def asked(request: ScriptedRequest) -> tuple[str, str]:
    """Which row a request is for."""
    found = re.search(r"Zoo (\d+)\?", request.text)
    assert found is not None
    return f"r{found[1]}", "generic" if "This answer is not complete." in request.text else "improve"


@pytest.mark.usefixtures("loopback")
@pytest.mark.slow  # a process; the experiment's own tests stop a run in this one
def test_stopped_by_the_user_is_exit_code_130_and_the_rows_stay(tmp_path: Path) -> None:
    rows = write(tmp_path / "in.jsonl", *({**GIVEN, "id": f"r{n}"} for n in range(30)))
    with LoopbackServer(reply, latency_s=0.05) as server:
        arguments = ["compare", str(rows), "--out", str(tmp_path / "out"), "--modes", "improve", "--max-rounds", "1"]
        arguments += ["--backend", "openai:test", "--base-url", server.base_url, "--concurrency", "1"]
        command = [sys.executable, "-m", "eirene", *arguments]
        stopped = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while server.calls < 4:
            assert stopped.poll() is None
            time.sleep(0.005)
        stopped.send_signal(signal.SIGINT)
        _, said = stopped.communicate(timeout=60)
    assert stopped.returncode == 130
    assert "run the same command again to resume" in said
    assert "Traceback" not in said
    assert (tmp_path / "out" / "rows.jsonl").read_text().count("\n") >= 2


def test_a_report_is_made_of_any_file_of_records(run: Run, tmp_path: Path) -> None:
    record = run("refine", EXAMPLES / "dropped-argument.json", "--json", "--samples", "4")
    (tmp_path / "run.jsonl").write_text(record.out)
    page = tmp_path / "page.html"
    done = run("report", tmp_path / "run.jsonl", "-o", page, "--items", EXAMPLES / "dropped-argument.json")
    assert done.code == 0, done.err
    assert "run.jsonl: 1 record<" in page.read_text()
    assert_error(run("report", tmp_path / "run.jsonl", "-o", page), "exists already")
    assert_error(run("report", EXAMPLES / "npov.jsonl", "-o", tmp_path / "x.html"), "line 1: is no record of a run")
    assert not (tmp_path / "x.html").exists()
