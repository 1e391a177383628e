"""Docstrings, comments and prompts: every file and every dotted name of ours that they speak of is there."""

from __future__ import annotations

import re

import pytest

from eirene.eval.registry import PLUGINS

from .pages import ROOT, is_there

SOURCES = [
    path
    for folder, ending in (("eirene", "py"), ("eirene", "md"), ("benchmarks", "py"), ("recipes", "py"), ("tests", "py"))
    for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
]
SPOKEN_OF_AS_GONE = {"tests/test_architecture.py"}
PATHS = re.compile(r"\b(?:docs|benchmarks|examples|eirene|recipes|tests)/[\w./-]+\.(?:py|md|json|jsonl|toml)\b")
NAMES = re.compile(r"`(eirene(?:\.[A-Za-z_]\w*)+)`")


@pytest.mark.parametrize("folder", ["eirene", "benchmarks", "recipes", "tests"])
def test_every_file_that_is_named_is_there(folder: str) -> None:
    gone = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if path.is_relative_to(ROOT / folder) and str(path.relative_to(ROOT)) not in SPOKEN_OF_AS_GONE
        for name in PATHS.findall(path.read_text("utf-8"))
        if not (ROOT / name).exists()
    }
    assert gone == set()


def test_every_dotted_name_is_there() -> None:
    named = {
        (name, str(path.relative_to(ROOT)))
        for path in SOURCES
        if str(path.relative_to(ROOT)) not in SPOKEN_OF_AS_GONE
        for name in NAMES.findall(path.read_text("utf-8"))
    }
    there = {name: name == PLUGINS or is_there(name) for name, _ in named}
    assert [f"{path}: {name}" for name, path in sorted(named) if not there[name]] == []
