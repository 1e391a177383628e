"""Reads the package's source: modules, imports and the rules they break, functions, docstrings, names of classes."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

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
    "verification",
    "feedback_model",
    "refiners",
    "eval",
    "npov",
    "gate",
    "agent",
    "synth",
    "testing",
    "cli",
)
"""From the ground up: each imports only those above it in this list. CONTRIBUTING.md says what lives in them."""
APART = {"feedback_model", "refiners", "eval"}
"""These never import each other: a loop may be put together from any of each."""
ABOVE_ALL = {"eirene": "the front door", "eirene.__main__": "the command line's"}
OPEN = {"eirene._version"}
"""Private modules that every package may import."""


def module_name(path: Path, root: Path = ROOT) -> str:
    """`eirene.core.records` of the file's path; a package's `__init__` bears the package's name."""
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


def faults_of(path: Path) -> list[str]:
    """`faults_in` of a file of the package; the front door and its like may import anything."""
    module = module_name(path)
    if module in ABOVE_ALL:
        return []
    return faults_in(path.read_text("utf-8"), module, is_package=path.name == "__init__.py")


def import_graph() -> dict[str, set[str]]:
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


SMALL, LONG = 40, 30  # lines: a module under the one is small, a function over the other is long
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class House:
    """What the source has: `lines` and `classes` by name, `functions` with their lengths, public names by docstring."""

    lines: dict[str, int] = field(default_factory=dict)
    functions: dict[str, int] = field(default_factory=dict)
    documented: dict[str, bool] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def small(self) -> list[str]:
        """Modules with fewer lines than `SMALL`."""
        return [name for name, count in self.lines.items() if count < SMALL]

    @property
    def ambiguous(self) -> dict[str, list[str]]:
        """Class names, underscores aside, that more than one module defines."""
        return {name: where for name, where in sorted(self.classes.items()) if len(where) > 1}


def definitions(tree: ast.AST, *, public: bool = True) -> Iterator[tuple[ast.ClassDef | Function, bool]]:
    """Every class and function, with whether all names on the way to it are public; inner functions are private."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | Function):
            shown = public and not node.name.startswith("_")
            yield node, shown
            yield from definitions(node, public=shown and isinstance(node, ast.ClassDef))
        else:
            yield from definitions(node, public=public)


def read_house() -> House:
    """Reads every module of the package."""
    house = House()
    for path in MODULES:
        source, module = path.read_text("utf-8"), module_name(path)
        house.lines[str(path.relative_to(ROOT))] = len(source.splitlines())
        tree = ast.parse(source)
        house.documented[module] = ast.get_docstring(tree) is not None
        for node, public in definitions(tree):
            name = f"{module}:{node.lineno} {node.name}"
            if isinstance(node, ast.ClassDef):
                house.classes[node.name.lstrip("_")].append(module)
            else:
                house.functions[name] = (node.end_lineno or node.lineno) - node.lineno + 1
            if public:
                house.documented[name] = ast.get_docstring(node) is not None
    return house
