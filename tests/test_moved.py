"""Modules that were moved are found under their old names, with a warning, and are the same ones."""

from __future__ import annotations

import importlib
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import eirene
from eirene._moved import is_there, renamed, table

ROOT = Path(eirene.__file__).parents[1]


def test_every_new_name_is_there_and_no_old_one_is_in_its_way() -> None:
    assert [new for new in table().values() if not is_there(new)] == []
    # An old name that is one of now would hide what it stands for, but for a package, which gives it itself.
    assert [old for old in table() if (ROOT / f"{old.replace('.', '/')}.py").exists()] == []
    packages = {old for old in table() if (ROOT / old.replace(".", "/")).is_dir()}
    assert packages == {old for old in packages if "__getattr__" in vars(importlib.import_module(old))}


@pytest.mark.parametrize(
    ("old", "name", "new"),
    [
        ("eirene.records", "Item", "eirene.core.records"),
        ("eirene.encoder", "load_encoder", "eirene.models.encoder"),
        ("eirene.encoder.runtime", "Encoder", "eirene.models.encoder.runtime"),
        ("eirene.fava.tags", "parse_tagged", "eirene.core.findings.tags"),
        ("eirene.reading", "open_dataset", "eirene.data"),
        ("eirene.eval.nli", "NliModel", "eirene.models.local.nli"),
        ("eirene.agent.compare", "acompare", "eirene.agent.experiments.compare"),
    ],
)
def test_an_old_name_gives_what_the_new_one_has(old: str, name: str, new: str) -> None:
    for module in [m for m in sys.modules if m == old or m.startswith(f"{old}.")]:
        del sys.modules[module]
    with warnings.catch_warnings(record=True) as told:  # the packages above it may tell of themselves as well
        warnings.simplefilter("always")
        found = importlib.import_module(old)
    assert f"{old} is {table()[old]} now" in str(told[-1].message)
    assert getattr(found, name) is getattr(importlib.import_module(new), name)


@pytest.mark.parametrize(
    ("old", "name"),
    [
        ("eirene.models.local", "load_local"),
        ("eirene.feedback_model.embedded", "EmbeddedFeedback"),
        ("eirene.refiners.embedded", "EmbeddedRefiner"),
        ("eirene.eval.statistics", "holm"),
        ("eirene.cli.batch", "batch"),
    ],
)
def test_a_package_with_the_name_of_an_old_module_has_its_names(old: str, name: str) -> None:
    package = importlib.import_module(old)
    with pytest.warns(DeprecationWarning, match=rf"{old}\.{name} is {table()[old]}\.{name} now"):
        found = getattr(package, name)
    assert found is getattr(importlib.import_module(table()[old]), name)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = package.no_such_name


@pytest.mark.parametrize(("old", "new"), renamed().items())
def test_a_documented_name_that_was_changed_is_found_under_the_old_one(old: str, new: str) -> None:
    (module, name), (module_now, name_now) = old.split(":"), new.split(":")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if module in table():
            sys.modules.pop(module, None)  # it warns when it is loaded
        found = getattr(importlib.import_module(module), name)
    assert found is getattr(importlib.import_module(module_now), name_now)
    assert {warning.category for warning in caught} == {DeprecationWarning}


def test_the_warning_names_the_line_that_imports() -> None:
    code = "import eirene.sentences\nfrom eirene.models.local import load_local\n"
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    assert [line.split(": ")[0] for line in done.stderr.splitlines() if "DeprecationWarning" in line] == [
        "<string>:1",
        "<string>:2",
    ]


def test_a_name_that_never_was_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"eirene\.never"):
        importlib.import_module("eirene.never")
