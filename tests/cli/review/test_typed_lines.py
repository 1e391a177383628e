"""Lines from a terminal: whole, or refused in words; and how it is told that the person has gone."""

from __future__ import annotations

import io
import sys

import pytest

from eirene.cli.review.dialogue import LeftError, check_terminal, read_line
from eirene.core.errors import InputError


@pytest.fixture(autouse=True)
def _output_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The way without line editing: the record goes to a file, the prompt to standard error."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())


def typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


def test_a_line_comes_without_its_end_and_the_prompt_is_no_part_of_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed(monkeypatch, "2 — ünï 東京\n\n".encode())
    assert (read_line(), read_line()) == ("2 — ünï 東京", "")
    assert tuple(capsys.readouterr()) == ("", "review> review> ")


def test_the_end_of_input_is_no_empty_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty line has the answer rewritten; a closed terminal must not."""
    typed(monkeypatch, b"")
    with pytest.raises(LeftError):
        read_line()


def test_a_line_that_the_terminal_has_cut_off_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without line editing a terminal passes on 4,095 bytes and drops the rest without a word (N_TTY, termios(3))."""
    typed(monkeypatch, ("é" * 2047 + "\n" + "é" * 2047 + "x\n").encode())
    assert len(read_line()) == 2047
    with pytest.raises(InputError, match="cut this one off; give it in parts"):
        read_line()


def test_bytes_that_are_no_text_are_refused_and_the_next_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, b"2 \xe9\n")
    with pytest.raises(InputError, match="not in the terminal's encoding"):
        read_line()


@pytest.mark.parametrize("name", ["stdin", "stderr"])
def test_a_person_can_be_asked_only_at_a_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stderr", Terminal())
    check_terminal()
    for gone in (io.StringIO(), None):
        monkeypatch.setattr(sys, name, gone)
        with pytest.raises(InputError, match=r"asks at a terminal, and standard (input|error) is none"):
            check_terminal()
