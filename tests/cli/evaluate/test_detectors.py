"""`eirene evaluate detectors` as a user meets it: offline, added to, stopped, and with bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedRequest
from tests.cli.run import GIVEN, Run, assert_error, write

FILES = {"rows.jsonl", "summary.json", "table.md", "curves.json"}


def rows(count: int = 8) -> list[dict[str, Any]]:
    """Answers that say an argument (even ones, all alike) or something else; another argument is always missing."""
    found = []
    for n in range(count):
        said = "Cages make animals suffer." if n % 2 == 0 else f"Volcanoes erupt {n} times."
        labels = {"hallucination": n % 2 == 1, "missing": [{"group": "con", "n": 1}], "cluster": f"c{n}"}
        found.append({**GIVEN, "id": f"r{n}", "answer": said, "meta": {"labels": labels, "kind": "ab"[n // 2 % 2]}})
    return found


def test_it_measures_offline_and_adds_a_detector_to_what_is_there(run: Run, tmp_path: Path) -> None:
    data, out = write(tmp_path / "rows.jsonl", *rows()), tmp_path / "new" / "out"
    done = run("evaluate", "detectors", data, "--detectors", "rouge", "--draws", "100", "--out", out)
    assert done.code == 0, done.err
    assert {p.name for p in out.iterdir()} == FILES
    assert json.loads((out / "curves.json").read_text())[0]["detectors"]["rouge"]["tpr"][-1] == 1
    assert "Hallucination, per answer: 8 labelled, 4 errors" in done.out and "rouge" in done.out
    table = (out / "table.md").read_text()
    lines = [line for line in table.splitlines() if line.startswith("|") and "---" not in line]
    assert all("|v:" in line.replace("\\|", "|") or line.endswith("| settings |") for line in lines)
    both = run(
        "evaluate", "detectors", data, "--detectors", "rouge,alignment", "--draws", "100", "--out", out, "--json"
    )
    assert "10 rows, 5 of them there before" in both.err
    summary = json.loads(both.out)
    assert summary == json.loads((out / "summary.json").read_text())
    level = next(x for x in summary["levels"] if (x["error"], x["level"]) == ("hallucination", "answer"))
    assert level["detectors"]["rouge"]["auc"]["value"] == 1.0
    assert [pair["n"] for pair in level["pairs"]] == [8]


def test_what_rows_do_not_bring_is_counted_and_a_judge_that_is_not_named_is_an_error(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *rows())
    arguments = ("evaluate", "detectors", data, "--draws", "50", "--out", tmp_path / "out")
    done = run(*arguments, "--detectors", "rouge,selfcheck-ngram")
    assert done.code == 0, done.err
    table = (tmp_path / "out" / "table.md").read_text()
    assert "- Hallucination, per answer, selfcheck-ngram: 8 of 8 unscored: needs other answers" in table
    assert_error(run(*arguments, "--detectors", "rouge,chainpoll"), "'chainpoll' needs a judge: name a chat model")
    nothing = run(*arguments[:-1], tmp_path / "other", "--detectors", "selfcheck-ngram")
    assert nothing.code == 1
    assert "error: no answer was scored: selfcheck-ngram: needs other answers" in nothing.err


def test_a_development_file_chooses_and_a_sample_is_drawn_by_its_seed(run: Run, tmp_path: Path) -> None:
    data, dev = write(tmp_path / "rows.jsonl", *rows(12)), write(tmp_path / "dev.jsonl", *rows(4))
    arguments = ("--detectors", "rouge", "--draws", "50", "--json", "--sample", "6,5")
    results = [run("evaluate", "detectors", data, "--dev", dev, "--out", tmp_path / o, *arguments) for o in "ab"]
    first, second = (json.loads(result.out) for result in results)
    assert first["levels"] == second["levels"]
    assert (first["data"]["drawn"], first["data"]["of"], first["dev"]["of"]) == (6, 12, 4)
    assert first["levels"][0]["detectors"]["rouge"]["f1"]["n"] == 6
    table = (tmp_path / "a" / "table.md").read_text()
    assert "Drawn: 6 of 12" in table
    shared = first["dev"]["shared_clusters"]
    assert 0 < shared < 4 and f"{shared} clusters are in both sets" in table
    assert f"{shared} clusters are in DATA and in --dev" in results[0].err


def test_bad_usage_is_one_clear_line(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *rows())
    for arguments, said in [
        (("--detectors", "rogue"), "unknown detector 'rogue'; known: alignment"),
        (("--limit", "-1"), "limit must be at least 0"),
        (("--sample", "x"), "--sample wants a number of rows"),
        (("--dev-share", "1"), "dev-share must lie between 0 and 1"),
        (("--draws", "0"), "draws must be at least 1"),
        (("--dev", "nowhere.jsonl"), "no such file"),
        (("--judge", "embedded", "--detectors", "chainpoll"), "a judge is named provider:model"),
        (("--price", "1"), "price must be two numbers"),
        (("--concurrency", "0"), "concurrency must be at least 1"),
    ]:
        assert_error(run("evaluate", "detectors", data, "--out", tmp_path / "out", *arguments), said)
        assert not (tmp_path / "out" / "rows.jsonl").exists()


def test_a_table_is_measured_with_its_columns_named(run: Run, tmp_path: Path) -> None:
    """Label columns of another name are mapped as fields are."""
    lines = ["prompt,response,context,wrong"]
    lines += [f"Trams {n}?,{'Cats purr.' if n % 2 else 'Trams are quiet.'},Trams are quiet.,{n % 2}" for n in range(8)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n", "utf-8")
    maps = ("--map", "question=prompt", "--map", "answer=response", "--map", "meta.labels.hallucination=wrong")
    result = run(
        "evaluate", "detectors", tmp_path / "rows.csv", *maps, "--detectors", "rouge", "--out", tmp_path / "out",
        "--draws", "10", "--json",
    )  # fmt: skip
    assert result.code == 0, result
    assert result.record["levels"][0]["detectors"]["rouge"]["auc"]["value"] == 1.0


def test_unlabelled_rows_are_refused(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", GIVEN)
    assert_error(run("evaluate", "detectors", data, "--out", tmp_path / "out"), "is of no known labelled form")


def verdict(request: ScriptedRequest, _: int) -> str:
    return "I compared them.\n\nVerdict: yes" if "Volcanoes" in request.text else "I compared them.\n\nVerdict: no"


@pytest.mark.usefixtures("loopback")
def test_a_judge_is_asked_over_the_wire_and_its_cost_is_told(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *rows())
    with LoopbackServer(verdict) as server:
        chat = ("--judge", "openai:test", "--base-url", server.base_url, "--price", "1,2", "--json")
        done = run("evaluate", "detectors", data, "--detectors", "rouge,chainpoll", "--out", tmp_path / "o", *chat)
        assert done.code == 0, done.err
        summary = json.loads(done.out)
        assert summary["costs"]["chainpoll"]["calls"] == server.calls > 0
    assert summary["costs"]["chainpoll"]["cost_usd"] > 0
    level = next(x for x in summary["levels"] if (x["error"], x["level"]) == ("hallucination", "answer"))
    assert level["detectors"]["chainpoll"]["auc"]["value"] == 1.0


@pytest.mark.usefixtures("loopback")
def test_too_many_failed_rows_are_exit_code_1_and_a_bad_key_is_2(run: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *rows(4))
    with LoopbackServer(lambda *_: HttpError(400, "no")) as server:
        chat = ("--judge", "openai:test", "--base-url", server.base_url, "--detectors", "chainpoll")
        assert run("evaluate", "detectors", data, "--out", tmp_path / "a", *chat).code == 1
        assert run("evaluate", "detectors", data, "--out", tmp_path / "a", *chat, "--fail-on-error", "1").code == 0
    with LoopbackServer(verdict, key="secret") as server:
        chat = ("--judge", "openai:test", "--base-url", server.base_url, "--detectors", "chainpoll")
        assert run("evaluate", "detectors", data, "--out", tmp_path / "b", *chat).code == 2
    assert (tmp_path / "b" / "rows.jsonl").read_text() == ""


@pytest.mark.usefixtures("loopback")
@pytest.mark.slow  # a process; the experiment's own tests stop a run in this one
def test_stopped_by_the_user_is_exit_code_130_and_the_rows_stay(run: Run, tmp_path: Path) -> None:
    data, out = write(tmp_path / "rows.jsonl", *rows(30)), tmp_path / "out"
    with LoopbackServer(verdict, latency_s=0.05) as server:
        arguments = ["evaluate", "detectors", str(data), "--detectors", "chainpoll", "--out", str(out)]
        arguments += ["--judge", "openai:test", "--base-url", server.base_url, "--concurrency", "1"]
        stopped = subprocess.Popen([sys.executable, "-m", "eirene", *arguments], stderr=subprocess.PIPE, text=True)
        while not (out / "rows.jsonl").exists() or (out / "rows.jsonl").read_bytes().count(b"\n") < 2:
            assert stopped.poll() is None
            time.sleep(0.005)
        os.kill(stopped.pid, signal.SIGINT)
        _, said = stopped.communicate(timeout=60)
        kept = (out / "rows.jsonl").read_text().count("\n")
        assert (stopped.returncode, "Traceback" in said, 2 <= kept < 30) == (130, False, True)
        assert "run the same command again to resume" in said
        assert f"{kept} of them there before" in run(*arguments).err
