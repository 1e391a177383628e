"""The page on the loop does what it says of a person in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pytest

from eirene.core.critique import Action, Review

PAGE = (Path(__file__).parent.parent / "docs" / "loop.md").read_text("utf-8")
SECTION = PAGE.partition("## A person in the loop")[2].partition("\n## ")[0]


def test_the_example_stops_at_the_question_and_goes_on_with_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"^```python\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "docs/loop.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == re.findall(r"^It prints `([^`]+)`", SECTION, re.MULTILINE)


def test_the_page_names_every_action_and_every_key_of_an_answer() -> None:
    assert re.findall(r"^\| `([a-z ]+)` \|", SECTION, re.MULTILINE)[1:] == list(get_args(Action))
    assert all(f"`{name}`" in SECTION for name in Review.model_fields)
