"""The command line as a fixture; its log handler goes when the test ends."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from tests.cli.run import Run

QUIETED = (
    "eirene.agent.nodes", "eirene.models", "eirene.models.failures", "eirene.eval", "eirene.feedback_model",
    "eirene.refiners", "uvicorn",
)  # fmt: skip
"""The loggers that `serve` makes quiet."""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("COLUMNS", "80")
    root = logging.getLogger()
    before, levels = list(root.handlers), {name: logging.getLogger(name).level for name in ("eirene", *QUIETED)}
    yield Run(capsys, monkeypatch)
    root.handlers[:] = before
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
