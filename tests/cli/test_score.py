"""`eirene score`: a line of scores per row."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.core.scores import Scores
from eirene.eval import detectors, registry
from eirene.eval.base import MODEL_NEEDS, RESOURCE_NEEDS
from eirene.eval.registry import DETECTORS
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write
from tests.scripted_parts import ScriptedDetector


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
    done = run("score", "-", "--detectors", "rouge", "--out", "-", stdin=row)
    assert json.loads(done.out)["scores"]["rouge"]["hallucination"]["unscored"]
    assert done.code == 1
    assert done.err.startswith("error: no row of 1 was scored: rouge: no content words")


def test_a_detector_that_scored_no_row_is_named_beside_those_that_did(run: Run, tmp_path: Path) -> None:
    """With another detector's scores there the command did what it was asked for; the empty column is said."""
    out = tmp_path / "scores.jsonl"
    done = run("score", EXAMPLES / "npov.jsonl", "--detectors", "rouge,selfcheck-ngram", "--out", out)
    assert done.code == 0
    assert "warning: no row was scored by selfcheck-ngram: needs other answers" in done.err
    assert "rouge" not in done.err.partition("warning")[2]


def test_a_detector_without_its_model_is_an_error_before_any_row_is_read(run: Run, tmp_path: Path) -> None:
    """By the registry's own word on what each needs: one line with the option, and no file."""
    for name in [name for name, entry in DETECTORS.items() if entry.needs & MODEL_NEEDS & RESOURCE_NEEDS]:
        out = tmp_path / "scores.jsonl"
        assert_error(run("score", "-", "--detectors", f"rouge,{name}", "--out", out, stdin=b"{"), f"{name!r} needs a")
        assert not out.exists()


OWN = """
from eirene.core.scores import Scores, Unscored
from eirene.eval.base import NOTHING
from eirene.eval.registry import detector
from tests.scripted_parts import ScriptedDetector


class Shouting:
    name, needs, version = "shouting", NOTHING, "1"

    async def score(self, case, *, meter):
        capitals = sum(map(str.isupper, case.answer)) / len(case.answer)
        return Scores(hallucination=capitals, coverage=Unscored(unscored="looks at capitals"))


@detector("shouting", needs=NOTHING, about="share of capitals")
def build(resources):
    return Shouting()
"""


@pytest.fixture
def own_detector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file more among the detectors, and no other line."""
    (tmp_path / "detectors").mkdir()
    (tmp_path / "detectors/shouting.py").write_text(OWN, encoding="utf-8")
    monkeypatch.setattr(registry, "_declared", {**DETECTORS})
    monkeypatch.setattr(registry, "_declared", {**DETECTORS})
    monkeypatch.setattr(detectors, "__path__", [*detectors.__path__, str(tmp_path / "detectors")])
    yield
    sys.modules.pop(f"{detectors.__name__}.shouting", None)


@pytest.mark.usefixtures("own_detector")
def test_a_new_file_among_the_detectors_is_a_detector_of_every_command(run: Run, tmp_path: Path) -> None:
    row = json.dumps({**GIVEN, "answer": "HALF half"}).encode()
    done = run("score", "-", "--detectors", "shouting,rouge", "--out", "-", stdin=row)
    assert json.loads(done.out)["scores"]["shouting"]["hallucination"] == pytest.approx(4 / 9)
    assert "shouting" in run("score", "-", "--detectors", "nope", "--out", "-", stdin=row).err
    refined = run("refine", "-", "--detectors", "rouge,shouting", "--json", stdin=row)
    assert "shouting" in json.loads(refined.out)["scores"]["original"]


def test_two_detectors_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two detectors are called 'rouge'"):
        registry.detector("rouge", needs=frozenset(), about="another")(lambda _: ScriptedDetector({}, name="rouge"))


def test_detectors_of_other_packages_are_found_and_a_broken_one_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    info = tmp_path / "plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin\nVersion: 1\n", encoding="utf-8")
    points = "[eirene.detectors]\nshouting = own_plugin\nbroken = no_such_plugin\n"
    (info / "entry_points.txt").write_text(points, encoding="utf-8")
    (tmp_path / "own_plugin.py").write_text(OWN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_declared", {**DETECTORS})
    registry._load_plugins.cache_clear()
    with caplog.at_level("WARNING", logger="eirene"):
        assert DETECTORS["shouting"].about == "share of capitals"
    assert "no_such_plugin could not be loaded" in caplog.text
    sys.modules.pop("own_plugin")


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
