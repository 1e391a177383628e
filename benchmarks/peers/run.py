"""Eirene beside LangChain by hand, dspy and instructor: CPU, time, memory, requests and tokens a row, in one table.

    python benchmarks/peers/run.py --env .venv-peers [--rows 100] [--latency 0.2] [--concurrency 16] [--repeats 3]
                                   [--neighbours 1] [--only eirene --only dspy] [--markdown FILE]

Each contender is a process of its own; the scripted server (`server.py`), which answers each request after the
latency, runs in this one. dspy and instructor run in the environment `--env`, which is made from
benchmarks/peers/requirements.txt where it is missing; LangChain in Eirene's. Contenders take turns in each repeat.
Warm-up rows, twice as many as calls go at once, come first and count for nothing. Prints JSON; `--markdown` writes
benchmarks/results/peers.md, or another page, too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import arguments, write_json, write_page
from page import page
from rows import WARM_FROM, row
from server import counts, reply

from eirene.testing.loopback import LoopbackServer

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


@dataclass(frozen=True, slots=True)
class Contender:
    """A process to be measured: its name in the table, its script with arguments, its calls a row, whose Python."""

    name: str
    script: tuple[str, ...]
    calls: int = 2
    in_peers_env: bool = False


CONTENDERS = (
    Contender("Eirene", ("by_eirene.py", "default")),
    Contender("Eirene, no detectors, no checks", ("by_eirene.py", "bare")),
    Contender("Eirene, mode improve", ("by_eirene.py", "improve"), calls=1),
    Contender("LangChain by hand", ("by_peers.py", "langchain")),
    Contender("dspy", ("by_peers.py", "dspy"), in_peers_env=True),
    Contender("dspy.Refine, one try", ("by_peers.py", "dspy-refine"), in_peers_env=True),
    Contender("instructor", ("by_peers.py", "instructor"), in_peers_env=True),
)


@contextlib.contextmanager
def neighbours(n: int) -> Iterator[None]:
    """Processes that keep a core busy each, as long as the context lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main() -> None:
    """Reads the options, measures, prints."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--env", type=Path, default=ROOT / ".venv-peers", help="environment of dspy and instructor")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--latency", type=float, default=0.2, help="seconds, above 0")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--neighbours", type=int, default=0, help="processes beside that keep a core busy each")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="contenders whose names hold this")
    parser.add_argument("--markdown", type=Path, metavar="FILE")
    options = parser.parse_args()
    wanted = [only.lower() for only in options.only]
    found = measure([c for c in CONTENDERS if not wanted or any(only in c.name.lower() for only in wanted)], options)
    print(json.dumps(found, indent=1))
    write_json(options.json, found)
    if options.markdown is not None:
        write_page(options.markdown, "peers/run.py", page(found))


def measure(wanted: list[Contender], options: argparse.Namespace) -> dict[str, Any]:
    """Every contender, as often as there are repeats, and what the machine was like."""
    python = options.env / "bin" / "python"
    if any(c.in_peers_env for c in wanted):
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(options.env)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(HERE / "requirements.txt")], check=True)
    runs: dict[str, list[dict[str, Any]]] = {c.name: [] for c in wanted}
    loads = [os.getloadavg()[0]]
    with neighbours(options.neighbours):
        for repeat in range(options.repeats):
            for contender in wanted:
                print(f"{repeat + 1} of {options.repeats}: {contender.name}", file=sys.stderr, flush=True)
                runs[contender.name].append(run(contender, options, python))
                loads.append(os.getloadavg()[0])
    return {
        "rows": options.rows, "latency_s": options.latency, "concurrency": options.concurrency,
        "repeats": options.repeats, "neighbours": options.neighbours, "cores": len(os.sched_getaffinity(0)),
        "python": sys.version.split()[0], "load_average": [min(loads), max(loads)], "runs": runs,
    }  # fmt: skip


def run(contender: Contender, options: argparse.Namespace, python: Path) -> dict[str, Any]:
    """One contender against a server of its own; what it reports and the server counted, by row."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryDirectory() as out, LoopbackServer(reply, latency_s=options.latency) as server:
        job = {
            "url": server.base_url, "rows": [row(n) for n in range(options.rows)],
            "warm": [row(WARM_FROM + n) for n in range(2 * options.concurrency)],
            "concurrency": options.concurrency, "out": out,
        }  # fmt: skip
        who = str(python) if contender.in_peers_env else sys.executable
        command = [who, str(HERE / contender.script[0]), *contender.script[1:]]
        done = subprocess.run(
            command, check=False, input=json.dumps(job), stdout=subprocess.PIPE, text=True, env=environment
        )
        counted = counts(server)
    if done.returncode:
        raise SystemExit(f"{contender.name} ended with {done.returncode}")
    return by_row(json.loads(done.stdout.splitlines()[-1]), counted, contender, options)


def by_row(
    report: dict[str, Any], counted: dict[str, int], contender: Contender, options: argparse.Namespace
) -> dict[str, Any]:
    """A run's figures. The ideal: the calls of all rows one after the other in each of the places, and nothing else."""
    ideal = contender.calls * options.latency * options.rows / options.concurrency
    return {
        "cpu_ms_a_row": round(1000 * report["cpu_s"] / options.rows, 2), "wall_s": round(report["wall_s"], 2),
        "times_ideal": round(report["wall_s"] / ideal, 3), "resident_mib": round(report["resident_mib"], 1),
        "requests_a_row": counted["requests"] / options.rows, "tokens_in_a_row": counted["tokens_in"] / options.rows,
        "tokens_out_a_row": counted["tokens_out"] / options.rows, "most_under_way": counted["most_under_way"],
        "became": report["became"], "versions": report["versions"],
    }  # fmt: skip


if __name__ == "__main__":
    main()
