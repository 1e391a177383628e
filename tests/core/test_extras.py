"""Optional packages: each is imported behind the one helper, and a missing one is one line that names its extra."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.core.errors import MissingExtraError
from eirene.core.extras import EXTRAS, importing, missing, require
from tests.cli.run import EXAMPLES, GIVEN, write
from tests.source_tree import MODULES, ROOT, imports_of, module_name

GUARDS = {"require", "importing", "start_run", "check_pyarrow", "check_matplotlib", "_datasets", "load_local"}
"""What raises for a missing package before it is imported; all of them by `eirene.core.extras`."""

PAST_THE_DOOR = {
    "eirene.cli.flags": "asks by Tracing first",
    "eirene.eval.detectors.classifier": "is given a loaded model",
    "eirene.eval.detectors.gradients": "is given a loaded model",
    "eirene.eval.detectors.selfcheck": "is given a loaded model",
    "eirene.eval.pairwise": "is given a loaded model",
    "eirene.feedback_model.model": "is given a loaded model",
    "eirene.models.gguf.trial": "runs in a child of a process that has asked",
    "eirene.models.faults": "is around a pass of a loaded model",
    "eirene.refiners.model": "is given a loaded model",
    "eirene.synth.fava.replies": "is given a loaded model",
    "eirene.models.training.replies": "is called by trainings that have checked",
    "eirene.npov.writers": "is given a loaded model",
}
"""Modules that import an optional package where nobody gets without it."""


def is_optional(name: str) -> bool:
    return any(name == package or name.startswith(package + ".") for package in EXTRAS)


def typing_only(tree: ast.AST) -> set[ast.AST]:
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {inner for block in blocks for inner in ast.walk(block)}


def imports(path: Path) -> Iterator[tuple[bool, str]]:
    """(is outside all functions, module) of whatever a file imports; `from x import y` is x and x.y."""
    tree = ast.parse(path.read_text("utf-8"))
    inner = {n for f in ast.walk(tree) if isinstance(f, ast.FunctionDef | ast.AsyncFunctionDef) for n in ast.walk(f)}
    for node in set(ast.walk(tree)) - typing_only(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = imports_of(ast.unparse(node), module_name(path), is_package=path.name == "__init__.py")
            for target, name in found:
                yield node not in inner, target
                yield node not in inner, f"{target}.{name}"


PATHS = {module_name(path): path for path in MODULES}
IMPORTS = {name: set(imports(path)) for name, path in PATHS.items()}


def heavy() -> set[str]:
    """The modules that cannot be imported without an optional package."""
    found: set[str] = set()
    while True:
        more = {
            module
            for module, seen in IMPORTS.items()
            if module not in found and any(top and (is_optional(name) or name in found) for top, name in seen)
        }
        if not more:
            return found
        found |= more


def guards_in(path: Path) -> set[str]:
    calls = [n.func for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.Call)]
    return {ast.unparse(call).rpartition(".")[2] for call in calls} & GUARDS


def unguarded() -> set[str]:
    """Light modules that import what is optional, or a module that needs it, and ask nobody first."""
    beyond = heavy()
    doors = {name for name, seen in IMPORTS.items() if any(is_optional(m) or m in beyond for _, m in seen)} - beyond
    return {name for name in doors if not guards_in(PATHS[name])}


def test_optional_imports_go_through_the_helper() -> None:
    """What a light module imports inside a function is asked for first, or is there for sure; the list has no more."""
    assert unguarded() == set(PAST_THE_DOOR)


def test_a_module_that_needs_an_extra_is_imported_by_no_light_one() -> None:
    """Importing any light module works without extras; the heavy ones are known by what they import."""
    assert {"eirene.models.local.sampling", "eirene.agent.server.app", "eirene.models.training.fit"} <= heavy()
    assert not {"eirene", "eirene.cli.app", "eirene.eval.registry", "eirene.models.local.model"} & heavy()


def test_everything_that_is_imported_is_a_dependency_or_has_its_extra() -> None:
    """What the light install brings by itself, what an extra brings, and what comes with one of these."""
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    brought = {re.split(r"[<>=\[ ]", line)[0].replace("-", "_") for line in project["dependencies"]}
    known = brought | {name.split(".")[0] for name in EXTRAS} | set(sys.stdlib_module_names) | {"eirene"}
    beside = {"markupsafe": "jinja2", "pydantic_core": "pydantic", "httpx": "langchain-core and datasets"}
    unasked = {"tiktoken": "counts tokens where somebody has installed it", "pytest": "loads the plugin"}
    found = {name.split(".")[0] for seen in IMPORTS.values() for _, name in seen}
    assert found - known == set(beside) | set(unasked)


def test_nobody_else_looks_for_packages() -> None:
    """One place knows which extra brings what; others ask where a module lies, not whether it is there."""
    words = {
        "MissingExtraError(": {"core/errors.py", "core/extras.py"},
        "find_spec(": {"core/extras.py", "models/gguf/spec.py"},
    }
    for word, places in words.items():
        assert {path.relative_to(ROOT).as_posix() for path in MODULES if word in path.read_text("utf-8")} == places


def test_every_extra_is_one_of_the_project() -> None:
    """The names in the table are those that pip can install."""
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])


def test_the_helper_names_package_and_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    said = r"package 'ray': pip install 'eirene\[ray\]'"
    with pytest.raises(MissingExtraError, match=said):
        require("json", "ray")
    with pytest.raises(MissingExtraError, match=said), importing("ray"):
        importlib.import_module("ray")
    require("json")
    of_a_clone = " (in a clone: pip install -c constraints.txt -e '.[train]')"
    assert str(missing("torch", extra="train")).endswith(f"'eirene[train]'{of_a_clone}")
    assert str(missing("langchain_xai")).endswith("pip install langchain-xai")
    assert "'langgraph-checkpoint-sqlite'" in str(missing("langgraph.checkpoint.sqlite"))


ABSENT = """
import sys
ABSENT = {absent!r}
class Absent:
    def find_spec(self, name, path=None, target=None):
        if any(name == a or name.startswith(a + ".") for a in ABSENT):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
"""

JUDGE = ("--judge", "openai:gpt-4o-mini")
LOCAL = ("--local-model", "hf:owner/name")
COMMANDS = [
    ("local", ["refine", "{row}", "--backend", "hf:owner/name"]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "gptscore", *LOCAL]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "pseudo-entropy", *LOCAL]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "salience", *LOCAL]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "selfcheck-bertscore", *LOCAL]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "selfcheck-ngram", *LOCAL]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "classifier", "--classifier", "hf:owner/name"]),
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "nli", "--nli", "hf:owner/name"]),
    ("openai", ["score", "{row}", "--out", "{out}", "--detectors", "geval", *JUDGE]),
    ("openai", ["refine", "{row}", "--backend", "openai:gpt-4o-mini"]),
    ("anthropic", ["refine", "{row}", "--backend", "anthropic:claude"]),
    ("local", ["score", "{row}", "--out", "{out}", "--corpus", "{row}", "--rerank", "owner/name"]),
    ("retrieval", ["score", "{row}", "--out", "{out}", "--corpus", "{row}", "--corpus-encoder", "owner/name"]),
    ("data", ["score", "{parquet}", "--out", "{out}"]),
    ("data", ["score", "hf-dataset:owner/name@test", "--out", "{out}"]),
    ("ray", ["batch", "run", "{row}", "--out", "{out}", "--ray", "local"]),
    ("server", ["serve"]),
    ("plots", ["score", "{row}", "--heatmap", "{folder}/map.png", *LOCAL]),
    ("local", ["score", "{row}", "--heatmap", "{folder}/map.html", *LOCAL]),
    ("local", ["npov", "--query", "{topic}", "--topics", "{topics}", "--backend", "hf:owner/name"]),
    ("train", ["train", "feedback", "{row}", "--base", "hf:owner/name", "--out", "{folder}/t"]),
    ("train", ["train", "critic", "{row}", "--base", "hf:owner/name", "--out", "{folder}/t"]),
    ("train", ["train", "refiner", "{row}", "--base", "hf:owner/name", "--out", "{folder}/t"]),
    (
        "train",
        ["train", "classifier", "{row}", "--error", "coverage", "--base", "hf:owner/name", "--out", "{folder}/t"],
    ),
    ("train", ["train", "generator", "{row}", "--base", "hf:owner/name", "--out", "{folder}/t"]),
    ("local", ["synth", "fava", "{row}", "--backend", "hf:owner/name", "--out", "{out}"]),
]


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder with something of every kind, and the environment of a process in which no extra can be imported."""
    folder = tmp_path_factory.mktemp("light")
    (folder / "site").mkdir()
    (folder / "site" / "sitecustomize.py").write_text(ABSENT.format(absent=sorted(EXTRAS)), encoding="utf-8")
    write(folder / "row.jsonl", {**GIVEN, "id": "1"})
    (folder / "rows.parquet").write_bytes(b"PAR1")
    path = os.pathsep.join([str(folder / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return folder, {**os.environ, "PYTHONPATH": path, "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}


@pytest.mark.parametrize(("extra", "words"), COMMANDS, ids=[" ".join(words)[:60] for _, words in COMMANDS])
def test_without_its_extra_a_command_says_so_in_a_line(
    light: tuple[Path, dict[str, str]], tmp_path: Path, extra: str, words: list[str]
) -> None:
    """Exit code 2, nothing on standard output, and what to install: never a traceback, never a fault of ours."""
    folder, environment = light
    topics = EXAMPLES / "topics.jsonl"
    given = {"row": str(folder / "row.jsonl"), "parquet": str(folder / "rows.parquet"), "folder": str(tmp_path),
             "out": str(tmp_path / "out.jsonl"), "topics": str(topics),
             "topic": json.loads(topics.read_text("utf-8").splitlines()[0])["question"]}  # fmt: skip
    command = [sys.executable, "-m", "eirene", *(word.format(**given) for word in words)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.count("\n") == 1
    assert f"eirene[{extra}]" in done.stderr
