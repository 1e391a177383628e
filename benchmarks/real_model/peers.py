"""Other frameworks on the same rows, through the same server.

    python -m benchmarks.real_model.peers --base-url URL --model NAME --out FOLDER [--data DIR --rows 60]
        [--only one-shot,self-refine,reflection,dspy] [--sets qa,open,sides] [--concurrency 16] [--minutes 10]

One journal for each set and contender, a line a row; the same command goes on where it was stopped. A row that fails is
listed with its error, and made again with `--retry-failed`. dspy wants another openai than LangChain's client: install
it in a folder of its own and name that in PYTHONPATH, with `--only dspy`.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict

from harness import Journal

from benchmarks.real_model.compare import GRACE_S, arguments, clock
from benchmarks.real_model.contenders import CONTENDERS, Refine, Server
from benchmarks.real_model.rows import Case, cases_of


def main() -> None:
    """Runs what is missing."""
    parser = arguments(__doc__)
    parser.add_argument("--only", default=",".join(CONTENDERS))
    options = parser.parse_args()
    cases = cases_of(options.out, options.data, options.rows)
    asyncio.run(run(cases, options))


async def run(cases: list[Case], options: argparse.Namespace) -> None:
    """One contender and set after the other, until the time is up."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(options.concurrency))
    end = time.monotonic() + 60 * options.minutes
    for contender in options.only.split(","):
        refine = CONTENDERS[contender](Server(options.base_url, options.model))
        for name in options.sets.split(","):
            journal = Journal(options.out / f"{name}.{contender}.peer.jsonl")
            again = {key for key, row in journal.rows.items() if row["failed"] and options.retry_failed}
            missing = [c for c in cases if c.set == name and (c.id not in journal.rows or c.id in again)]
            began, cpu = time.monotonic(), time.process_time()
            made = await rows(missing, refine, journal, end=end, at_once=options.concurrency)
            if made:
                clock(f"{name}.{contender}", made, options, began=began, cpu=cpu)
            print(f"{contender} on {name}: {made} rows, {len(journal.rows)} in all", flush=True)


async def rows(missing: list[Case], refine: Refine, journal: Journal, *, end: float, at_once: int) -> int:
    """Makes them, so many side by side; how many were made in time."""
    places, made = asyncio.Semaphore(at_once), 0

    async def one(case: Case) -> None:
        nonlocal made
        async with places:
            began = time.monotonic()
            if began >= end:
                return
            try:
                answer, used = await asyncio.wait_for(refine(case.item), end - began + GRACE_S)
            except Exception as error:  # whatever a framework raises is the row's failure
                if not isinstance(error, TimeoutError) or time.monotonic() < end:  # else the time was up
                    journal.add(case.id, answer=None, failed=f"{type(error).__name__}: {error}"[:400])
                return
            failed = None if answer else "the reply was empty"
            seconds = time.monotonic() - began
            journal.add(case.id, answer=answer or None, failed=failed, seconds=seconds, **asdict(used))
            made += 1

    await asyncio.gather(*map(one, missing))
    return made


if __name__ == "__main__":
    main()
