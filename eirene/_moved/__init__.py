"""Deprecated module names: for one release, importing an old name gives the new module, with a warning.

`names.txt` has a line for each: the old name and the new one. What lies below an old package is found below its new
name. A line with colons is one of a class or function that the docs named: `old.module:Old new.module:New`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import cache
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from importlib.resources import files
from types import ModuleType
from typing import Any


@cache
def _lines() -> dict[str, str]:
    lines = files("eirene").joinpath("_moved/names.txt").read_text("utf-8").splitlines()
    return {old: new for old, _, new in (line.partition(" ") for line in lines)}


@cache
def table() -> dict[str, str]:
    """Old names of modules and new ones."""
    return {old: new for old, new in _lines().items() if ":" not in old}


@cache
def renamed() -> dict[str, str]:
    """Old `module:name` and new one, of classes and functions."""
    return {old: new for old, new in _lines().items() if ":" in old}


def _value(module: str, name: str) -> Any:
    """What a name of an old module is now; raises `AttributeError` where it is gone."""
    now, _, name_now = renamed().get(f"{module}:{name}", f"{table().get(module, module)}:{name}").partition(":")
    return getattr(importlib.import_module(now), name_now)


def new_name(name: str) -> str | None:
    """What a module is called now, None where its name is no old one."""
    above, _, last = name.rpartition(".")
    below = f"{table()[above]}.{last}" if above in table() else None
    return table().get(name, below)


def is_there(name: str) -> bool:
    """Whether there is a module of that name."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # what stands above it is no package
        return False


class Finder:
    """Stands behind the finders of Python, and so costs nothing where a module is there under its name."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """A stand-in for an old name, None for any other."""
        now = new_name(name) if name.startswith("eirene.") else None
        return None if now is None or not is_there(now) else ModuleSpec(name, _Loader(now), is_package=True)


class _Loader(Loader):
    def __init__(self, now: str) -> None:
        self._now = now

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        _warn(module.__name__, self._now)
        there = importlib.import_module(self._now)
        # What Python asks of a module itself stays the stand-in's, above all where to look for what lies below it.
        vars(module).update({name: value for name, value in vars(there).items() if not name.startswith("__")})
        vars(module).update(__doc__=there.__doc__, __getattr__=lambda name: _value(module.__name__, name))


def names_of(package: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that bears the name of an old module: finds what that had, with a warning."""

    def find(name: str) -> Any:
        if name.startswith("__") or is_there(f"{package}.{name}"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        now = renamed().get(f"{package}:{name}") or (f"{table()[package]}:{name}" if package in table() else None)
        if now is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _value(package, name)
        _warn(f"{package}.{name}", now.replace(":", "."), above=3)
        return value

    return find


def _warn(old: str, now: str, *, above: int = 3) -> None:
    warnings.warn(f"{old} is {now} now; the old name goes with the next release", DeprecationWarning, stacklevel=above)


def install() -> None:
    """Has imports of old names find the new ones."""
    if Finder not in sys.meta_path:
        sys.meta_path.append(Finder)
