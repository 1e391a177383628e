"""How fast data sets are read, and in how much memory: checked, then streamed as items, in a process of its own.

    python benchmarks/data_sets.py [--rows 1000000] [--forms jsonl,csv,parquet] [--sample 0] [--folder DIR]

The rows are made up: an answer of 50 words, and in every second row three arguments (about 450 bytes in JSON). Prints
the rows a second of processor time (of wall time, what else runs takes its share), and the peak of resident
memory beside that of a process that has read one row. The files stay in `--folder` where one is named.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eirene.data import Selection, open_dataset

WORDS = tuple(f"w{n:03d}" for n in range(500))
CHUNK = 10_000


def made_up(count: int) -> Iterator[dict[str, Any]]:
    """Rows with an id, a question, an answer, and in every second one two perspectives."""
    rng = random.Random(0)

    def text(words: int) -> str:
        return " ".join(rng.choices(WORDS, k=words))

    for n in range(count):
        row: dict[str, Any] = {
            "id": f"row-{n}",
            "question": f"{text(8)}?",
            "answer": ". ".join(text(10) for _ in range(5)) + ".",
            "perspectives": None,
        }
        if n % 2 == 0:
            sides = {"pro": [text(8), text(8)], "con": [text(8)]}
            row["perspectives"] = [{"name": name, "arguments": arguments} for name, arguments in sides.items()]
        yield row


def write(path: Path, count: int) -> None:
    """A file of rows in the form that its name tells."""
    if path.suffix == ".parquet":
        write_parquet(path, count)
        return
    with open(path, "w", newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            table = csv.writer(file)
            table.writerow(["id", "question", "answer", "perspectives"])
            for row in made_up(count):
                table.writerow([v if isinstance(v, str) else "" if v is None else json.dumps(v) for v in row.values()])
        else:
            file.writelines(json.dumps({k: v for k, v in row.items() if v}) + "\n" for row in made_up(count))


def write_parquet(path: Path, count: int) -> None:
    """Row groups of 10,000."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = made_up(count)
    schema = pa.Table.from_pylist(list(made_up(1))).schema
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, count, CHUNK):
            chunk = [next(rows) for _ in range(min(CHUNK, count - begin))]
            writer.write_table(pa.Table.from_pylist(chunk, schema=schema))


def measure(name: str, limit: int, sample: int) -> None:
    """Reads a file twice and prints what it took, as JSON."""
    data = open_dataset(name, selection=Selection(limit, sample))
    began = time.process_time()
    rows = data.check()
    checked = time.process_time()
    assert rows == sum(1 for _ in data.items())
    streamed = time.process_time()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"rows": rows, "check_s": checked - began, "items_s": streamed - checked, "peak_mb": peak}))


def in_own_process(path: Path, *, limit: int = 0, sample: int = 0) -> dict[str, float]:
    """What `measure` prints."""
    command = [sys.executable, __file__, "--measure", str(path), "--rows", str(limit), "--sample", str(sample)]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    """Makes the files, measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--forms", default="jsonl,csv,parquet")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure, options.rows, options.sample)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        print(f"{'form':<8} {'rows':>9} {'MB':>6}   {'checked/s':>9} {'items/s':>9}   {'one row':>8} {'peak MB':>8}")
        for form in options.forms.split(","):
            path = folder / f"rows-{options.rows}.{form}"
            if not path.exists():
                write(path, options.rows)
            one, whole = in_own_process(path, limit=1), in_own_process(path, sample=options.sample)
            rates = [options.rows / whole[part] for part in ("check_s", "items_s")]
            print(
                f"{form:<8} {whole['rows']:>9.0f} {path.stat().st_size / 1e6:>6.0f}   {rates[0]:>9.0f} {rates[1]:>9.0f}"
                f"   {one['peak_mb']:>8.0f} {whole['peak_mb']:>8.0f}"
            )


if __name__ == "__main__":
    main()
