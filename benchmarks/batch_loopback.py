"""`eirene batch` against a server that takes a second to answer: rate, CPU and memory, with or without faults.

    python benchmarks/batch_loopback.py --rows 10000 --latency 1 --concurrency 64 [--mode fine-grained] [--faults 0.1]
                                        [--timeout 60]

The console script runs as a process of its own, and so does the server (`eirene.testing.loopback`), which takes `n` and
answers every request after the latency. Rows are those of `compare_loopback.py`. `ideal` is the rate at which so many
calls of so many seconds allow for the calls that were made; `cpu_ms_a_row` is the client's own, start-up left out;
`resident_mib` is looked at as the journal grows. With faults, that share of the requests is answered with 429, 500, a
dropped connection, a cut body, garbage, or not at all until `--timeout` is over. Printed as one JSON object.
"""

from __future__ import annotations

import argparse
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

from compare_loopback import item, reply
from serve_load import cpu_s, resident_mib

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest

FAULTS: tuple[ScriptedReply, ...] = (
    HttpError(429, headers={"Retry-After": "1"}), HttpError(500), BrokenReply("drop"), BrokenReply("cut"),
    BrokenReply("garbage"), BrokenReply("hang"),
)  # fmt: skip


def main() -> None:
    """Reads the options, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--mode", default="fine-grained")
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options)
    else:
        print(json.dumps(measure(options), indent=1))


def serve(options: argparse.Namespace) -> None:
    """Runs the server until standard input has a line; then says how many calls came."""
    with LoopbackServer(lambda request, index: scripted(request, index, options.faults),
                        latency_s=options.latency) as server:  # fmt: skip
        print(server.base_url, flush=True)
        server.requests = Count()  # type: ignore[assignment]  # ten thousand prompts would be the server's memory
        server._seen = Seen()
        sys.stdin.readline()
        print(json.dumps({"calls": server.calls, "most_under_way": server.most_under_way}), flush=True)


class Count(list[Any]):
    """A list that only counts."""

    n = 0

    def append(self, _: Any) -> None:
        self.n += 1

    def __len__(self) -> int:
        return self.n


class Seen(dict[str, int]):
    """Counts of texts, by their hashes."""

    def get(self, key: str, default: Any = None) -> Any:
        return super().get(hashlib.sha1(key.encode()).hexdigest(), default)

    def __setitem__(self, key: str, value: int) -> None:
        super().__setitem__(hashlib.sha1(key.encode()).hexdigest(), value)

    def __getitem__(self, key: str) -> int:
        return super().__getitem__(hashlib.sha1(key.encode()).hexdigest())


def scripted(request: ScriptedRequest, index: int, faults: float) -> ScriptedReply:
    """The reply, or a fault for a share of the requests that their bodies and attempts decide."""
    if faults and not index:
        text = f"{request.attempt} {request.text}".encode()
        draw = int.from_bytes(hashlib.sha256(text).digest()[:8], "big") / 2**64
        if draw < faults:
            return FAULTS[int(draw / faults * len(FAULTS))]
    return reply(request, index)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Runs the server and the batch, looks at the batch as it goes, and counts what is in the journal."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file, out = folder / "in.jsonl", folder / "out.jsonl"
        with file.open("w") as rows:
            rows.writelines(item(n).model_dump_json(exclude_none=True) + "\n" for n in range(options.rows))
        command = [
            sys.executable,
            __file__,
            "--serve",
            "--latency",
            str(options.latency),
            "--faults",
            str(options.faults),
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None and server.stdin is not None
            url = server.stdout.readline().strip()
            batch = [sys.executable, "-m", "eirene", "batch", str(file), "--out", str(out), "--backend", "openai:test",
                     "--base-url", url, "--concurrency", str(options.concurrency), "--mode", options.mode,
                     "--max-rounds", "1", "--timeout", str(options.timeout)]  # fmt: skip
            seen = watched(batch, out)
            server.stdin.write("\n")
            server.stdin.flush()
            counts = json.loads(server.stdout.readline())
        lines = [json.loads(line) for line in out.open()]
    return {**summary(options, seen, counts), **accounts(lines)}


def watched(command: list[str], out: Path) -> dict[str, Any]:
    """Runs a command; its CPU seconds and memory where the journal begins, at a tenth, and at the end."""
    began, looks, first = time.monotonic(), [], None
    lines = Lines(out)
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log, text=True) as process:
        cpu = 0.0
        while process.poll() is None:
            try:
                n = lines.count()
                now, cpu, memory = time.monotonic(), cpu_s(process.pid), resident_mib(process.pid)
            except (OSError, ValueError, IndexError):
                break
            if n:
                first = first or (now, n, cpu)
                looks.append((n, memory))
            time.sleep(0.2)
        process.wait()
        log.seek(0)
        said = log.read()
    end = time.monotonic()
    return {"began": began, "end": end, "first": first or (began, 0, 0.0), "cpu": cpu, "looks": looks, "said": said,
            "code": process.returncode}  # fmt: skip


class Lines:
    """How many lines a file has that grows; of it only what has come is read."""

    def __init__(self, path: Path) -> None:
        self._path, self._read, self._n = path, 0, 0

    def count(self) -> int:
        """So many as of now."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                while block := file.read(2**20):
                    self._n += block.count(b"\n")
                    self._read += len(block)
        return self._n


def summary(options: argparse.Namespace, seen: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
    """Rates from the first row on disk to the end, a latency earlier than the first row counted in."""
    began, n_first, cpu_first = seen["first"]
    calls_a_row = counts["calls"] / options.rows
    # The first rows are on disk a row's latency after the first call; steady state is from there to the end.
    rate = (options.rows - n_first) / (seen["end"] - began)
    ideal = options.concurrency / (calls_a_row * options.latency)
    looks = seen["looks"]
    at = {n: min(looks, key=lambda look: abs(look[0] - n))[1] for n in (options.rows // 10, options.rows)}
    return {
        "rows": options.rows, "latency_s": options.latency, "concurrency": options.concurrency, "mode": options.mode,
        "faults": options.faults, "exit_code": seen["code"], "said": seen["said"].strip().splitlines()[-3:], **counts,
        "calls_a_row": round(calls_a_row, 3), "seconds": round(seen["end"] - seen["began"], 1),
        "rows_a_second": round(rate, 2), "ideal_rows_a_second": round(ideal, 2),
        "share_of_ideal": round(rate / ideal, 3),
        "cpu_ms_a_row": round(1000 * (seen["cpu"] - cpu_first) / max(options.rows - n_first, 1), 1),
        "resident_mib": at, "growth_mib": at[options.rows] - at[options.rows // 10],
        "load_average": os.getloadavg()[0],
    }  # fmt: skip


def accounts(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """Whether every row is there once, and what failed rows hold."""
    failed = [line for line in lines if line["status"] == "failed"]
    return {
        "ids": len({line["id"] for line in lines}), "lines": len(lines),
        "statuses": Counter(line["status"] for line in lines),
        "failed_hold_original_and_cause": all(f["answer"] == f["original"] and f["error"]["kind"] for f in failed),
        "retries": sum(line["usage"]["retries"] for line in lines),
    }  # fmt: skip


if __name__ == "__main__":
    main()
