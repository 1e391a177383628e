"""The page of the fault matrix: docs/results/trust.md, written by the command."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.faults.ledger import COUNTS, Account

PAGE = Path(__file__).parents[2] / "docs" / "results" / "trust.md"
_HEAD = """# Trust: what happens when everything fails

What follows was written by `python -m benchmarks.faults` ({when}).
A model server on loopback, in OpenAI's form, fails by a seeded schedule; rows have small texts, and every reply that is
not sound says the opposite of what is true, so that to read one as a verdict shows. Counted by row:

- lost: went in, and nothing came out, not even a failure;
- doubled: came out twice, or was never asked for;
- wrongly scored: a verdict, a score or a rewrite for which the server sent no sound reply (or no quorum of them);
- hung: not there when its time was over;
- leaked: the API key in an output or a log, a prompt's fence in an answer or a log, threads or handles left behind.

The tests in `tests/docs/test_faults_benchmark.py` plant one of each, and the matrix finds it. Among the statuses,
`draft: ...` is an error of the caller's own model, which the chat model and the middleware pass on as it came; "a model
file that is ..." was refused with an error that says so.
The same server and [other frameworks](peers.md); under long load: [soak](soak.md); how far the [tests](tests.md) see;
what hostile texts move: [injection](injection.md).
"""


def columns(found: Mapping[str, Account]) -> tuple[list[str], list[list[str]]]:
    """The table's heads and rows; the last row has the sums."""
    whole = Account()
    for made in found.values():
        whole.add(made)
    rows = [
        [name, f"{made.faults.total():,}", f"{made.items:,}", f"{made.out:,}", *(str(made.counts[c]) for c in COUNTS)]
        for name, made in [*found.items(), ("all", whole)]
    ]
    return ["", "faults", "items in", "items out", *COUNTS], rows


def write(
    page: Path, found: Mapping[str, Account], parts: Sequence[Mapping[str, Any]], options: argparse.Namespace
) -> None:
    """Writes the page."""
    heads, rows = columns(found)
    faults, statuses = Counter[str](), Counter[str]()
    for made in found.values():
        faults.update(made.faults)
        statuses.update(made.statuses)
    cost = f"{sum(p['cpu_s'] for p in parts) / 60:.0f} CPU-minutes beside those of processes"
    when = f"`--items {options.items} --seed {options.seed}`, {cost}, {os.cpu_count()} cores shared with other work"
    text = [
        _HEAD.format(when=when),
        "## Items", table(heads, rows),
        "## Faults", table(["what failed", "times"], [[name, f"{n:,}"] for name, n in faults.most_common() if n]),
        "## What came out", table(["status", "rows"], [[name, f"{n:,}"] for name, n in statuses.most_common()]),
    ]  # fmt: skip
    page.write_text("\n\n".join(part.rstrip("\n") for part in text) + "\n", "utf-8")


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, numbers on the right."""
    lines = [heads, ["---"] + ["---:"] * (len(heads) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
