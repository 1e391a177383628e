"""The public doors: every name listed, real and sorted; and a light step through them loads nothing heavy."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

import eirene
from eirene.cli.app import app
from eirene.core import errors
from tests.rows import each

ROOT = Path(eirene.__file__).parent
PACKAGES = sorted(".".join(p.parent.relative_to(ROOT.parent).parts) for p in ROOT.rglob("[!_]*/__init__.py"))
HEAVY = (
    "torch", "transformers", "peft", "accelerate", "trl", "datasets", "onnx", "onnxruntime", "tokenizers", "langchain",
    "langgraph", "matplotlib", "pandas", "pyarrow", "sklearn", "jinja2",
)  # fmt: skip


def commands_of(group: typer.Typer, *above: str) -> Iterator[str]:
    """Every command line of a group up to its options, the group's own included."""
    yield " ".join(above)
    for command in group.registered_commands:
        yield " ".join([*above, command.name or ""])
    for inner in group.registered_groups:
        assert inner.typer_instance is not None and inner.name is not None
        yield from commands_of(inner.typer_instance, *above, inner.name)


def names_brought_in(package: str) -> set[str]:
    """The public names that a package's `__init__` imports from our own modules or defines."""
    path = ROOT.parent.joinpath(*package.split("."), "__init__.py")
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "eirene":
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
    return {name for name in names if not name.startswith("_")}


IS_LIGHT = f"import sys; heavy = [m for m in sys.modules if m.startswith({HEAVY!r})]; assert not heavy, heavy"


def in_own_process(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=120)


def test_all_is_sorted_real_and_complete() -> None:
    assert {package: faults for package in PACKAGES if (faults := faults_of_all(package))} == {}


def faults_of_all(package: str) -> list[str]:
    module = importlib.import_module(package)
    listed = getattr(module, "__all__", [])
    ordered = sorted(set(listed), key=lambda name: (not name.isupper(), name))  # as ruff sorts
    return [
        *(["not sorted"] if listed != ordered else []),
        *(f"{name} is not there" for name in listed if not hasattr(module, name)),
        *sorted({name for name in listed if not name.startswith("__")} ^ names_brought_in(package)),
    ]


def test_every_package_says_what_belongs_in_it() -> None:
    assert all((importlib.import_module(package).__doc__ or "").strip() for package in PACKAGES)


def test_the_commands_are_those_of_the_command_line() -> None:
    assert {"", "refine", "compare", "report", "synth", "synth fava", "evaluate feedback"} <= set(commands_of(app))


def test_the_front_door_lists_what_it_gives_and_refuses_the_rest() -> None:
    assert dir(eirene) == eirene.__all__
    with pytest.raises(AttributeError, match="module 'eirene' has no attribute 'refines'"):
        _ = eirene.refines


def test_every_error_can_be_caught_by_a_name_of_the_front_door() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == errors.__name__
    }
    assert raised <= set(eirene.__all__)


def test_the_package_is_marked_as_typed() -> None:
    assert (ROOT / "py.typed").is_file()


@each(
    "code",
    [
        "import eirene",
        "import eirene; eirene.Item(question='Q?', answer='A.'); eirene.split_sentences",
        "import eirene.core.records, eirene.feedback_model.vote, eirene.feedback_model.sampling, eirene.models",
        "import eirene; eirene.AuthError, eirene.MissingExtraError",
        "import eirene; eirene.score([{'question': 'Q?', 'answer': 'A.', 'context': 'A.'}], detectors='rouge')",
        "from eirene.cli import main; assert main(['--version']) == 0",
    ],
)
def test_a_light_step_loads_nothing_heavy(code: str) -> None:
    done = in_own_process(f"{code}; {IS_LIGHT}")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_help_of_no_command_loads_anything_heavy() -> None:
    """One process asks for them all and stops, with the name, at the first that is not light."""
    commands = list(commands_of(app))
    step = f"assert main([*command.split(), '--help']) == 0, command; print(command, file=sys.stderr); {IS_LIGHT}"
    done = in_own_process(f"import sys\nfrom eirene.cli import main\nfor command in {commands}: {step}")
    assert (done.returncode, done.stderr.splitlines()) == (0, commands)
