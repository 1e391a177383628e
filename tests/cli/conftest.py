"""The command line as a fixture; its log handler goes when the test ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.cli.run import Run


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("COLUMNS", "80")
    root = logging.getLogger()
    before, level = list(root.handlers), logging.getLogger("eirene").level
    yield Run(capsys, monkeypatch)
    root.handlers[:] = before
    logging.getLogger("eirene").setLevel(level)
