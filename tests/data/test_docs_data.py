"""What docs/data.md shows runs, and what it names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eirene.data.published import READERS

PAGE = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


def test_the_page_in_python_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"Why {n}?,So.\n" for n in range(150))
    Path("table.csv").write_text(f"prompt,response\n{rows}")
    block = PAGE.split("## In Python")[1]
    code = "\n".join(line.removeprefix("    ") for line in block.splitlines() if line.startswith("    "))
    exec(code, {})
    assert capsys.readouterr().out == "100\n"


def test_every_reader_has_its_line() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| ", PAGE.split("## Published sets")[1], re.MULTILINE)) == set(READERS)
