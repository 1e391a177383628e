"""Rows a second of the embedded default over many rows: worker processes against a loop over `eirene.refine`.

    python benchmarks/batch_embedded.py --data ROWS.jsonl [--rows 10000] [--naive 1000] [--workers N] [--old CHECKOUT]

ROWS.jsonl holds items, such as `eirene synth npov` makes. The loop runs over the first `--naive` rows, all cores left
to it, the workers over `--rows`; every record that both made is compared byte for byte, without its seconds. `--old` is
a checkout of another commit, whose `refine` is timed in the same way. Memory is the parent's, when a tenth of the rows
are made and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

NAIVE = """
import json, sys, time
import eirene
rows = [json.loads(line) for line in sys.stdin]
eirene.refine(rows[0])
began, cpu = time.perf_counter(), time.process_time()
records = [eirene.refine(row) for row in rows]
seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
out = [r.model_copy(update={"usage": r.usage.model_copy(update={"seconds": 0.0})}).model_dump_json() for r in records]
print(json.dumps({"seconds": seconds, "cpu": cpu, "records": out}))
"""


def main() -> None:
    args = parse_arguments()
    with args.data.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, args.rows)]
    for row in rows:
        row.pop("meta", None)
    few = rows[: args.naive]
    naive = loop(few, Path(__file__).parents[1])
    show("loop over refine", len(few), naive["seconds"], naive["cpu"])
    if args.old:
        old = loop(few, args.old)
        show("loop over refine, old", len(few), old["seconds"], old["cpu"])
    seconds, cpu, made, memory = asyncio.run(workers(rows, args.workers, args.naive))
    show(f"{args.workers} workers, start-up included", len(rows), seconds, cpu)
    same = sum(made[row["id"]] == record for row, record in zip(few, naive["records"], strict=True))
    print(f"records the same byte for byte but seconds: {same} of {len(few)}")
    print(f"memory of the parent: {memory[0]:.0f} MB at a tenth, {memory[1]:.0f} MB at the end")
    rate = len(rows) / seconds
    print(f"times the loop: {rate * naive['seconds'] / len(few):.2f}")
    if args.old:
        print(f"times the old loop: {rate * old['seconds'] / len(few):.2f}")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--naive", type=int, default=1_000)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--old", type=Path)
    return parser.parse_args()


def loop(rows: list[dict[str, object]], checkout: Path) -> dict[str, object]:
    """The naive loop in a process of its own, on the code of a checkout."""
    text = "".join(json.dumps(row) + "\n" for row in rows)
    env = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        [sys.executable, "-c", NAIVE], input=text, capture_output=True, text=True, check=True, env=env
    )
    return json.loads(done.stdout)


async def workers(
    rows: list[dict[str, object]], n: int, compared: int
) -> tuple[float, float, dict[str, str], tuple[float, float]]:
    """Seconds, CPU seconds of parent and workers, records by id, and the parent's memory early and late."""
    from eirene.agent.backends import resolve_backend
    from eirene.agent.batch.processes import ProcessRunner
    from eirene.agent.batch.runner import RowWork
    from eirene.agent.settings import Settings
    from eirene.core.records import parse_item

    wanted = {row["id"] for row in rows[:compared]}
    runner = ProcessRunner(functools.partial(resolve_backend, "embedded"), Settings(), workers=n)
    made: dict[str, str] = {}
    early = 0.0
    began, before = time.perf_counter(), os.times()
    async for outcome in runner.run(RowWork(parse_item(row), "") for row in rows):
        record = outcome.record
        bare = record.model_copy(update={"usage": record.usage.model_copy(update={"seconds": 0.0})})
        text = bare.model_dump_json()
        made[record.id] = text if record.id in wanted else ""
        if len(made) == max(len(rows) // 10, 1):
            early = resident_mb()
    seconds, after = time.perf_counter() - began, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    return seconds, cpu, made, (early, resident_mb())


def resident_mb() -> float:
    """The resident memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def show(what: str, n: int, seconds: object, cpu: object) -> None:
    seconds, cpu = float(str(seconds)), float(str(cpu))
    print(
        f"{what}: {n:,} rows, {n / seconds:.1f} rows/s, {1000 * seconds / n:.1f} ms, {1000 * cpu / n:.1f} ms CPU a row"
    )


if __name__ == "__main__":
    main()
