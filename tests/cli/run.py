"""The command line, called as a function."""

from __future__ import annotations

import functools
import io
import json
import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer

from eirene.cli import main
from tests.conftest import IS_LIGHT

EXAMPLES = Path(__file__).parents[2] / "examples"
GIVEN = {
    "question": "Should zoos be closed?",
    "answer": "Supporters of zoos say that zoos teach children about animals.",
    "perspectives": [
        {"name": "pro", "arguments": ["Cages make animals suffer."]},
        {"name": "con", "arguments": ["Zoos teach children about animals."]},
    ],
}


ANEW = typer.main.get_command
ONCE = functools.cache(ANEW)
"""Typer makes its commands of 600 flags at every call, which takes longer than most of them."""
HELP = {"--help", "-h", "--help-all"}
"""What a command shows for one of these hides flags for good."""


@dataclass(frozen=True)
class Result:
    """Exit code, standard output and standard error of one command."""

    code: int
    out: str
    err: str

    @property
    def record(self) -> dict[str, Any]:
        """The one record on standard output."""
        record: dict[str, Any] = json.loads(self.out)
        return record


class Run:
    """Calls a command line with arguments and, optionally, bytes on standard input."""

    def __init__(
        self,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        main: Callable[[Sequence[str]], int] = main,
    ) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        self._main = main

    def __call__(self, *arguments: str | Path, stdin: bytes = b"") -> Result:
        self._monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        self._monkeypatch.setattr("eirene.cli.progress._FIRST_S", math.inf)  # a slow machine says no more
        self._monkeypatch.setattr(typer.main, "get_command", ANEW if HELP & {*arguments} else ONCE)
        code = self._main([str(a) for a in arguments])
        for name in [name for name in logging.root.manager.loggerDict if name.startswith(("eirene.", "uvicorn"))]:
            logging.getLogger(name).setLevel(logging.NOTSET)  # `serve` makes some quiet, in this process
        captured = self._capsys.readouterr()
        if IS_LIGHT and code == 2 and "this needs the package" in captured.err:
            pytest.skip(captured.err)
        return Result(code, captured.out, captured.err)


def assert_error(result: Result, said: str) -> None:
    """Exit code 2, nothing on standard output, one line on standard error that begins with `error: `."""
    assert (result.code, result.out) == (2, ""), result
    assert result.err.startswith("error: ")
    assert result.err.count("\n") == 1
    assert "Traceback" not in result.err
    assert said in result.err


def write(path: Path, *rows: object) -> Path:
    """A JSON Lines file."""
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path
