"""How long detectors take over 10,000 answers with `eirene score`, and what becomes of its memory.

    python benchmarks/detectors_throughput.py                          # those that run no model: the target is 60 s
    python benchmarks/detectors_throughput.py --detectors alignment --answers 1000
    python benchmarks/detectors_throughput.py --detectors alignment --answers 1000 --recurring

Answers of five sentences and their six arguments are drawn from the sentences of `examples/`; each sentence ends with
a number of its own, so that no text comes twice and nothing is known beforehand. With `--recurring` arguments and
sentences come back, as in a run over one set of topics. Each row has three other answers and log-probabilities, for
the detectors that compare with these. Printed: wall time, processor time, and the resident memory of the process when
a tenth of the rows is written, and at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from eirene.eval.base import MODEL_NEEDS
from eirene.eval.registry import DETECTORS
from eirene.text.sentences import split_sentences

EXAMPLES = Path(__file__).parents[1] / "examples" / "npov.jsonl"
ENCODER = {"alignment", "arrangement", "selfcheck-embedding"}
"""These need no model of the user's, and yet run one: the shipped encoder."""
COMPUTING = [name for name, entry in DETECTORS.items() if not entry.needs & MODEL_NEEDS and name not in ENCODER]


def sentences() -> list[str]:
    """The sentences of all texts in the examples, without their full stops."""
    rows = [json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]
    texts = [row["answer"] for row in rows] + [
        a for row in rows for p in row.get("perspectives", []) for a in p["arguments"]
    ]
    return [s.text.rstrip(".") for text in texts for s in split_sentences(text) if len(s.text) > 20]


def write_rows(file: Path, count: int, *, recurring: bool) -> None:
    """So many rows with an answer of five sentences, two sides of three arguments, three samples, log-probabilities."""
    rng, pool, number = np.random.default_rng(0), sentences(), 0

    def said(n: int) -> list[str]:
        nonlocal number
        found = []
        for at in rng.integers(0, len(pool), n):
            number += 1
            found.append(f"{pool[at]}." if recurring else f"{pool[at]} in case {number}.")
        return found

    with file.open("w", encoding="utf-8") as out:
        for n in range(count):
            sides = [{"name": name, "arguments": said(3)} for name in ("pro", "con")]
            answer = " ".join(said(5))
            tokens = np.log(rng.dirichlet(np.ones(5), size=100)).round(3).tolist()
            meta = {"samples": [" ".join(said(5)) for _ in range(3)], "token_logprobs": tokens}
            row = {"id": str(n), "question": f"What of {n}?", "answer": answer, "perspectives": sides, "meta": meta}
            out.write(json.dumps(row) + "\n")


def resident_mb(pid: int) -> float:
    """The resident memory of a process in MB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024


def main() -> None:
    """Runs the command and prints what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--detectors", default=",".join(COMPUTING))
    parser.add_argument("--recurring", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows, scores = Path(folder) / "rows.jsonl", Path(folder) / "scores.jsonl"
        write_rows(rows, options.answers, recurring=options.recurring)
        command = ["-m", "eirene", "score", str(rows), "--detectors", options.detectors, "--out", str(scores)]
        print(f"{options.answers} answers, {os.cpu_count()} cores, detectors {options.detectors}", flush=True)
        began, memory = time.perf_counter(), dict[str, float]()
        process = subprocess.Popen([sys.executable, *command], stderr=subprocess.DEVNULL)
        while process.poll() is None:
            time.sleep(0.02)
            written = scores.read_bytes().count(b"\n") if "a tenth" not in memory and scores.exists() else 0
            try:
                memory["the end"] = resident_mb(process.pid) or memory["the end"]
            except (FileNotFoundError, KeyError, ProcessLookupError):
                break
            if written >= options.answers // 10:
                memory["a tenth"] = memory["the end"]
        code, wall = process.wait(), time.perf_counter() - began
        used = os.times()
        if code:
            raise SystemExit(f"eirene score ended with {code}")
        processor = used.children_user + used.children_system
        print(f"{wall:.1f} s wall, {processor:.1f} s processor, {1000 * wall / options.answers:.2f} ms an answer")
        print("resident memory: " + ", ".join(f"{mb:.0f} MB at {when}" for when, mb in sorted(memory.items())))


if __name__ == "__main__":
    main()
