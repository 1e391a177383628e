"""`python -m recipes.encoder`: what it asks for before it begins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recipes.encoder.__main__ import main
from tests.cli.run import Run, assert_error
from tests.rows import each


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch, main)


@each(
    "flags, said",
    [
        (("--seeds", "0,one"), "seeds must be integers"),
        (("--seeds", "0,0"), "seeds must be distinct"),
        (("--max-steps", "-1"), "max-steps must be at least 0"),
    ],
)
def test_bad_flags_say_what_to_change(flags: tuple[str, ...], said: str, run: Run, tmp_path: Path) -> None:
    (tmp_path / "topics_train.jsonl").write_text("")
    assert_error(run("--data", tmp_path, "--out", tmp_path / "out", *flags), said)


def test_the_data_and_the_folder_must_be_usable(run: Run, tmp_path: Path) -> None:
    assert_error(run("--data", tmp_path, "--out", tmp_path), "no file topics_train.jsonl")
    (tmp_path / "topics_train.jsonl").write_text("")
    (tmp_path / "file").write_text("")
    assert_error(run("--data", tmp_path, "--out", tmp_path / "file"), "is a file; name a folder")
    assert_error(run("--data", tmp_path, "--out", "/proc/nix"), "cannot be used as a folder")
    assert_error(run("--out", tmp_path), "missing option '--data'")


def test_a_missing_extra_names_its_install_command(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "topics_train.jsonl").write_text("")
    monkeypatch.setitem(sys.modules, "peft", None)  # what Python itself keeps for a module that is not to be had
    assert_error(run("--data", tmp_path, "--out", tmp_path / "out"), "pip install 'eirene[train]'")
