"""Imports point one way, go round in no circle, private names stay private, files stay short: read from the source."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "eirene"
MODULES = sorted(ROOT.rglob("*.py"))

PACKAGES = (
    "text",
    "core",
    "prompts",
    "data",
    "views",
    "models",
    "alignment",
    "retrieval",
    "feedback_model",
    "refiners",
    "eval",
    "npov",
    "agent",
    "synth",
    "testing",
    "cli",
)
"""From the ground up: each imports only those above it in this list. docs/architecture.md says what lives in them."""
APART = {"feedback_model", "refiners", "eval"}
"""These never import each other: a loop may be put together from any of each."""
ABOVE_ALL = {"eirene": "the front door", "eirene.__main__": "the command line's", "eirene._moved": "old names"}
OPEN = {"eirene._version", "eirene._moved"}
"""Private modules that every package may import."""

MEDIAN, NINE_TENTHS, MOST = 160, 300, 450  # lines of a file


def module_name(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


NAMES = {module_name(path) for path in MODULES}


def imports_of(source: str, module: str, *, is_package: bool) -> Iterator[tuple[str, str | None]]:
    """(module, name or None) of everything of ours that a source imports, at whatever depth and by whatever form."""
    package = module.split(".") if is_package else module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            target = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((target, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, None


def target_of(module: str, name: str | None) -> str:
    """The module that an import names: `from eirene.cli import flags` is one of `eirene.cli.flags`."""
    inner = f"{module}.{name}"
    is_package = module == "eirene" and name in PACKAGES
    return inner if name is not None and (inner in NAMES or is_package) else module


def package_of(module: str) -> str:
    """`feedback_model` of `eirene.feedback_model.vote`; empty for the files directly under eirene/."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES else ""


def faults_in(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Every import of a source that breaks a rule, as a sentence."""
    own = package_of(module)
    faults = []
    for imported, name in imports_of(source, module, is_package=is_package):
        target = target_of(imported, name)
        if target.split(".")[0] != "eirene" or target in OPEN:
            continue
        other = package_of(target)
        if not other:
            faults.append(f"{module} imports {name or 'all'} from {target}; import it from where it lives")
            continue
        is_upward = PACKAGES.index(other) > PACKAGES.index(own)
        if is_upward or (other != own and {own, other} <= APART):
            faults.append(f"{module} ({own}) imports {target} ({other})")
        if other != own and any(p.startswith("_") and not p.startswith("__") for p in [*target.split("."), name or ""]):
            faults.append(f"{module} imports the private {target}.{name}")
    return faults


def arrows() -> dict[str, set[str]]:
    """Which files each file imports, those for types alone as well."""
    found: dict[str, set[str]] = {}
    for path in MODULES:
        module = module_name(path)
        listed = imports_of(path.read_text("utf-8"), module, is_package=path.name == "__init__.py")
        found[module] = {target_of(imported, name) for imported, name in listed} & NAMES - {module}
    return found


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other in a circle, empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("path", MODULES, ids=[module_name(p) for p in MODULES])
def test_imports_point_downward(path: Path) -> None:
    module = module_name(path)
    if module not in ABOVE_ALL:
        assert faults_in(path.read_text("utf-8"), module, is_package=path.name == "__init__.py") == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle_in(arrows()) == []
    assert set(circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("eirene.core.records", "from eirene.agent.graph import build"),
        ("eirene.core.records", "from eirene.models.encoder import load_encoder"),
        ("eirene.core.records", "def f():\n    if True:\n        import eirene.cli"),
        ("eirene.core.records", "from ..eval import base"),
        ("eirene.text.words", "from eirene.core.errors import InputError"),
        ("eirene.prompts.loader", "from eirene.feedback_model.base import FeedbackModel"),
        ("eirene.refiners.base", "from eirene.feedback_model.base import FeedbackModel"),
        ("eirene.feedback_model.vote", "from ..eval import base"),
        ("eirene.eval.base", "from eirene.refiners import base"),
        ("eirene.eval.base", "from eirene import agent as loop"),
        ("eirene.eval.base", "import importlib\nimportlib.import_module('eirene.agent.run')"),
        ("eirene.agent.nodes", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from eirene.cli import app"),
        ("eirene.agent.nodes", "from eirene import refine"),
        ("eirene.agent.nodes", "from eirene import __version__"),
        ("eirene.agent.nodes", "import eirene"),
        ("eirene.agent.nodes", "from eirene.feedback_model.vote import _tag"),
        ("eirene.agent.nodes", "from eirene.feedback_model._inner import tag"),
        ("eirene.views.report", "from eirene.agent.run import refine"),
    ],
)
def test_the_checker_catches_a_planted_fault(module: str, source: str) -> None:
    assert len(faults_in(source, module)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("eirene.feedback_model.vote", "from eirene.core.critique import Sample\nfrom . import base\nimport numpy"),
        ("eirene.feedback_model.vote", "from eirene.feedback_model.sampling import _tally"),
        ("eirene.agent.nodes", "from eirene.eval.base import Case\nfrom eirene import core"),
        ("eirene.agent.nodes", "from eirene._version import __version__"),
        ("eirene.cli.app", "from eirene.agent.run import refine\nimport eirene.views.report"),
    ],
)
def test_the_checker_lets_downward_imports_pass(module: str, source: str) -> None:
    assert faults_in(source, module) == []


def test_every_package_has_a_place_and_nothing_lies_beside_them() -> None:
    inside = {p.name for p in ROOT.iterdir() if p.name != "__pycache__"}
    assert inside == {*PACKAGES, "__init__.py", "__main__.py", "_version.py", "_moved", "py.typed"}


def test_files_are_as_long_as_one_concept_is() -> None:
    lines = {module_name(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {name: n for name, n in lines.items() if n > MOST} == {}
    assert statistics.median(lines.values()) < MEDIAN
    assert sum(n < NINE_TENTHS for n in lines.values()) >= 0.9 * len(lines)
