"""Runs Eirene against everything that fails by a schedule, and counts what is lost, doubled, wrong, hung or leaked.

    python -m benchmarks.faults                          # 20,000 items: some 8 CPU-minutes, 20 minutes on two cores
    python -m benchmarks.faults --items 500 --journal /tmp/faults.jsonl
    python -m benchmarks.faults --only batch,serve

A model server on loopback fails by a seeded schedule; processes are killed, disks are full or read-only, pipes closed,
clients slow or dead, and the clock jumps. The journal holds each part that is done: the same command goes on there.
All counts are printed and, for the whole matrix, written into docs/results/trust.md (`--page`). The exit code is 1
unless the last five columns are 0.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Journal, arguments, show

from benchmarks.faults import jobs, processes
from benchmarks.faults.ledger import COUNTS, Account, account
from benchmarks.faults.page import PAGE, columns, write
from benchmarks.faults.rows import KEY
from benchmarks.faults.server import FaultServer, Schedule

JOBS = {**jobs.JOBS, **processes.JOBS}
LIMIT_S = 900.0
"""Seconds after which a part hangs."""


@dataclass(frozen=True)
class Part:
    """Rows of one job; `key` names it in the journal."""

    name: str
    rows: range
    seed: int

    @property
    def key(self) -> str:
        """What it is called in the journal."""
        return f"{self.name} {self.rows.start}-{self.rows.stop} seed {self.seed}"


def parts_of(items: int, seed: int, only: Sequence[str] = ()) -> Iterator[Part]:
    """The parts of a matrix; no two have a row in common."""
    start = 0
    for name, (_, share, most) in JOBS.items():
        end = start + max(3, round(share * items))  # three rows fill the smallest disk
        for n in range(start, end, most):
            if not only or name in only:
                yield Part(name, range(n, min(n + most, end)), seed)
        start = end


def run(part: Part, job: jobs.Job | None = None, *, limit_s: float = LIMIT_S, wait_s: float = 10.0) -> Account:
    """What becomes of a part; one that hangs, and threads and handles that it leaves behind, are counted."""
    job, came, failed = job or JOBS[part.name][0], list[jobs.Out](), list[BaseException]()

    def work(server: FaultServer) -> None:
        try:
            came.extend(job(list(part.rows), server))
        except BaseException as error:
            failed.append(error)

    before = held()
    with jobs.Heard.all() as heard, FaultServer(Schedule(part.seed)) as server:
        thread = threading.Thread(target=work, args=(server,), daemon=True, name="part")
        thread.start()
        thread.join(limit_s)
        is_hung, book = thread.is_alive(), server.book
    made = account([] if is_hung else part.rows, came, book, logs="\n".join(heard.lines))
    if is_hung:
        made.items = len(part.rows)
        made.found("hung", f"{part.key} after {limit_s:g} s", n=len(part.rows))
    for error in failed:
        made.found("lost", f"{part.key} ended with {type(error).__name__}: {error}", n=0)
    for what, n in left(before, wait_s=wait_s).items():
        made.found("leaked", f"{part.key} left {n} {what}", n=n)
    return made


def held() -> dict[str, int]:
    """Threads and handles of this process."""
    return {"threads": threading.active_count(), "handles": len(os.listdir("/proc/self/fd"))}


def left(before: dict[str, int], *, wait_s: float) -> dict[str, int]:
    """What is held beyond that after a while in which threads may end."""
    end = time.monotonic() + wait_s
    while True:
        gc.collect()
        more = {what: n - before[what] for what, n in held().items() if n > before[what]}
        if not more or time.monotonic() > end:
            return more
        time.sleep(0.1)


def make(missing: Sequence[Part], journal: Journal) -> None:
    """Runs the parts, a line each in the journal and on the screen."""
    n = sum(len(part.rows) for part in missing)
    print(f"{len(missing)} parts, {n:,} items are left: some {n * 0.02 / 60:.0f} CPU-minutes", flush=True)
    for name in {"batch with a judge", *({"gguf"} & {part.name for part in missing})} if missing else ():
        run(Part(name, range(-1, 0), 0))  # what is loaded once is held from here on, one GGUF model among it
    for at, part in enumerate(missing, start=1):
        began, cpu = time.monotonic(), time.process_time()
        made = run(part)
        seconds = time.monotonic() - began
        journal.add(part.key, name=part.name, **made.to_json(), seconds=seconds, cpu_s=time.process_time() - cpu)
        counts = ", ".join(f"{made.counts[name]} {name}" for name in COUNTS)
        head = f"{at}/{len(missing)} {part.key}: {made.out} of {made.items} out"
        print(f"{head}, {counts}; {seconds:.0f} s", flush=True)


def main() -> None:
    """Runs what is missing, prints, writes the page."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="NAMES", help=f"some of: {', '.join(JOBS)}")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="the K-th of N processes, each with its journal")
    parser.add_argument("--journal", type=Path, default=Path("faults.jsonl"), metavar="FILE")
    parser.add_argument("--page", type=Path, default=PAGE, metavar="FILE")
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    journal, only = Journal(options.journal), [name for name in options.only.split(",") if name]
    parts = list(parts_of(options.items, options.seed, only))
    shard, of = map(int, options.shard.split("/"))
    missing = [part for part in parts[shard - 1 :: of] if part.key not in journal.rows]
    make(missing, journal)
    found = {name: Account() for name in JOBS}
    for part in parts:
        found[part.name].add(Account.from_json(journal.rows.get(part.key, Account().to_json())))
    found = {name: made for name, made in found.items() if made.items}
    show("What went in and came out", *columns(found))
    for note in [note for made in found.values() for note in made.notes][:20]:
        print(note)
    if not only and options.shard == "1/1":
        write(options.page, found, [journal.rows[part.key] for part in parts if part.key in journal.rows], options)
    raise SystemExit(any(made.counts[name] for made in found.values() for name in COUNTS))


if __name__ == "__main__":
    main()
