"""Prints how the package is laid out, measured on its source: modules, lines, functions, docstrings, names, imports.

python benchmarks/house.py             # about three seconds
python benchmarks/house.py --names     # and what is behind the counts: names, small modules, long functions
"""

from __future__ import annotations

import argparse
import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.source_tree import MODULES, ROOT, circle_in, faults_of, import_graph, module_name

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
        if "_moved" not in path.parts:
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


def share(part: int, whole: int) -> str:
    """A share in per cent, with its counts."""
    return f"{100 * part / whole:.1f} % ({part:,} of {whole:,})"


def measures(house: House) -> dict[str, str]:
    """What is printed, by name."""
    entries = [p for p in ROOT.iterdir() if p.name != "__pycache__"]
    inner = [name for name in house.small if not name.endswith("__init__.py")]
    longest = max(house.lines, key=lambda name: house.lines[name])
    short = sum(count <= LONG for count in house.functions.values())
    faults = [fault for path in MODULES for fault in faults_of(path)]
    return {
        "entries at the top": str(len(entries)),
        "modules": str(len(house.lines)),
        f"modules under {SMALL} lines": f"{len(house.small)}, {len(inner)} without __init__",
        "lines": f"{sum(house.lines.values()):,}",
        "lines of a file, median": f"{statistics.median(house.lines.values()):.0f}",
        "lines of the longest file": f"{house.lines[longest]} ({longest})",
        f"functions of at most {LONG} lines": share(short, len(house.functions)),
        "public names with a docstring": share(sum(house.documented.values()), len(house.documented)),
        "class names in two modules or more": str(len(house.ambiguous)),
        "imports in a circle": " -> ".join(circle_in(import_graph())) or "0",
        "imports that break a rule": str(len(faults)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="what is behind the counts")
    house = read_house()
    show_names = parser.parse_args(arguments).names
    for name, value in measures(house).items():
        print(f"{name:36} {value}")
    if show_names:
        print("\nclass names in two modules or more")
        for name, where in house.ambiguous.items():
            print(f"  {name}: {', '.join(where)}")
        print("\nsmall modules", *house.small, sep="\n  ")
        print("\nlong functions", *(f"{n} ({c})" for n, c in house.functions.items() if c > LONG), sep="\n  ")
        print("\nwithout a docstring", *(n for n, has in house.documented.items() if not has), sep="\n  ")


if __name__ == "__main__":
    main()
