"""The documents on detectors: their code runs, and they leave no detector and no labelled set out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eirene.eval.datasets import FORMS
from eirene.eval.registry import DETECTORS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("name", ["detectors.md", "evaluating_detectors.md"])
def test_the_code_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text("utf-8"), re.DOTALL)
    for block in blocks:
        exec(block, {})
    assert blocks and capsys.readouterr().out


def test_every_detector_stands_in_the_table() -> None:
    text = (DOCS / "detectors.md").read_text("utf-8")
    table = text.split("## One interface")[1].split("## ")[0]
    assert [name for name in DETECTORS if f"`{name}`" not in table] == []


def test_every_labelled_set_stands_in_the_table() -> None:
    text = (DOCS / "evaluating_detectors.md").read_text("utf-8")
    table = text.split("## Labelled sets")[1].split("## ")[0]
    assert [form.name for form in FORMS if f"| {form.name}" not in table] == []


def test_the_results_page_can_be_written_again() -> None:
    """The markers between which benchmarks/results.py writes are there, once each."""
    text = (DOCS / "results.md").read_text("utf-8")
    assert [text.count(f"<!-- detectors: {word}") for word in ("written by", "end")] == [1, 1]
