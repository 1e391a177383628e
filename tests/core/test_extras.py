"""Optional packages: each is imported behind the one helper, and a missing one is one line that names its extra."""

from __future__ import annotations

import ast
import functools
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eirene.core.errors import MissingExtraError
from eirene.core.extras import EXTRAS, importing, missing, require
from tests.cli.run import EXAMPLES, GIVEN, write
from tests.source_tree import MODULES, ROOT, imports_of, module_name

GUARDS = {"require", "importing", "check_pyarrow", "check_matplotlib", "_datasets", "load_local"}
"""What raises for a missing package before it is imported; all of them by `eirene.core.extras`."""

PAST_THE_DOOR = {
    "eirene.cli.flags": "asks by Tracing first",
    "eirene.eval.detectors.classifier": "is given a loaded model",
    "eirene.eval.detectors.gradients": "is given a loaded model",
    "eirene.feedback_model.model": "is given a loaded model",
    "eirene.models.local.chat": "is given a loaded model",
    "eirene.models.gguf.trial": "runs in a child of a process that has asked",
    "eirene.models.faults": "is around a pass of a loaded model",
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


@functools.cache
def all_imports() -> Mapping[str, set[tuple[bool, str]]]:
    """What each module imports, by name."""
    return {name: set(imports(path)) for name, path in PATHS.items()}


def heavy() -> set[str]:
    """The modules that cannot be imported without an optional package."""
    found: set[str] = set()
    while True:
        more = {
            module
            for module, seen in all_imports().items()
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
    doors = {
        name for name, seen in all_imports().items() if any(is_optional(m) or m in beyond for _, m in seen)
    } - beyond
    return {name for name in doors if not guards_in(PATHS[name])}


def test_optional_imports_go_through_the_helper() -> None:
    """What a light module imports inside a function is asked for first, or is there for sure; the list has no more."""
    assert unguarded() == set(PAST_THE_DOOR)


def test_a_module_that_needs_an_extra_is_imported_by_no_light_one() -> None:
    """Importing any light module works without extras; the heavy ones are known by what they import."""
    assert {"eirene.models.local.sampling", "eirene.agent.server.app"} <= heavy()
    assert not {"eirene", "eirene.cli.app", "eirene.eval.registry", "eirene.models.local.model"} & heavy()


def test_everything_that_is_imported_is_a_dependency_or_has_its_extra() -> None:
    """What the light install brings by itself, what an extra brings, and what comes with one of these."""
    tomllib = importlib.import_module("tomllib")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))["project"]
    brought = {re.split(r"[<>=\[ ]", line)[0].replace("-", "_") for line in project["dependencies"]}
    known = brought | {name.split(".")[0] for name in EXTRAS} | set(sys.stdlib_module_names) | {"eirene"}
    beside = {
        "markupsafe": "jinja2", "pydantic_core": "pydantic", "httpx": "datasets", "requests": "opentelemetry",
        "huggingface_hub": "transformers",
    }  # fmt: skip
    unasked = {"pytest": "loads the plugin"}
    found = {name.split(".")[0] for seen in all_imports().values() for _, name in seen}
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
    ("local", ["score", "{row}", "--out", "{out}", "--detectors", "nli", "--detector-model", "hf:o/n"]),
    ("openai", ["score", "{row}", "--out", "{out}", "--detectors", "geval", *JUDGE]),
    ("openai", ["refine", "{row}", "--backend", "openai:gpt-4o-mini"]),
    ("anthropic", ["refine", "{row}", "--backend", "anthropic:claude"]),
    ("local", ["score", "{row}", "--out", "{out}", "--corpus", "{row}", "--rerank", "owner/name"]),
    ("retrieval", ["score", "{row}", "--out", "{out}", "--corpus", "{row}", "--corpus-encoder", "owner/name"]),
    ("data", ["score", "{parquet}", "--out", "{out}"]),
    ("data", ["score", "hf-dataset:owner/name@test", "--out", "{out}"]),
    ("ray", ["batch", "run", "{row}", "--out", "{out}", "--ray", "local"]),
    ("server", ["serve"]),
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


RUNS_THEM = """
import contextlib, io, json
from eirene.cli import main
from recipes.train.__main__ import main as train
told = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = train(words[1:]) if words[0] == "train" else main(words)
    told.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""


def test_without_its_extra_a_command_says_so_in_a_line(tmp_path: Path) -> None:
    """Exit code 2, nothing on standard output, and what to install: never a traceback, never a fault of ours.

    One process in which no extra can be imported runs them all, each with a folder of its own.
    """
    topics = EXAMPLES / "topics.jsonl"
    write(tmp_path / "row.jsonl", {**GIVEN, "id": "1"})
    (tmp_path / "rows.parquet").write_bytes(b"PAR1")
    given = {"row": tmp_path / "row.jsonl", "parquet": tmp_path / "rows.parquet", "topics": topics,
             "topic": json.loads(topics.read_text("utf-8").splitlines()[0])["question"]}  # fmt: skip
    commands = []
    for n, (_, words) in enumerate(COMMANDS):
        (folder := tmp_path / str(n)).mkdir()
        commands.append([word.format(**given, folder=folder, out=folder / "out.jsonl") for word in words])
    environment = {**os.environ, "OPENAI_API_KEY": "none", "ANTHROPIC_API_KEY": "none"}
    done = subprocess.run(
        [sys.executable, "-c", ABSENT.format(absent=sorted(EXTRAS)) + RUNS_THEM, json.dumps(commands)],
        env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    for (extra, words), (code, out, err) in zip(COMMANDS, json.loads(done.stdout), strict=True):
        assert (code, out, err.count("\n"), f"eirene[{extra}]" in err) == (2, "", 1, True), (words, out, err)
