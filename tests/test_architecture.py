"""Imports point one way, private names stay private, files stay short: read from the source, nothing is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "eirene"
MODULES = sorted(ROOT.rglob("*.py"))

GROUND = {"ground"}  # the files directly under eirene/
SHARED = GROUND | {"encoder", "alignment", "prompts", "models", "reading", "training", "fava", "retrieval", "shown"}
PARTS = {"feedback_model", "refiners", "eval"}
MAY_IMPORT = {
    "ground": GROUND,
    "encoder": GROUND,
    "alignment": GROUND | {"encoder"},
    "fava": GROUND,
    "prompts": GROUND,
    "reading": GROUND,
    "retrieval": GROUND | {"encoder", "reading", "models"},
    "models": GROUND | {"prompts"},
    "training": GROUND | {"prompts", "models", "reading"},
    "feedback_model": SHARED,
    "refiners": SHARED,
    "eval": SHARED,
    "npov": SHARED,
    "synth": SHARED | {"eval", "npov"},
    "shown": GROUND,
    "views": GROUND | {"shown"},
    "testing": GROUND,
    "agent": SHARED | PARTS,
    "cli": SHARED | PARTS | {"views", "agent", "npov", "synth"},
}
"""What each package may import beside itself."""

DOORS = {"eirene", "eirene.__main__"}  # they hand out names from every layer, and hold nothing of their own
MAX_LINES = 300


def module_name(path: Path, root: Path = ROOT) -> str:
    parts = path.relative_to(root.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def package_of(module: str, packages: set[str]) -> str:
    """`feedback_model` of `eirene.feedback_model.select`, `ground` of `eirene.records`."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in packages else "ground"


def faults_in(source: str, module: str, *, is_package: bool = False) -> list[str]:
    """Every import of a source that breaks a rule, as a sentence."""
    packages = {p.name for p in ROOT.iterdir() if p.is_dir() and p.name != "__pycache__"} | set(MAY_IMPORT)
    own = package_of(module, packages)
    faults = []
    for target, name in imports_of(source, module, is_package=is_package):
        if target.split(".")[0] != "eirene":
            continue
        # `from eirene import x` is an import of the submodule x, or of a name that the front door hands out.
        inner = f"eirene.{name}" if target == "eirene" else target
        is_submodule = name in packages or (ROOT / f"{name}.py").exists()
        if target == "eirene" and not is_submodule:
            faults.append(f"{module} imports {name or 'all'} from the front door; import it from where it lives")
            continue
        other = package_of(inner, packages)
        if other != own and other not in MAY_IMPORT.get(own, set()):
            faults.append(f"{module} ({own}) imports {inner} ({other})")
        parts = [*target.removeprefix("eirene._version").split("."), name or ""]
        if other != own and any(p.startswith("_") and not p.startswith("__") for p in parts):
            faults.append(f"{module} imports the private {'.'.join(parts)}")
    return faults


@pytest.mark.parametrize("path", MODULES, ids=[module_name(p) for p in MODULES])
def test_imports_point_downward(path: Path) -> None:
    module = module_name(path)
    if module not in DOORS:
        assert faults_in(path.read_text("utf-8"), module, is_package=path.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("eirene.records", "from eirene.agent.graph import build"),
        ("eirene.records", "from eirene.encoder import load_encoder"),
        ("eirene.records", "def f():\n    if True:\n        import eirene.cli"),
        ("eirene.records", "from .eval import base"),
        ("eirene.prompts.loader", "from eirene.feedback_model.base import FeedbackModel"),
        ("eirene.feedback_model.select", "from eirene.refiners.base import Refiner"),
        ("eirene.feedback_model.select", "from ..eval import base"),
        ("eirene.refiners.embedded", "from eirene import eval"),
        ("eirene.eval.base", "from eirene import agent as loop"),
        ("eirene.eval.base", "import importlib\nimportlib.import_module('eirene.agent.run')"),
        ("eirene.agent.nodes", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from eirene.cli import app"),
        ("eirene.agent.nodes", "from eirene import refine"),
        ("eirene.agent.nodes", "import eirene"),
        ("eirene.agent.nodes", "from eirene import __version__"),
        ("eirene.agent.nodes", "from eirene.feedback_model.select import _tag"),
        ("eirene.agent.nodes", "from eirene.feedback_model._inner import tag"),
        ("eirene.views.html", "from eirene.agent.run import refine"),
    ],
)
def test_the_checker_catches_a_planted_fault(module: str, source: str) -> None:
    assert len(faults_in(source, module)) == 1


def test_every_package_has_a_place_in_the_layers() -> None:
    assert {p.name for p in ROOT.iterdir() if (p / "__init__.py").exists()} == set(MAY_IMPORT) - {"ground"}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("eirene.feedback_model.select", "from eirene.critique import Sample\nfrom . import base\nimport numpy"),
        ("eirene.feedback_model.select", "from eirene.feedback_model.stopping import _tally"),
        (
            "eirene.agent.nodes",
            "from eirene.eval.base import Case\nfrom eirene import records\nfrom eirene._version import __version__",
        ),
        ("eirene.cli.app", "from eirene.agent.run import refine\nimport eirene.views.html"),
    ],
)
def test_the_checker_lets_downward_imports_pass(module: str, source: str) -> None:
    assert faults_in(source, module) == []


def test_no_file_is_longer_than_it_may_be() -> None:
    lines = {module_name(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {name: n for name, n in lines.items() if n > MAX_LINES} == {}
