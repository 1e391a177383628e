"""Prints how the package is laid out, measured on its source: modules, lines, functions, docstrings, names, imports.

python benchmarks/house.py             # about three seconds
python benchmarks/house.py --names     # and what is behind the counts: names, small modules, long functions
python benchmarks/house.py --check     # exit code 1 where there are more lines or modules than the limits below
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.source_tree import LONG, MODULES, ROOT, SMALL, House, circle_in, faults_of, import_graph, read_house

MOST_LINES, MOST_MODULES = 74_163, 519
"""What `make check` allows. They only ever fall: what is added names what leaves, and a clean-up lowers them."""


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


def excess(house: House) -> list[str]:
    """The limits that the house is beyond, a sentence each."""
    found = (("lines", sum(house.lines.values()), MOST_LINES), ("modules", len(house.lines), MOST_MODULES))
    return [f"{n:,} {what}, and at most {most:,} may be: take something out" for what, n, most in found if n > most]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", action="store_true", help="what is behind the counts")
    parser.add_argument("--check", action="store_true", help="compare lines and modules with their limits, no more")
    house, options = read_house(), parser.parse_args(arguments)
    if options.check:
        sys.exit("; ".join(excess(house)) or 0)
    for name, value in measures(house).items():
        print(f"{name:36} {value}")
    if options.names:
        print("\nclass names in two modules or more")
        for name, where in house.ambiguous.items():
            print(f"  {name}: {', '.join(where)}")
        print("\nsmall modules", *house.small, sep="\n  ")
        print("\nlong functions", *(f"{n} ({c})" for n, c in house.functions.items() if c > LONG), sep="\n  ")
        print("\nwithout a docstring", *(n for n, has in house.documented.items() if not has), sep="\n  ")


if __name__ == "__main__":
    main()
