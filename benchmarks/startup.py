"""How long the command line takes as a whole process, and which imports it spends that on.

    python benchmarks/startup.py [--runs 9] [--imports]

Prints, for each command, the wall time of the first run (the coldest: the page cache may be empty), the median and the
slowest, and the median of the processor time, which other work on the machine disturbs less. Bytecode may be
written, as on most machines: where PYTHONDONTWRITEBYTECODE is set, a clone's modules are compiled at every start.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

EXAMPLE = Path(__file__).parent.parent / "examples" / "dropped-argument.json"
COMMANDS = {
    "eirene --help": ["--help"],
    "eirene --graph": ["--graph"],
    "eirene refine examples/dropped-argument.json --json": ["refine", str(EXAMPLE), "--json"],
}
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(arguments: list[str]) -> tuple[float, float]:
    """Wall time and processor time of one whole process."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "eirene", *arguments], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def dearest_imports(arguments: list[str], most: int = 15) -> list[tuple[float, str]]:
    """The imports with the greatest cumulative seconds, as Python itself reports them."""
    command = [sys.executable, "-X", "importtime", "-m", "eirene", *arguments]
    lines = subprocess.run(command, check=True, capture_output=True, text=True, env=ENVIRONMENT).stderr.splitlines()
    times = [line.removeprefix("import time:").split("|") for line in lines if line.startswith("import time:")]
    rows = [(int(total) / 1e6, name) for _, total, name in times[1:]]
    return sorted(rows, reverse=True)[:most]


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--imports", action="store_true", help="also show the dearest imports of each command")
    options = parser.parse_args()
    print(f"{'command':<54} {'first':>7} {'median':>7} {'worst':>7} {'cpu':>7}  seconds, n = {options.runs}")
    for name, arguments in COMMANDS.items():
        wall, cpu = zip(*(seconds(arguments) for _ in range(options.runs)), strict=True)
        print(f"{name:<54} {wall[0]:>7.2f} {median(wall):>7.2f} {max(wall):>7.2f} {median(cpu):>7.2f}")
        if options.imports:
            for total, module in dearest_imports(arguments):
                print(f"    {total:>6.3f} {module}")


if __name__ == "__main__":
    main()
