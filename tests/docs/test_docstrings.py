"""Docstrings, comments and prompts speak of files and names that are there; each script says what it does."""

from __future__ import annotations

import ast
import re

from eirene.eval.registry import PLUGINS
from tests.source_tree import imports_of

from .pages import ROOT, is_there

SOURCES = [
    path
    for folder, ending in (("eirene", "py"), ("eirene", "md"), ("benchmarks", "py"), ("recipes", "py"), ("tests", "py"))
    for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
]
SPOKEN_OF_AS_GONE = {"tests/test_architecture.py"}
PATHS = re.compile(r"\b(?:docs|benchmarks|examples|eirene|recipes|tests)/[\w./-]+\.(?:py|md|json|jsonl|toml)\b")
NAMES = re.compile(r"`(eirene(?:\.[A-Za-z_]\w*)+)`")


def test_every_file_that_is_named_is_there() -> None:
    gone = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        if str(path.relative_to(ROOT)) not in SPOKEN_OF_AS_GONE
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


SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py"))


def test_what_a_benchmark_imports_of_ours_is_there() -> None:
    """Benchmarks run by hand: nothing else would tell."""
    wanted = {
        (f"{module}.{name}" if name else module, str(script.relative_to(ROOT)))
        for script in SCRIPTS
        for module, name in imports_of(script.read_text("utf-8"), script.stem, is_package=False)
        if module.split(".")[0] == "eirene"
    }
    assert [f"{path}: {name}" for name, path in sorted(wanted) if not is_there(name)] == []


def test_every_benchmark_says_what_it_does() -> None:
    assert [str(path) for path in SCRIPTS if not ast.get_docstring(ast.parse(path.read_text("utf-8")))] == []
