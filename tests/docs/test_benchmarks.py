"""The scripts in `benchmarks/`: what they import of ours is there, and each says how it is run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.source_tree import imports_of

from .pages import ROOT, is_there

SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_what_it_imports_of_ours_is_there(script: Path) -> None:
    wanted = [
        f"{module}.{name}" if name else module
        for module, name in imports_of(script.read_text("utf-8"), script.stem, is_package=False)
        if module.split(".")[0] == "eirene"
    ]
    assert [name for name in wanted if not is_there(name)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=[script.stem for script in SCRIPTS])
def test_it_says_what_it_does(script: Path) -> None:
    assert ast.get_docstring(ast.parse(script.read_text("utf-8")))
