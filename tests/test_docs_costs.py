"""The page on costs does what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eirene.models.costs import read_prices

PAGE = (Path(__file__).parent.parent / "docs" / "costs.md").read_text("utf-8")


def test_the_pages_code_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the cache runs, and prints the two lines below it."""
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "docs/costs.md", "exec"), names)
    (said,) = re.findall(r"^It prints (.*)\.$", PAGE, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == re.findall(r"`([^`]+)`", said)


def test_the_pages_prices_can_be_read(tmp_path: Path) -> None:
    """The example of a price file is one."""
    (block,) = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "prices.toml").write_text(block, encoding="utf-8")
    prices = read_prices(str(tmp_path / "prices.toml"))
    small, own = prices.of("openai:gpt-4o-mini"), prices.of("ollama:llama3.2")
    assert small is not None and small.cached_usd == 0.075
    assert own is not None and own.input_usd == 0
