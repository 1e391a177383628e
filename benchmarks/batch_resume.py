"""How long `eirene batch` takes to begin again over a journal of a million rows, and what it holds in memory.

    python benchmarks/batch_resume.py [--rows 1000000]

Makes rows and a journal that has all of them but the last, then takes the time and the CPU seconds until the first
missing row is handed to a runner, in a process of its own: the journal is read and checked, and so are the rows.
Printed as one JSON object. Linux.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eirene.agent.backends import resolve_backend
from eirene.agent.batch.engine import open_batch
from eirene.agent.batch.journal import line_text
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.record import RowHash, failed_record
from eirene.agent.settings import Settings
from eirene.data import open_dataset
from eirene.data.journal import Journal


def main() -> None:
    """Reads the options, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(begun(Path(options.folder))))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, options.rows)
        result: dict[str, Any] = {"rows": options.rows, "journal_mib": (folder / "o.jsonl").stat().st_size // 2**20}
        result["resume"] = again(folder)
        print(json.dumps(result, indent=1))


def make(folder: Path, n: int) -> None:
    """The rows and the journal. Records are those of failed rows: they can be made without a model."""
    with (folder / "i.jsonl").open("w") as file:
        file.writelines(
            json.dumps({"id": f"r{at}", "question": f"Why {at}?", "answer": "So."}) + "\n" for at in range(n)
        )
    settings = Settings.of()
    parts = resolve_backend("embedded")
    hashes, some = RowHash(parts, settings), []
    with Journal(folder / "o.jsonl") as journal:
        template = None
        for at, item in enumerate(open_dataset(str(folder / "i.jsonl")).items()):
            if at == n - 1:
                break
            work = RowWork(item, hashes.of(item))
            template = template or failed_record(work.item, ValueError("made up"), parts=parts, settings=settings)
            some.append(RowOutcome(work, template.model_copy(update={"id": item.id, "question": item.question})))
            if len(some) == 20_000:
                journal.append(map(line_text, some))
                some = []
        journal.append(map(line_text, some))


def again(folder: Path) -> dict[str, float]:
    """What a process of its own took."""
    command = [sys.executable, __file__, "--folder", str(folder)]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return found


def begun(folder: Path) -> dict[str, float]:
    """Opens the batch and takes the first missing row."""
    settings, parts = Settings.of(), resolve_backend("embedded")
    before = peak_mib()
    wall, cpu = time.perf_counter(), time.process_time()
    with open_batch(
        open_dataset(str(folder / "i.jsonl")),
        out=folder / "o.jsonl",
        hashes=RowHash(parts, settings),
        settings=settings,
    ) as batch:
        next(batch.work())
        assert batch.n_left == 1
    return {"seconds": round(time.perf_counter() - wall, 2), "cpu_seconds": round(time.process_time() - cpu, 2),
            "peak_memory_growth_mib": peak_mib() - before}  # fmt: skip


def peak_mib() -> int:
    """The most memory that this process has held (`ru_maxrss` begins with that of the process before it)."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


if __name__ == "__main__":
    main()
