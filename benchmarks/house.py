"""Prints how the package is laid out, measured on its source: modules, lines, functions, docstrings, names, imports.

python benchmarks/house.py             # about three seconds
python benchmarks/house.py --names     # and what is behind the counts: names, small modules, long functions
python benchmarks/house.py --check     # exit code 1 where something is beyond the limits below
"""

from __future__ import annotations

import argparse
import ast
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

sys.path.insert(0, str(Path(__file__).parents[1]))

from eirene.cli.app import app
from tests.source_tree import LONG, MODULES, ROOT, SMALL, House, circle_in, faults_of, import_graph, read_house

LIMITS = {
    "lines": 66_640,
    "modules": 384,
    "flags of all commands": 501,
    "lines of benchmarks": 7_612,
    "test cases": 3_361,
    "processes that tests start": 123,
}
"""What `make check` allows. They only ever fall: what is added names what leaves, and a clean-up lowers them."""
STARTERS = {"subprocess", "asyncio", "multiprocessing", "context", "pexpect"}
STARTS = {"run", "Popen", "check_output", "create_subprocess_exec", "Process", "spawn"}


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
        f"modules under {SMALL} lines": f"{len(house.small)}, {len(inner)} without __init__",
        "lines of a file, median": f"{statistics.median(house.lines.values()):.0f}",
        "lines of the longest file": f"{house.lines[longest]} ({longest})",
        f"functions of at most {LONG} lines": share(short, len(house.functions)),
        "public names with a docstring": share(sum(house.documented.values()), len(house.documented)),
        "class names in two modules or more": str(len(house.ambiguous)),
        "imports in a circle": " -> ".join(circle_in(import_graph())) or "0",
        "imports that break a rule": str(len(faults)),
    }


def counts(house: House) -> dict[str, int]:
    """What has a limit, by name."""
    tests = [ast.parse(path.read_text("utf-8")) for path in sorted((ROOT.parent / "tests").rglob("*.py"))]
    scripts = sorted((ROOT.parent / "benchmarks").rglob("*.py"))
    return {
        "lines": sum(house.lines.values()),
        "modules": len(house.lines),
        "flags of all commands": sum(flags_of(typer.main.get_command(app))),
        "lines of benchmarks": sum(len(path.read_text("utf-8").splitlines()) for path in scripts),
        "test cases": sum(cases_of(node) for tree in tests for node in ast.walk(tree)),
        "processes that tests start": sum(starts_process(node) for tree in tests for node in ast.walk(tree)),
    }


def flags_of(command: Any) -> Iterator[int]:
    """The number of options of each command of a group."""
    yield sum(parameter.param_type_name == "option" for parameter in command.params)
    for inner in getattr(command, "commands", {}).values():
        yield from flags_of(inner)


def cases_of(node: ast.AST) -> int:
    """The cases of a test: the product of the rows in its `parametrize`; rows from elsewhere count as one."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not node.name.startswith("test_"):
        return 0
    marks = [mark for mark in node.decorator_list if isinstance(mark, ast.Call) and len(mark.args) > 1]
    rows = [mark.args[1] for mark in marks if ast.unparse(mark.func).endswith("parametrize")]
    return math.prod(len(row.elts) for row in rows if isinstance(row, ast.List | ast.Tuple))


def starts_process(node: ast.AST) -> bool:
    """Whether a node is a call that starts a process."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in STARTS:
        return False
    return ast.unparse(node.func.value).split(".")[0] in STARTERS


def excess(house: House) -> list[str]:
    """The limits that the house is beyond, a sentence each."""
    found = counts(house).items()
    return [
        f"{n:,} {what}, and at most {LIMITS[what]:,} may be: take something out"
        for what, n in found
        if n > LIMITS[what]
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="what is behind the counts")
    parser.add_argument("--check", action="store_true", help="compare what has a limit with it, no more")
    house, options = read_house(), parser.parse_args(arguments)
    if options.check:
        sys.exit("; ".join(excess(house)) or 0)
    for name, value in measures(house).items():
        print(f"{name:36} {value}")
    for name, count in counts(house).items():
        print(f"{name:36} {count:,} of at most {LIMITS[name]:,}")
    if options.names:
        print("\nclass names in two modules or more")
        for name, where in house.ambiguous.items():
            print(f"  {name}: {', '.join(where)}")
        print("\nsmall modules", *house.small, sep="\n  ")
        print("\nlong functions", *(f"{n} ({c})" for n, c in house.functions.items() if c > LONG), sep="\n  ")
        print("\nwithout a docstring", *(n for n, has in house.documented.items() if not has), sep="\n  ")


if __name__ == "__main__":
    main()
