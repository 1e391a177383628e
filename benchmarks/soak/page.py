"""The page of the soak, docs/results/soak.md, and its plot, written by the command."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from benchmarks.faults.page import table
from benchmarks.soak.talks import CHUNK, TURNS
from benchmarks.soak.trend import BLOCKS, BOUNDS, trend

PAGE = Path(__file__).parents[2] / "docs" / "results" / "soak.md"
Rows = Mapping[str, Mapping[str, Any]]
_HEAD = """# Soak: the same after half an hour as after its start

What follows was written by `python -m benchmarks.soak` ({how}).
`eirene serve` and `eirene batch` ran side by side as processes for {minutes:g} minutes, at a model server on loopback
that fails now and then (dropped, cut and broken replies, 429, 500, 503, and replies that are not sound; 1 to 2 % of
each kind of request). {clients} clients, OpenAI's own, chat with the server without a pause: every second one streams,
every third chat brings passages, every fifth its draft, and every seventh client dies before its reply.
{talks:,} conversations of {turns} turns went through `RefiningChatModel` in an agent with a checkpointer, two at a
time in each process, half with the embedded critic and half with rewrites by the (scripted) model.

![Memory, handles, threads and child processes over time]({plot})

## What grows

After a first quarter that is the warm-up: the median of the second quarter and of the last, and the slope for 1,000
items (chats, rows, conversations) by least squares, with its 95 % interval (bootstrap over twelve stretches of time).
**Flat** is what has an interval below +0.5 (MiB, or handles, threads, child processes) for 1,000 items, and in the last
quarter no more than 1 above the second (memory: 1 MiB and 3 %). Memory, in MiB, also grows while
caches of the latest texts fill, each of which has a bound: a short run is not flat for that alone.
"""


def is_sound(rows: Rows) -> bool:
    """Whether all is flat, nothing lost, and nothing of one conversation in another."""
    load, talks = rows["load"], _talks(rows)
    return not (load["lost"] or load["doubled"] or load["traces"] or any(talk["foreign"] for talk in talks)) and all(
        trend(looks, measure).is_flat for looks in _processes(rows).values() for measure in BOUNDS
    )


def write(page: Path, rows: Rows, options: argparse.Namespace) -> None:
    """Writes page and plot."""
    load, talks, processes = rows["load"], _talks(rows), _processes(rows)
    how = f"`--minutes {options.minutes:g} --conversations {options.conversations} --seed {options.seed}`, "
    how += f"{os.cpu_count()} cores shared with other work"
    statuses = Counter[str]()
    for talk in talks:
        statuses.update(talk["statuses"])
    text = _HEAD.format(
        how=how, minutes=options.minutes, clients=options.clients, talks=len(talks) * CHUNK, turns=TURNS,
        plot=page.with_suffix(".svg").name,
    )  # fmt: skip
    median, p95, p99 = load["seconds"]
    told = [
        f"Chats: {load['chats']:,}, of which {len(load['lost'])} were lost (neither a reply nor an error that says "
        f"why); a chat took {median} s in the median, {p95} s at the 95th percentile, {p99} s at the 99th. "
        f"Rows: {load['rows']:,}, {load['doubled']} of them twice. Exit codes on SIGTERM: serve "
        f"{load['exit_codes']['serve']}, batch {load['exit_codes']['batch']} (130 is: stopped, with rows left).",
        f"Conversations: {len(talks) * CHUNK:,} of {TURNS} turns; answers with another one's mark, or not with their "
        f"own: {sum(len(talk['foreign']) for talk in talks)}.",
    ]
    outcomes = [["chats", _counts(load["statuses"])], ["turns", _counts(statuses)]]
    parts = [text, _verdicts(processes), "## What came out", *told, table(["", "statuses"], outcomes)]
    page.write_text("\n\n".join(part.rstrip("\n") for part in parts) + "\n", "utf-8")
    plot(processes).savefig(page.with_suffix(".svg"))


def _talks(rows: Rows) -> list[Mapping[str, Any]]:
    return [row for key, row in rows.items() if key.startswith("talk ")]


def _processes(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """The looks at each process, but for those of a load that was cut off, or of less than a few looks."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows.values():
        if "foreign" in row or row.get("pid") in rows["load"]["pids"].values():
            found.setdefault(row["process"].replace("`", ""), []).append(row)
    return {name: looks for name, looks in found.items() if len(looks) > BLOCKS}


def _counts(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in Counter(counted).most_common())


def _verdicts(processes: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    lines = []
    for name, looks in processes.items():
        for measure in BOUNDS:
            found = trend(looks, measure)
            slope = f"{found.slope:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
            verdict = "flat" if found.is_flat else "**not flat**"
            lines.append([name, f"{looks[-1]['items']:,}", measure, f"{found.second:.0f}", f"{found.last:.0f}",
                          slope, verdict])  # fmt: skip
    return table(["", "items", "", "second quarter", "last quarter", "for 1,000 items", "verdict"], lines)


def plot(processes: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """A panel for each measure, a line for each process, over the minutes since its first look."""
    figure = Figure(figsize=(7.3, 6), layout="constrained")
    panels = figure.subplots(len(BOUNDS), 1, sharex=True)
    for axes, measure in zip(panels, BOUNDS, strict=True):
        for name, looks in processes.items():
            axes.plot([look["at"] / 60 for look in looks], [look[measure] for look in looks], label=name)
        axes.set_ylabel(measure)
        axes.set_ylim(bottom=0)
    panels[0].legend()
    panels[-1].set_xlabel("minutes")
    return figure
