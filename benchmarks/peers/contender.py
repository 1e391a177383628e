"""What each contender of the peers benchmark shares: the job, warm-up, writing, and what it used. Imports only Python.

A contender gets its job as JSON on standard input, refines the warm-up rows, then the rows that count, and prints one
JSON object: CPU and wall seconds of the latter, resident memory at the end, and what became of the rows.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import resource
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

Row = dict[str, Any]
KEY = "none-needed"
CRITIC = (
    "You examine answers to questions. For each numbered statement of an answer you decide whether it gives its reader "
    "enough information for the question, or whether something that the question needs is missing at that point, and "
    "give the reason in one sentence. Judge every statement exactly once, in order."
)
REFINER = (
    "You revise answers. You are shown a question, the arguments that the answer has to give, the answer, and what is "
    "wrong with it. Reply with the new answer alone: the whole text, ready to be shown to the person who asked. Keep "
    "what is right, and state nothing that you cannot vouch for."
)
ASK = "Write the improved answer now:"


@dataclass(frozen=True, slots=True)
class Job:
    """What a contender is to do. `out`: an empty folder."""

    url: str
    rows: list[Row]
    warm: list[Row]
    concurrency: int
    out: Path


@dataclass(slots=True)
class Results:
    """The answers as they come: each a line on disk at once, and counted by what became of the row."""

    file: TextIO
    became: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row, answer: str) -> None:
        """Writes the answer of a row."""
        self.file.write(json.dumps({"id": row["id"], "original": row["answer"], "answer": answer}) + "\n")
        self.file.flush()
        self.became["kept" if answer == row["answer"] else "changed"] += 1


Refine = Callable[[Sequence[Row], Results], Awaitable[None]]
"""Refines rows, as many calls at once as the job says."""


def main(make: Callable[[Job], Refine], *, packages: Sequence[str], versions: Mapping[str, str] | None = None) -> None:
    """Runs a contender: `make` builds it once, and what it gives does the warm-up and then the rows that count.

    Reports `versions`, and those of the `packages` that it has loaded.
    """
    told = json.load(sys.stdin)
    job = Job(told["url"], told["rows"], told["warm"], told["concurrency"], Path(told["out"]))
    report = asyncio.run(_measured(make(job), job))
    loaded = [name for name in packages if name.replace("-", "_") in sys.modules]
    report["versions"] = {**(versions or {}), **{name: importlib.metadata.version(name) for name in loaded}}
    print(json.dumps(report), flush=True)


async def _measured(refine: Refine, job: Job) -> dict[str, Any]:
    for name, rows in (("warm", job.warm), ("rows", job.rows)):
        with (job.out / f"{name}.jsonl").open("w") as file:
            results = Results(file)
            began, cpu = time.perf_counter(), cpu_s()
            await refine(rows, results)
            seconds, spent = time.perf_counter() - began, cpu_s() - cpu
    return {"wall_s": seconds, "cpu_s": spent, "resident_mib": resident_mib(), "became": results.became}


async def bounded(one: Callable[[Row], Awaitable[str]], rows: Sequence[Row], results: Results, *, at_once: int) -> None:
    """Refines rows side by side, `at_once` at most."""
    places = asyncio.Semaphore(at_once)

    async def placed(row: Row) -> None:
        async with places:
            results.add(row, await one(row))

    async with asyncio.TaskGroup() as tasks:
        for row in rows:
            tasks.create_task(placed(row))


def material(row: Row) -> str:
    """The question, the arguments of each side, and the numbered statements of the answer."""
    sides = "\n".join(f"{side['name']}: {'; '.join(side['arguments'])}." for side in row["perspectives"])
    statements = "\n".join(f"{n}. {text}" for n, text in enumerate(row["statements"], start=1))
    return f"Question: {row['question']}\n\nArguments that the answer has to give:\n{sides}\n\nAnswer:\n{statements}"


def request(row: Row, faults: Sequence[tuple[int, str]]) -> str:
    """The prompt for a rewrite: what the critic was shown, and what it found, as statement number and reason."""
    found = "\n".join(f"Statement {n}: {reason}" for n, reason in faults) or "Nothing in particular."
    return f"{material(row)}\n\nWhat is wrong with it:\n{found}\n\n{ASK}"


def cpu_s() -> float:
    """CPU seconds so far, user and system, of this process and of those that it has started and that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def resident_mib() -> float:
    """Resident memory (RSS) of this process; no contender has another one by then."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
