"""The pages on NPOV responses and synthetic answers do what they say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from eirene.data.topics import parse_topic

ROOT = Path(__file__).parents[1]


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)


def test_the_code_on_npov_writes_a_response_that_the_loop_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks("npov.md"):
        exec(compile(block, "docs/npov.md", "exec"), names)
    assert names["record"].status == "complete"
    assert capsys.readouterr().out.splitlines()[-1].startswith("car-free-centres 0.7")


def test_the_code_on_synthetic_answers_makes_rows_and_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks("synth.md"):
        exec(compile(block, "docs/synth.md", "exec"), names)
    assert names["rows"]
    assert {pair["task"] for pair in names["pairs"]} == {"hallucination", "coverage", "generate"}


def test_the_topic_on_the_page_is_one() -> None:
    page = (ROOT / "docs" / "npov.md").read_text("utf-8")
    found = re.search(r'^    (\{"id": "wild-wolves".*?"meta": \{\}\})$', page, re.MULTILINE | re.DOTALL)
    assert found is not None
    import json

    assert [side.speakers for side in parse_topic(json.loads(found[1])).sides] == ["conservationists", "farmers"]
