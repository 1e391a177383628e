"""`eirene calibrate`, and the file that it writes in `score` and `refine`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.cli.run import GIVEN, Run, assert_error, write

ARGUMENTS = ("Trams are quiet", "Buses cost less", "Bridges need care", "Schools open early", "Rivers carry boats")


def row(n: int, *, wrong: bool) -> dict[str, Any]:
    said = "Nobody has ever seen a purple walrus there" if wrong else ARGUMENTS[n % 5]
    return {
        "id": f"{n}-{wrong}", "question": f"Question {n}?", "answer": f"{said}.",
        "perspectives": {"pro": f"{ARGUMENTS[n % 5]} in town {n}."},
        "meta": {"labels": {"hallucination": wrong, "cluster": f"c{n}"}},
    }  # fmt: skip


def labelled(path: Path, n: int = 30) -> Path:
    return write(path, *(row(i, wrong=wrong) for i in range(n) for wrong in (False, True)))


def test_a_threshold_is_fitted_and_used(run: Run, tmp_path: Path) -> None:
    rows, out = labelled(tmp_path / "rows.jsonl"), tmp_path / "out"
    command = ("calibrate", "detectors", rows, "--detectors", "rouge", "--draws", "100", "--out", out)
    done = run(*command)
    assert done.code == 0 and "60 answers, 30 with the error, 30 questions\nLoss 0.0" in done.out, done
    assert "60 rows read as Eirene rows with labels: 60 labelled answers" in done.err
    assert "not fitted: coverage: no labels" in done.err
    first = (out / "calibration.json").read_bytes()
    assert_error(run(*command), "exists already")
    assert run(*command, "--force").code == 0 and (out / "calibration.json").read_bytes() == first

    flags = ("--detectors", "rouge,calibrated", "--calibration", out / "calibration.json")
    assert run("score", rows, "--out", tmp_path / "scores.jsonl", *flags).code == 0
    scores = [json.loads(line)["scores"]["calibrated"] for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    called = [found["hallucination"] >= 0.5 for found in scores]
    assert sum(called[1::2]) > 25 and sum(called[::2]) < 5  # the rows are right and wrong by turns
    signature = run("refine", write(tmp_path / "r.json", GIVEN), "--json", *flags).record["signature"]
    digest = json.loads(run(*command, "--force", "--json").out)
    assert "calibrated:" in signature and digest["detectors"]["rouge"] in signature


def test_another_fit_is_another_signature(run: Run, tmp_path: Path) -> None:
    rows, given = labelled(tmp_path / "rows.jsonl"), write(tmp_path / "r.json", GIVEN)
    signatures = []
    for shift in (0, 1):
        out = tmp_path / str(shift)
        flags = ("--detectors", "rouge", "--draws", "50", "--out", out, "--json")
        assert run("calibrate", "detectors", rows, *flags).code == 0
        file = out / "calibration.json"
        value = json.loads(file.read_text("utf-8"))
        value["errors"]["hallucination"]["threshold"] += shift  # another fit
        file.write_text(json.dumps(value), "utf-8")
        found = run("refine", given, "--json", "--detectors", "calibrated", "--calibration", file)
        signatures.append(found.record["signature"])
    assert len(set(signatures)) == 2


def test_what_cannot_be_used_is_refused_in_a_line(run: Run, tmp_path: Path) -> None:
    given, out = write(tmp_path / "r.json", GIVEN), tmp_path / "out"
    few = labelled(tmp_path / "few.jsonl", 6)
    assert_error(run("refine", given, "--detectors", "calibrated"), "with --calibration FILE")
    assert_error(run("refine", given, "--calibration", given), "is no calibration")
    assert_error(run("refine", given, "--calibration", tmp_path / "none.json"), "none.json")
    command = ("calibrate", "detectors", few, "--out", out)
    assert_error(run(*command, "--folds", "1"), "folds must be from 2 to 100")
    assert_error(run(*command, "--detectors", "rouges"), "unknown detector 'rouges'")
    assert_error(
        run(*command, "--detectors", "calibrated"),
        "other detectors than `calibrated`",
    )
    refused = run(*command, "--detectors", "rouge")
    assert refused.code == 2 and "6 answers with the error and 6 without, 20 of each are needed" in refused.err
    assert not (out / "calibration.json").exists()


def test_a_file_that_nothing_uses_is_warned_of(run: Run, tmp_path: Path) -> None:
    rows, out = labelled(tmp_path / "rows.jsonl"), tmp_path / "out"
    assert run("calibrate", "detectors", rows, "--detectors", "rouge", "--draws", "50", "--out", out).code == 0
    done = run("refine", write(tmp_path / "r.json", GIVEN), "--calibration", out / "calibration.json", "--json")
    assert done.code == 0 and "--calibration is not used" in done.err


def judge(request: ScriptedRequest, index: int) -> ScriptedReply:
    """One of five polls finds what is wrong: far from one half, and always right."""
    return f"Poll {index}.\n\nVerdict: {'yes' if 'walrus' in request.text and index == 0 else 'no'}"


@pytest.mark.usefixtures("loopback")
def test_a_judge_is_calibrated_and_polled_once_beside_its_calibration(run: Run, tmp_path: Path) -> None:
    rows, out = labelled(tmp_path / "rows.jsonl", 20), tmp_path / "out"
    with LoopbackServer(judge) as server:
        flags = ("--judge", "openai:j", "--base-url", server.base_url)
        done = run("calibrate", "detectors", rows, "--detectors", "chainpoll", "--draws", "100", "--out", out, *flags)
        assert done.code == 0 and "Loss 0.000" in done.out, done
        asked = server.calls
        both = ("--detectors", "chainpoll,calibrated", "--calibration", out / "calibration.json", *flags)
        assert run("score", write(tmp_path / "one.jsonl", row(0, wrong=True)), "--out", "-", *both).code == 0
        assert server.calls == asked + 1
        other = run("score", rows, "--out", "-", *both, "--polls", "7")
    assert_error(other, "run it as it was then, or fit anew")


def test_the_gate_is_calibrated_on_judged_rewrites_and_says_so_in_a_record(run: Run, tmp_path: Path) -> None:
    passage = "Applications are open until 31 March. The fund pays at most 500 euros."
    right, wrong = "You can apply until 31 March.", "You can apply until 30 June."
    given = {"question": "Until when?", "context": [passage], "id": "other fields are passed over"}
    better = {**given, "before": wrong, "after": right, "better": True}
    worse = {**given, "before": right, "after": wrong, "better": False}
    rows, out = write(tmp_path / "judged.jsonl", *[better] * 25, *[worse] * 5), tmp_path / "gate.json"
    done = run("calibrate", "gate", rows, "--out", out, "--json")
    assert done.code == 0 and json.loads(done.out)["0.05"] < 0.9, done
    assert json.loads(done.out)["0.02"] is None  # (1 + 0) / 25 is more
    assert_error(run("calibrate", "gate", rows, "--out", out), "exists already")
    item = {"question": "Until when?", "answer": wrong, "context": [passage]}
    record = run("refine", write(tmp_path / "item.json", item), "--json", "--calibration", out)
    assert record.code == 0 and "25 better" in json.loads(out.read_text("utf-8"))["name"]
    few = write(tmp_path / "few.jsonl", {**better, "better": "yes"})
    assert_error(run("calibrate", "gate", few, "--out", tmp_path / "x"), "line 1: 'better' must be")
    unjudged = {name: text for name, text in better.items() if name != "better"}
    for some, what in (((unjudged,), "line 1: 'better' is missing"), ((), "is empty; give at least one row")):
        found = run("calibrate", "gate", write(few, *some), "--out", tmp_path / "x")
        assert_error(found, "; a judged rewrite has 'question', 'context', 'before', 'after', and 'better': true or")
        assert what in found.err
    other = json.loads(out.read_text("utf-8")) | {"fit": "0"}
    assert_error(
        run("refine", tmp_path / "item.json", "--calibration", write(tmp_path / "o.json", other)), "another fit"
    )
