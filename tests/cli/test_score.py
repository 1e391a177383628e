"""`eirene score`: a line of scores per row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from eirene.scores import Scores
from tests.cli.run import EXAMPLES, GIVEN, Run, write


def test_every_row_gets_a_line_of_scores(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    result = run("score", EXAMPLES / "npov.jsonl", "--out", out)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    ids = [json.loads(line)["id"] for line in (EXAMPLES / "npov.jsonl").read_text(encoding="utf-8").splitlines()]
    assert (result.code, result.out) == (0, "")
    assert [row["id"] for row in rows] == ids
    for row in rows:
        assert list(row) == ["id", "scores"]
        assert list(row["scores"]) == ["rouge", "alignment"]
        assert all(Scores.model_validate(s) for s in row["scores"].values())


def test_standard_output_holds_the_lines_alone(run: Run) -> None:
    result = run("score", "-", "--detectors", "rouge", "--out", "-", stdin=json.dumps({**GIVEN, "id": "z"}).encode())
    assert json.loads(result.out)["id"] == "z"
    assert result.err == "scored 1 row\n"


def test_an_answer_with_nothing_given_is_unscored_and_says_why(run: Run) -> None:
    row = json.dumps({"question": "Why?", "answer": "Because."}).encode()
    scores = json.loads(run("score", "-", "--detectors", "rouge", "--out", "-", stdin=row).out)["scores"]
    assert scores["rouge"]["hallucination"]["unscored"]


def start(path: Path, out: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "eirene", "score", str(path), "--detectors", "rouge", "--out", out]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ctrl_c_keeps_what_was_finished(tmp_path: Path) -> None:
    """The output is a pipe, which holds a few hundred lines: the command cannot be done before the signal comes."""
    path = write(tmp_path / "rows.jsonl", *({**GIVEN, "id": str(n)} for n in range(3000)))
    os.mkfifo(tmp_path / "out")
    process = start(path, str(tmp_path / "out"))
    with open(tmp_path / "out", "rb") as out:
        first = out.readline()
        process.send_signal(signal.SIGINT)
        lines = [first, *out]
    _, err = process.communicate()
    assert (process.returncode, err) == (130, b"stopped\n")
    assert [json.loads(line)["id"] for line in lines] == [str(n) for n in range(len(lines))]
    assert len(lines) < 3000


def test_a_reader_that_goes_away_ends_the_command_quietly(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", *({**GIVEN, "id": str(n)} for n in range(3000)))
    process = start(path, "-")
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), err) == (141, b"")
