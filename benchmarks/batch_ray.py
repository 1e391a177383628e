"""`eirene batch --ray` on this machine, with an actor killed in the middle: whether each id is in the journal once.

    python benchmarks/batch_ray.py [--rows 2000] [--workers 2]

The rows are made up, for the embedded backend. One actor is killed (SIGKILL) when a quarter of the rows is made.
`rows_per_second` counts from the first record to the end, the death and the start of the other actor included. Linux.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "in.jsonl", Path(folder) / "out.jsonl"
        file.write_text("".join(json.dumps(row(at)) + "\n" for at in range(options.rows)), "utf-8")
        print(json.dumps(run(file, out, rows=options.rows, workers=options.workers)))


def row(at: int) -> dict[str, object]:
    given = [{"name": "pro", "arguments": [f"Zoo {at} teaches children about animals."]},
             {"name": "con", "arguments": [f"The cages of zoo {at} make animals suffer."]}]  # fmt: skip
    answer = f"Supporters of zoo {at} say that it teaches children about animals."
    return {"id": f"row-{at}", "question": f"Should zoo {at} be closed?", "answer": answer, "perspectives": given}


def run(file: Path, out: Path, *, rows: int, workers: int) -> dict[str, object]:
    script = str(Path(sys.executable).with_name("eirene"))
    began = time.monotonic()
    process = subprocess.Popen([script, "batch", str(file), "--out", str(out), "--ray", "local",
                                "--workers", str(workers)])  # fmt: skip
    while process.poll() is None and count(out) == 0:
        time.sleep(0.05)
    first, n_first = time.monotonic(), count(out)
    while process.poll() is None and count(out) < rows // 4:
        time.sleep(0.05)
    at_kill, killed = count(out), actors(process.pid)[:1]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    code = process.wait()
    seconds = time.monotonic() - first
    ids = Counter(json.loads(line)["id"] for line in out.read_text("utf-8").splitlines())
    return {
        "rows": rows, "workers": workers, "killed": len(killed), "killed_at_row": at_kill, "exit_code": code,
        "lines": sum(ids.values()), "ids": len(ids), "every_id_once": ids == Counter(f"row-{n}" for n in range(rows)),
        "start_s": round(first - began, 1), "rows_per_second": round((rows - n_first) / seconds, 1),
    }  # fmt: skip


def count(out: Path) -> int:
    return out.read_bytes().count(b"\n") if out.exists() else 0


def actors(pid: int) -> list[int]:
    """The processes below one that are actors of ours."""
    parents, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if (folder / "cmdline").read_text().startswith("ray::RowWorker"):
                found.append(int(folder.name))
        except OSError:
            continue  # it has ended meanwhile

    def is_below(child: int) -> bool:
        while child in parents and child != pid:
            child = parents[child]
        return child == pid

    return [child for child in found if is_below(child)]


if __name__ == "__main__":
    main()
