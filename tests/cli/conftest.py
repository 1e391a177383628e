"""The command line as a fixture; its log handler goes when the test ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from recipes.train.__main__ import main as train_main
from tests.cli.run import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("COLUMNS", "80")
    root = logging.getLogger()
    before, level = list(root.handlers), logging.getLogger("eirene").level
    yield Run(capsys, monkeypatch)
    root.handlers[:] = before
    logging.getLogger("eirene").setLevel(level)


@pytest.fixture
def train(run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """`python -m recipes.train`."""
    return Run(capsys, monkeypatch, train_main)
