"""`eirene batch` against a scripted server: rate, CPU and memory, faults of the server, and kills.

    python benchmarks/batch.py --rows 10000 --latency 1 --concurrency 64
    python benchmarks/batch.py --rows 2000 --latency 0.05 --concurrency 64 --faults 0.1 --timeout 5
    python benchmarks/batch.py --rows 2000 --latency 0.2 --concurrency 16 --mode improve --kills 20

`ideal` is the rate at which so many calls of so many seconds allow for the calls that were made; `cpu_ms_a_row` is the
client's own, start-up left out; `resident_mib` is looked at as the journal grows. With faults, that share of the
requests is answered with 429, 500, a dropped connection, a cut body, garbage, or not at all until the time is over.

With kills (SIGKILL), a run ends when the server has had a random number of its calls and a random part of a second has
passed, and the last run goes to the end. `again` counts calls about rows that stood whole in the journal when a run
began: it must be 0. `cut` are rows that had calls and no line when their run was killed. The exit code is 1 where a
row is not there once, or was asked for again.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from harness import arguments, read_rows, write_json
from loopback import cpu_s, number_in, reply, resident_mib, row

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest

FAULTS: tuple[ScriptedReply, ...] = (
    HttpError(429, headers={"Retry-After": "1"}), HttpError(500), BrokenReply("drop"), BrokenReply("cut"),
    BrokenReply("garbage"), BrokenReply("hang"),
)  # fmt: skip


def main() -> None:
    """Reads the options, measures, prints."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--mode", choices=("fine-grained", "improve"), default="fine-grained")
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (json.dumps(row(n)) + "\n" for n in range(options.rows))
        (folder / "in.jsonl").write_text("".join(lines), "utf-8")
        found = (killed if options.kills else measured)(options, folder)
        found |= accounts(read_rows(folder / "out.jsonl"), options.rows)
    print(json.dumps(found, indent=1))
    write_json(options.json, found)
    raise SystemExit(0 if found["every_id_once"] and not found.get("again") and found["exit_code"] == 0 else 1)


def command(options: argparse.Namespace, folder: Path, url: str) -> list[str]:
    """The batch as a process."""
    return [sys.executable, "-m", "eirene", "batch", str(folder / "in.jsonl"), "--out", str(folder / "out.jsonl"),
            "--backend", "openai:test", "--base-url", url, "--concurrency", str(options.concurrency),
            "--mode", options.mode, "--max-rounds", "1", "--timeout", str(options.timeout)]  # fmt: skip


def scripted(request: ScriptedRequest, index: int, *, faults: float) -> ScriptedReply:
    """The reply, or a fault for a share of the requests that their texts and attempts decide."""
    if faults and not index:
        text = f"{request.attempt} {request.text}".encode()
        draw = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
        if draw < faults:
            return FAULTS[int(draw / faults * len(FAULTS))]
    return reply(request, index)


def measured(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """One whole run: rates from the first row on disk to the end; the start-up is not in them."""
    script = functools.partial(scripted, faults=options.faults)
    with LoopbackServer(script, latency_s=options.latency) as server:
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


def killed(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Kills run after run, lets the last one end, and holds the journal against the server's notes."""
    out, rng = folder / "out.jsonl", np.random.default_rng(options.seed)
    a_row = 1 if options.mode == "improve" else 2
    most = int(1.6 * a_row * options.rows / (options.kills + 1))  # so that rows are left for the last run
    again, cut, known = Counter[str](), list[Counter[str]](), set[str]()
    with LoopbackServer(reply, latency_s=options.latency) as server:
        batch = command(options, folder, server.base_url)
        for run in range(options.kills + 1):
            first, n_calls = len(server.requests), int(rng.integers(0, most))
            with (folder / "log").open("w") as log, subprocess.Popen(batch, stderr=log) as process:
                if run < options.kills:
                    while len(server.requests) - first < n_calls and process.poll() is None:
                        time.sleep(0.002)
                    time.sleep(float(rng.uniform(0, 3 * options.latency)))
                    process.kill()
                code = process.wait()
            while server.under_way:  # what the killed run had sent is still its own
                time.sleep(0.01)
            asked = Counter(f"i{number_in(request.text)}" for request in server.requests[first:])
            again.update({key: n for key, n in asked.items() if key in known})
            whole = out.read_bytes().split(b"\n")[:-1] if out.exists() else []
            known = {json.loads(line)["id"] for line in whole}
            cut.append(Counter({key: n for key, n in asked.items() if key not in known}))
    return {
        "exit_code": code, "calls": len(server.requests), "again": again.total(), "cut_rows": sum(map(len, cut)),
        "cut_rows_most": max(map(len, cut)), "cut_calls": sum(c.total() for c in cut),
    }  # fmt: skip


def accounts(lines: list[dict[str, Any]], rows: int) -> dict[str, Any]:
    """Whether every row is there once, and what failed rows hold."""
    failed = [line for line in lines if line["status"] == "failed"]
    ids = Counter(line["id"] for line in lines)
    return {
        "lines": len(lines), "ids": len(ids), "every_id_once": ids == Counter(f"i{n}" for n in range(rows)),
        "statuses": Counter(line["status"] for line in lines),
        "failed_hold_original_and_cause": all(f["answer"] == f["original"] and f["error"]["kind"] for f in failed),
        "retries": sum(line["usage"]["retries"] for line in lines),
    }  # fmt: skip


if __name__ == "__main__":
    main()
