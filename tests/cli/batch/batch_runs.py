"""Rows, a scripted server and the console script, for the tests of `eirene batch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.cli.run import write

ANSWER = "Supporters of zoo {n} say that zoos teach children about animals."
STARTED: list[subprocess.Popen[str]] = []
"""What `start` has started, for a fixture to end."""
ADDED = " Opponents of zoos say that cages make animals suffer."


def rows(n: int, **more: Any) -> list[dict[str, Any]]:
    given = [
        {"name": "pro", "arguments": ["Zoos teach children about animals."]},
        {"name": "con", "arguments": ["Cages make animals suffer."]},
    ]
    return [
        {"id": f"row-{at}", "question": f"Should zoo {at} be closed?", "answer": ANSWER.format(n=at),
         "perspectives": given, **more}
        for at in range(n)
    ]  # fmt: skip


def data(folder: Path, n: int, **more: Any) -> Path:
    return write(folder / "in.jsonl", *rows(n, **more))


def row_of(request: ScriptedRequest) -> str:
    """Which row a request is about."""
    return "row-" + request.text.split("Should zoo ")[1].split()[0]


def rewrite(request: ScriptedRequest, _: int = 0) -> str:
    """A rewrite that adds what is missing."""
    return ANSWER.format(n=row_of(request).removeprefix("row-")) + ADDED


def scripted(**by_row: ScriptedReply) -> Callable[[ScriptedRequest, int], ScriptedReply]:
    """A script that answers some rows (`row_3=...`) with something else."""
    named = {name.replace("_", "-"): outcome for name, outcome in by_row.items()}
    return lambda request, index: named.get(row_of(request)) or rewrite(request, index)


def flags(server: LoopbackServer, file: Path, out: Path, *more: str) -> list[str]:
    return ["batch", str(file), "--out", str(out), "--backend", "openai:test", "--base-url", server.base_url,
            "--mode", "improve", "--max-rounds", "1", *more]  # fmt: skip


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def ids(out: Path) -> Counter[str]:
    return Counter(line["id"] for line in lines(out))


def start(arguments: list[str], **more: Any) -> subprocess.Popen[str]:
    """The console script, as a process that Ctrl-C reaches."""
    process = subprocess.Popen(
        [str(Path(sys.executable).with_name("eirene")), *arguments], text=True, env={**os.environ, "COLUMNS": "200"},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )  # fmt: skip
    STARTED.append(process)
    return process


def wait_for(what: Callable[[], bool], *, process: subprocess.Popen[str]) -> None:
    """Until it is so, or the process has ended."""
    while not what() and process.poll() is None:
        time.sleep(0.01)
    assert process.poll() is None, process.stderr.read() if process.stderr else ""


def end(process: subprocess.Popen[str], number: int | None = None) -> tuple[int, str]:
    """Sends a signal and waits: the exit code, and standard error."""
    if number is not None:
        process.send_signal(number)
    _, said = process.communicate(timeout=120)
    return process.returncode, said


INTERRUPT, TERMINATE, HANGUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
