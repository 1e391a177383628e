"""The page on wrapping does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parent.parent / "docs" / "wrapping.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_pages_code_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "page"}
    for block in BLOCKS:
        exec(compile(block, "docs/wrapping.md", "exec", dont_inherit=True), names)
    said = capsys.readouterr().out.splitlines()
    assert said == re.findall(r"^It prints `([^`]+)`", PAGE, re.MULTILINE)
