"""Registry of detectors: every module in `eirene.eval.detectors` is searched for them, and so are plugins.

A detector is declared where it lives, by `@detector` on the function that builds it; no other file names it. Packages
outside Eirene name a module of theirs under the entry point group `eirene.detectors`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import TypeVar

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.eval import detectors
from eirene.eval.base import Detector, Need, unmet
from eirene.eval.resources import Resources

PLUGINS = "eirene.detectors"
"""The entry point group of modules that declare detectors."""

logger = get_logger(__name__)
Build = Callable[[Resources], Detector]
B = TypeVar("B", bound=Build)
_declared: dict[str, DetectorEntry] = {}


@dataclass(frozen=True, slots=True)
class DetectorEntry:
    """A detector as it is declared: what it `needs`, what it is `about` in a line, and how it is built.

    `build` raises what loading a model raises.
    """

    name: str
    needs: frozenset[Need]
    about: str
    build: Build


def detector(name: str, *, needs: frozenset[Need], about: str) -> Callable[[B], B]:
    """Declares the detector that the decorated function builds from `Resources`.

    `name` is what `--detectors` calls it. `needs` are those of the detector: what no case brings must be among the
    resources, which flags name. Modules with a declaration are imported for its name alone: heavy packages belong into
    functions. Raises `ValueError` for a name that another detector has.
    """

    def declare(build: B) -> B:
        known = _declared.get(name)
        if known is not None and _place(known.build) != _place(build):
            raise ValueError(f"two detectors are called {name!r}: in {known.build.__module__} and {build.__module__}")
        _declared[name] = DetectorEntry(name, needs, about, build)
        return build

    return declare


def _place(build: Build) -> tuple[str, str]:
    return build.__module__, build.__qualname__


class _Detectors(Mapping[str, DetectorEntry]):
    """All detectors by name; modules are searched when they are first asked for."""

    def __getitem__(self, name: str) -> DetectorEntry:
        return self._found()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found())

    def __len__(self) -> int:
        return len(self._found())

    def _found(self) -> dict[str, DetectorEntry]:
        for module in pkgutil.iter_modules(detectors.__path__, f"{detectors.__name__}."):
            importlib.import_module(module.name)
        _load_plugins()
        return dict(sorted(_declared.items()))


@cache
def _load_plugins() -> None:
    """Imports the modules of other packages; one that fails is warned of and left out."""
    for plugin in entry_points(group=PLUGINS):
        try:
            plugin.load()
        except Exception as error:  # whatever a stranger's module raises
            logger.warning("the detectors of %s could not be loaded: %s", plugin.value, error)


DETECTORS: Mapping[str, DetectorEntry] = _Detectors()
"""Every detector that is there, in the order of names."""


def parse_names(text: str) -> list[str]:
    """The detectors named in a text with commas between, each once, in order; raises `InputError` for unknown ones."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    _check_names(names)
    return names


def _check_names(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in DETECTORS]
    if unknown or not names:
        what = f"unknown detector {unknown[0]!r}" if unknown else "no detector named"
        raise InputError(f"{what}; known: {', '.join(DETECTORS)}", field="detectors")


def check_detectors(names: Sequence[str], resources: Resources) -> None:
    """Raises `InputError` for an unknown detector, and for one whose model is not there: it would score nothing."""
    _check_names(names)
    for name in names:
        lacking = resources.lacks(DETECTORS[name].needs)
        if lacking:
            said = f"the detector {name!r} {unmet(*lacking)}; in Python with resources=Resources(...)"
            raise InputError(said, field="detectors")


def build_detectors(names: Sequence[str], resources: Resources) -> tuple[Detector, ...]:
    """The detectors in the order of their names. Raises what `check_detectors` raises.

    Each is built once for the resources: one that keeps its scores is not asked anew where it also stands in another.
    """
    check_detectors(names, resources)
    return tuple(
        resources.once(f"detector {name}", functools.partial(DETECTORS[name].build, resources)) for name in names
    )


def build_detector(name: str, resources: Resources) -> Detector:
    """One of `build_detectors`."""
    return build_detectors([name], resources)[0]
