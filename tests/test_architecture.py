"""Imports point one way, go round in no circle, private names stay private, files stay short: read from the source."""

from __future__ import annotations

import ast
import re
import statistics

from tests.rows import each

from .source_tree import (
    LONG,
    MODULES,
    PACKAGES,
    ROOT,
    circle_in,
    faults_in,
    faults_of,
    import_graph,
    module_name,
    read_house,
)

MEDIAN, SEVEN_EIGHTHS, MOST = 175, 300, 450  # lines of a file


def test_imports_point_downward() -> None:
    assert [fault for path in MODULES for fault in faults_of(path)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circle_in(import_graph()) == []
    assert set(circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}


NOT_ON_WINDOWS = re.compile(
    "fcntl|resource|termios|tty|pty|pwd|grp|syslog|readline|curses|p(read|write)v?|fork|setsid|killpg|get[eg]?uid|f?chown|"
    "mkfifo|nice|sysconf|statvfs|uname|getloadavg|sched_getaffinity|sendfile|SIG(HUP|KILL|ALRM|USR1)|pthread_sigmask"
)


def unasked(source: str) -> list[str]:
    """What Windows lacks and a source takes for granted: imported at its top, or used in a function that does not ask
    for it by `hasattr`, `getattr` or `except`."""
    tree = ast.parse(source)
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    named = [n.module or "" if isinstance(n, ast.ImportFrom) else alias.name for n in top for alias in n.names]
    found = [name for name in named if NOT_ON_WINDOWS.fullmatch(name)]
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)):
        text = ast.unparse(function)
        if "except ImportError" not in text and "except (AttributeError" not in text:
            used = sorted(set(re.findall(r"\b(?:os|signal)\.(\w+)", text)))
            found += [name for name in used if NOT_ON_WINDOWS.fullmatch(name) and f"'{name}'" not in text]
    return found


def test_nothing_is_taken_for_granted_that_windows_lacks() -> None:
    assert {str(path): found for path in MODULES if (found := unasked(path.read_text("utf-8")))} == {}
    assert unasked("import fcntl\ndef f():\n    return os.pread(1, 2, 3)") == ["fcntl", "pread"]


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python 3.11.0 to 3.11.4 (Debian 12 has 3.11.2) keep a half-matched repeat of it: "1." as one word. `(?>(...)*)`
    says the same everywhere."""
    possessive = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
    assert [str(path) for path in MODULES if possessive.search(path.read_text("utf-8"))] == []


@each(
    "module, source",
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


@each(
    "module, source",
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
    assert inside == {*PACKAGES, "__init__.py", "__main__.py", "_version.py", "py.typed"}


def test_the_map_names_every_package_in_order() -> None:
    page = (ROOT.parent / "CONTRIBUTING.md").read_text("utf-8")
    assert tuple(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == PACKAGES


def test_files_are_as_long_as_one_concept_is() -> None:
    lines = {module_name(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {name: n for name, n in lines.items() if n > MOST} == {}
    assert statistics.median(lines.values()) < MEDIAN
    assert sum(n < SEVEN_EIGHTHS for n in lines.values()) >= 7 / 8 * len(lines)


def test_functions_are_short_public_names_documented_and_class_names_clear() -> None:
    house = read_house()
    assert sum(n <= LONG for n in house.functions.values()) >= 0.97 * len(house.functions)
    assert sum(house.documented.values()) >= 0.98 * len(house.documented)
    assert len(house.ambiguous) < 5
