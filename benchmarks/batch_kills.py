"""`eirene batch` killed (SIGKILL) 20 times at random moments, then run to its end: what is lost, what is paid twice.

    python benchmarks/batch_kills.py [--rows 2000] [--kills 20] [--latency 0.2] [--concurrency 16]
                                     [--mode improve] [--seed 0]

Rows and replies are those of `compare_loopback.py`; the server stands in this process and notes the row of every call.
A run is killed when the server has had a random number of its calls and a random part of a second has passed; a number
of 0 is a kill while it starts. `again` counts calls about rows that stood whole in the journal when the run began: it
must be 0. `cut` are rows that had calls and no line when their run was killed, with the calls that are paid again for
them. Printed as one JSON object; the exit code is 1 where a law is broken.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from compare_loopback import item, reply

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

CALLS_A_ROW = {"fine-grained": 2, "improve": 1}
"""Critiques and a rewrite, or a rewrite alone: what the moments are drawn by."""


class Asked(list[ScriptedRequest]):
    """Keeps of each request the row that it is about."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[str] = []

    def append(self, request: ScriptedRequest) -> None:
        found = re.search(r"of district (\d+)", request.text)
        assert found is not None
        self.rows.append(f"i{found.group(1)}")

    def __len__(self) -> int:
        return len(self.rows)


def main() -> None:
    """Reads the options, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--mode", choices=sorted(CALLS_A_ROW), default="improve")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(options, Path(name))
    print(json.dumps(found, indent=1))
    is_kept = found["every_id_once"] and not found["again"] and found["kills"] == options.kills
    raise SystemExit(0 if is_kept and found["exit_code"] == 0 else 1)


def measure(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Kills run after run, lets the last one end, and holds the journal against the server's notes."""
    file, out, rng = folder / "in.jsonl", folder / "out.jsonl", np.random.default_rng(options.seed)
    file.write_text("".join(item(n).model_dump_json(exclude_none=True) + "\n" for n in range(options.rows)), "utf-8")
    most = int(
        1.6 * CALLS_A_ROW[options.mode] * options.rows / (options.kills + 1)
    )  # so that rows are left for the last run
    again: Counter[str] = Counter()
    cut: list[tuple[int, int]] = []
    torn, before, began, kills = 0, set[str](), time.monotonic(), 0
    with LoopbackServer(reply, latency_s=options.latency) as server:
        asked = server.requests = Asked()
        command = [sys.executable, "-m", "eirene", "batch", str(file), "--out", str(out), "--backend", "openai:test",
                   "--base-url", server.base_url, "--concurrency", str(options.concurrency),
                   "--mode", options.mode, "--max-rounds", "1"]  # fmt: skip
        for run in range(options.kills + 1):
            n_calls, wait_s = int(rng.integers(0, most)), float(rng.uniform(0, 3 * options.latency))
            first = len(asked)
            with (folder / "log").open("w") as log, subprocess.Popen(command, stderr=log) as process:
                if run < options.kills:
                    while len(asked) - first < n_calls and process.poll() is None:
                        time.sleep(0.002)
                    time.sleep(wait_s)
                    kills += process.poll() is None
                    process.send_signal(signal.SIGKILL)
                code = process.wait()
            while server.under_way:  # what the killed run had sent is still its own
                time.sleep(0.01)
            calls = Counter(asked.rows[first:])
            again.update({row: n for row, n in calls.items() if row in before})
            finished, is_torn = whole_lines(out)
            torn += is_torn
            if run < options.kills:
                left = {row: n for row, n in calls.items() if row not in finished}
                cut.append((len(left), sum(left.values())))
            before = finished
    lines = Counter(json.loads(line)["id"] for line in out.read_text("utf-8").splitlines())
    return {
        "rows": options.rows, "mode": options.mode, "concurrency": options.concurrency,
        "kills": kills, "seed": options.seed, "exit_code": code,
        "lines": lines.total(), "ids": len(lines),
        "every_id_once": lines == Counter(f"i{n}" for n in range(options.rows)),
        "calls": len(asked), "again": again.total(), "torn_lines": torn,
        "cut_rows": sum(rows for rows, _ in cut), "cut_rows_most": max(rows for rows, _ in cut),
        "cut_calls": sum(n for _, n in cut), "seconds": round(time.monotonic() - began),
    }  # fmt: skip


def whole_lines(out: Path) -> tuple[set[str], bool]:
    """The ids of the journal's whole lines, and whether a part of one stands behind them."""
    if not out.exists():
        return set(), False
    *whole, rest = out.read_bytes().split(b"\n")
    return {json.loads(line)["id"] for line in whole}, bool(rest)


if __name__ == "__main__":
    main()
