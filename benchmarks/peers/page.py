"""The page of the peers benchmark: a pure function of what `benchmarks/peers/run.py` prints."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Json = Mapping[str, Any]
COLUMNS: tuple[tuple[str, Callable[[Sequence[Json]], str]], ...] = (
    ("CPU, ms a row", lambda runs: spread(runs, "cpu_ms_a_row", 1)),
    ("wall, s", lambda runs: spread(runs, "wall_s", 2)),
    ("times the ideal", lambda runs: spread(runs, "times_ideal", 2)),
    ("resident, MiB", lambda runs: spread(runs, "resident_mib", 0)),
    ("requests a row", lambda runs: spread(runs, "requests_a_row", 2)),
    ("tokens in a row", lambda runs: spread(runs, "tokens_in_a_row", 0)),
    ("tokens out a row", lambda runs: spread(runs, "tokens_out_a_row", 0)),
    ("rows", lambda runs: became(runs[-1]["became"])),
)


def page(found: Json) -> str:
    """What benchmarks/results/peers.md holds between its marks."""
    return f"{textwrap.fill(setting(found), 140)}\n\n{table(found)}\n\nLoaded: {versions(found)}."


def setting(found: Json) -> str:
    """What was run on what, and how busy that was."""
    low, high = found["load_average"]
    several = "Medians of several runs in turn, lowest to highest in brackets." if found["repeats"] > 1 else ""
    return (
        f"{found['rows']} rows with two calls each, {found['concurrency']} at once, against a scripted server "
        f"that answers after {found['latency_s']} s. {found['cores']} cores, Python "
        f"{found['python']}, load average {low:.1f} to {high:.1f} (contender and server make 1 to 2 of that). "
        f"Busy processes beside: {found['neighbours']}. {several}"
    )


def table(found: Json) -> str:
    """A line for each contender."""
    lines = ["| | " + " | ".join(name for name, _ in COLUMNS) + " |", "| --- |" + " --- |" * len(COLUMNS)]
    for name, runs in found["runs"].items():
        lines.append(f"| {name} | " + " | ".join(cell(runs) for _, cell in COLUMNS) + " |")
    return "\n".join(lines)


def spread(runs: Sequence[Json], name: str, digits: int) -> str:
    """The median of a figure, and its range where it differs."""
    values = [run[name] for run in runs]
    median, low, high = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return median if low == high else f"{median} [{low}, {high}]"


def became(counts: Json) -> str:
    """What became of the rows of a run."""
    return ", ".join(f"{n} {what}" for what, n in sorted(counts.items()) if n)


def versions(found: Json) -> str:
    """The packages of all contenders, each version once."""
    pairs = {f"{name} {v}" for runs in found["runs"].values() for name, v in runs[-1]["versions"].items()}
    return ", ".join(sorted(pairs))
