"""The line of progress of `eirene refine`, for who sits at a terminal."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import pytest

from tests.cli.run import GIVEN

pty = pytest.importorskip("pty", reason="no terminals on this system")


def shown(terminal: int, word: str) -> str:
    """What comes out at a terminal, up to a word."""
    came = ""
    with contextlib.suppress(OSError):  # the other end is closed
        while word not in came:
            came += os.read(terminal, 65536).decode("utf-8", "replace")
    return came


def test_progress_is_shown_before_anything_is_read_and_while_a_long_answer_is_worked_at() -> None:
    terminal, other_end = pty.openpty()
    long = {**GIVEN, "answer": " ".join(f"Town {n} has trams and wants more of them." for n in range(14_000))}
    command = [sys.executable, "-m", "eirene", "refine", "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=other_end, env={**os.environ, "TERM": "xterm"}
    ) as process:
        try:
            os.close(other_end)
            assert process.stdin is not None
            assert "loading" in shown(terminal, "loading")
            process.stdin.write(json.dumps(long).encode())
            process.stdin.close()
            assert "drawing critiques" in shown(terminal, "drawing critiques")
            assert process.poll() is None
        finally:
            process.kill()
            os.close(terminal)
