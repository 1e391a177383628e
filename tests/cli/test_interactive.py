"""`eirene refine --interactive` in a real terminal, and how it refuses to start where nobody can be asked."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from eirene.core.records import Record
from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write

pexpect = pytest.importorskip("pexpect")

FILE = EXAMPLES / "dropped-argument.json"
EDITING = "editing"


class Terminal:
    """The console script in a pseudo-terminal of 80 columns."""

    def __init__(self, *arguments: str | Path, out: Path | None = None, editor: str = "true") -> None:
        script = Path(sysconfig.get_path("scripts")) / "eirene"
        command = [sys.executable, str(script), "refine", *(str(a) for a in arguments), "--interactive"]
        if out is not None:
            command = ["/bin/sh", "-c", 'out=$1; shift; exec "$@" > "$out"', "sh", str(out), *command]
        environment = {
            **os.environ,
            "TERM": "xterm",
            "OMP_NUM_THREADS": "1",
            "PYTHONIOENCODING": "utf-8",
            "INPUTRC": "/dev/null",
            "VISUAL": editor,
        }
        self.child = pexpect.spawn(
            command[0], command[1:], env=environment, dimensions=(60, 80), encoding="utf-8", timeout=60
        )

    def until(self, text: str = EDITING) -> str:
        """Waits for the text; what came before it, without colours and what the terminal is told about pasting."""
        self.child.expect_exact(text)
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.child.before).replace("\r\n", "\n")

    def type(self, line: str) -> None:
        self.child.sendline(line)

    def end(self) -> str:
        """Everything up to the end of the program."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.child.before).replace("\r\n", "\n")

    @property
    def code(self) -> int | None:
        return self.child.exitstatus  # type: ignore[no-any-return]  # pexpect has no types


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Any]:
    """Starts the program with an editor that shows the file, waits if it is to, and makes edits for `sed`."""
    started: list[Terminal] = []
    script, edits_file = tmp_path / "editor.sh", tmp_path / "edits.sed"

    def start(
        *arguments: str | Path, out: Path | None = None, edits: Sequence[str] = (), wait: bool = False
    ) -> Terminal:
        edits_file.write_text("\n".join(edits), encoding="utf-8")
        trap, waits = ("trap : INT", "read line || read line") if wait else (":", ":")
        edit = f'cat "$1"\necho {EDITING}\n{waits}\nsed -i -f {edits_file} "$1"'
        script.write_text(f"#!/bin/sh\n{trap}\n{edit}\n", encoding="utf-8")
        script.chmod(0o755)
        started.append(Terminal(*arguments, out=out, editor=str(script)))
        return started[-1]

    yield start
    for each in started:
        each.child.close(force=True)


def test_a_person_changes_a_reason_and_the_record_says_so(terminal: Any, tmp_path: Path) -> None:
    """The record goes to a file, the editor to the terminal; the reason reaches the rewrite."""
    run = terminal(
        FILE, "--json", out=tmp_path / "record.json", edits=["s/^2 .*/2 Incomplete: remove this — “ünnötig”/"]
    )
    shown = " ".join(run.until().replace("#", "").split())
    assert "missing here, 18/20" in shown and "One commuting day less" in shown
    assert "The embedded refiner follows a reason that names a given argument" in shown
    run.end()
    assert run.code == 0
    record = Record.model_validate_json((tmp_path / "record.json").read_text("utf-8"))
    critique = record.rounds[0].critique
    assert critique is not None and critique.review is not None
    assert critique.sentences[1].reason == critique.review.replace[0].reason == "remove this — “ünnötig”"
    assert critique.sentences[1].findings == ()
    assert record.rounds[0].candidate is not None and "parents and carers" not in record.rounds[0].candidate


def test_who_leaves_comes_back_to_the_question_with_the_same_command(terminal: Any, tmp_path: Path) -> None:
    checkpoint = ("--checkpoint", tmp_path / "runs.sqlite")
    run = terminal(FILE, *checkpoint, edits=["d"])  # an empty file
    assert "stopped; the same command comes back to this question" in run.end()
    assert run.code == 130

    run = terminal(FILE, *checkpoint, edits=["/^2 /s/$/ Say since when./"])
    shown = run.until()
    assert "was left at this question" in shown and "missing here" in shown
    shown = run.end()
    assert run.code == 0
    assert "reasons changed by a person: 1 added" in " ".join(shown.split())


@pytest.mark.slow
def test_a_killed_run_comes_back_as_well_and_a_finished_one_is_shown_again(terminal: Any, tmp_path: Path) -> None:
    checkpoint = ("--checkpoint", tmp_path / "runs.sqlite")
    run = terminal(FILE, *checkpoint, wait=True)
    run.until()
    os.kill(run.child.pid, signal.SIGKILL)
    run.type("done")
    run.end()

    run = terminal(FILE, *checkpoint, edits=["$a keep the original"])
    assert "was left at this question" in run.until()
    shown = run.end()
    assert run.code == 0 and "FLAGGED" in shown and "warning" not in shown

    again = terminal(FILE, *checkpoint).end()
    assert "was finished before, and its record is shown again" in " ".join(again.split())
    assert again.endswith(shown[shown.index("Outcome") :])


@pytest.mark.slow
def test_ctrl_c_in_the_editor_is_the_editors(terminal: Any) -> None:
    """As at `git commit`: the program waits for the editor's end, and reads what it left."""
    run = terminal(FILE, "--json", edits=["s/^2 .*/2 Incomplete: Mine./"], wait=True)
    run.until()
    run.child.sendintr()
    run.type("done")
    record = json.loads(run.end().strip().splitlines()[-1])
    assert record["rounds"][0]["critique"]["sentences"][1]["reason"] == "Mine."


@pytest.mark.slow
def test_mode_human_takes_its_notes_in_the_editor(terminal: Any) -> None:
    long = "very " * 1_000 + "long"
    run = terminal("--mode", "human", "--question", "Why?", "--answer", "Because. It is so.", "--json",
                   edits=[f"s/^2 .*/2 Incomplete: {long}/"])  # fmt: skip
    assert "Nobody has judged these sentences yet" in " ".join(run.until().split())
    record = json.loads(run.end().strip().splitlines()[-1])
    assert record["rounds"][0]["critique"]["sentences"][1]["reason"] == long


@pytest.mark.slow
def test_two_runs_cannot_hold_one_checkpoint_file(terminal: Any, tmp_path: Path) -> None:
    checkpoint = ("--checkpoint", tmp_path / "runs.sqlite")
    first = terminal(FILE, *checkpoint, edits=["$a keep the original"], wait=True)
    first.until()
    second = terminal(FILE, *checkpoint, edits=["$a keep the original"])
    assert "in use by another run" in second.end()
    assert second.code == 2
    first.type("done")
    shown = first.end()
    assert "FLAGGED" in shown and "warning" not in shown
    assert first.code == 0


def test_without_a_terminal_it_says_so_before_anything_is_done(run: Run) -> None:
    assert_error(run("refine", FILE, "--interactive", stdin=b"\n"), "asks at a terminal, and standard input is none")


def test_rows_cannot_come_from_where_the_answers_come_from(run: Run) -> None:
    assert_error(run("refine", "-", "--interactive", stdin=b"{}"), "name a file")


def test_a_checkpoint_file_goes_with_a_question(run: Run, tmp_path: Path) -> None:
    assert_error(run("refine", FILE, "--checkpoint", tmp_path / "c.sqlite"), "--checkpoint goes with --interactive")
    assert not (tmp_path / "c.sqlite").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--mode", "improve"), "mode improve has none; take fine-grained or human"),
        pytest.param(("--checkpoint", "."), "cannot be used", marks=pytest.mark.slow),
    ],
)
def test_what_cannot_work_is_refused_before_a_critique_is_drawn(
    terminal: Any, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    run = terminal(write(tmp_path / "row.jsonl", GIVEN), *arguments)
    shown = " ".join(run.end().split())
    assert said in shown and "Critique" not in shown
    assert run.code == 2
