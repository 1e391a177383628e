"""The page on backends does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "backends.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, "docs/backends.md", "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert said == re.findall(r"^It prints `([^`]+)`", PAGE, re.MULTILINE)


def test_another_feedback_model_takes_no_more_than_20_lines() -> None:
    body = re.search(r"^class .*?(?=^\S)", BLOCKS[0].partition("\nparts =")[0] + "\nend", re.MULTILINE | re.DOTALL)
    assert body is not None
    assert len([line for line in body.group().splitlines() if line.strip()]) <= 20
