"""`eirene batch` against a scripted server: rate, CPU and memory. Its faults and kills: `python -m benchmarks.faults`.

    python benchmarks/batch.py --rows 10000 --latency 1 --concurrency 64

`ideal` is the rate at which so many calls of so many seconds allow for the calls that were made; `cpu_ms_a_row` is the
client's own, start-up left out; `resident_mib` is looked at as the journal grows. The exit code is 1 where a row is not
there once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from harness import arguments, read_rows, write_json
from loopback import cpu_s, reply, resident_mib, row

from eirene.testing.loopback import LoopbackServer


def main() -> None:
    """Reads the options, measures, prints."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--mode", choices=("fine-grained", "improve"), default="fine-grained")
    parser.add_argument("--timeout", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (json.dumps(row(n)) + "\n" for n in range(options.rows))
        (folder / "in.jsonl").write_text("".join(lines), "utf-8")
        found = measured(options, folder)
        found |= accounts(read_rows(folder / "out.jsonl"), options.rows)
    print(json.dumps(found, indent=1))
    write_json(options.json, found)
    raise SystemExit(0 if found["every_id_once"] and found["exit_code"] == 0 else 1)


def command(options: argparse.Namespace, folder: Path, url: str) -> list[str]:
    """The batch as a process."""
    return [sys.executable, "-m", "eirene", "batch", str(folder / "in.jsonl"), "--out", str(folder / "out.jsonl"),
            "--backend", "openai:test", "--base-url", url, "--concurrency", str(options.concurrency),
            "--mode", options.mode, "--max-rounds", "1", "--timeout", str(options.timeout)]  # fmt: skip


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One whole run: rates from the first row on disk to the end; the start-up is not in them."""
    with LoopbackServer(reply, latency_s=options.latency) as server:
        seen = watched(command(options, folder, server.base_url), folder / "out.jsonl")
    first, n_first, cpu_first = seen["first"]
    rate = (options.rows - n_first) / (seen["end"] - first)
    ideal = options.concurrency * options.rows / (server.calls * options.latency)
    at = {n: min(seen["looks"], key=lambda look: abs(look[0] - n))[1] for n in (options.rows // 10, options.rows)}
    return {
        "exit_code": seen["exit_code"], "said": seen["said"], "calls": server.calls,
        "most_under_way": server.most_under_way,
        "seconds": round(seen["end"] - seen["began"], 1), "rows_a_second": round(rate, 2),
        "ideal_rows_a_second": round(ideal, 2), "share_of_ideal": round(rate / ideal, 3),
        "cpu_ms_a_row": round(1000 * (seen["cpu"] - cpu_first) / max(options.rows - n_first, 1), 1),
        "resident_mib": at, "load_average": os.getloadavg()[0],
    }  # fmt: skip


def watched(batch: list[str], out: Path) -> dict[str, Any]:
    """Runs a command; its CPU seconds and memory as the journal grows, at the first row and at the end."""
    began, looks, first, cpu = time.monotonic(), [(0, 0)], None, 0.0
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(batch, stderr=log, text=True) as process:
        while process.poll() is None:
            n = out.read_bytes().count(b"\n") if out.exists() else 0
            try:
                cpu, memory = cpu_s(process.pid), resident_mib(process.pid)
            except (OSError, ValueError, IndexError):
                break  # it has ended meanwhile
            if n:
                first = first or (time.monotonic(), n, cpu)
                looks.append((n, memory))
            time.sleep(0.5)
        process.wait()
        log.seek(0)
        said = log.read().strip().splitlines()[-3:]
    return {"began": began, "end": time.monotonic(), "first": first or (began, 0, 0.0), "cpu": cpu, "looks": looks,
            "said": said, "exit_code": process.returncode}  # fmt: skip


def accounts(lines: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    """Whether every row is there once."""
    ids = Counter(line["id"] for line in lines)
    statuses = Counter(line["status"] for line in lines)
    return {"every_id_once": ids == Counter(f"i{n}" for n in range(rows)), "statuses": statuses}


if __name__ == "__main__":
    main()
