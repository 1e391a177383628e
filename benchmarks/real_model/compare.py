"""Eirene's modes on the rows of the benchmark, through one server, by the engine of `eirene batch`.

    python -m benchmarks.real_model.compare --base-url URL --model NAME --data DIR --rows 60 --out FOLDER
        [--sets qa,open,sides] [--modes fine-grained,human,generic,improve,embedded] [--option NAME=VALUE]
        [--concurrency 16] [--minutes 10] [--retry-failed]

One journal for each set and mode, with whole records; the same command goes on where it was stopped. Settings are the
default ones but for what `--option` names: a setting of the loop, or of the backend. `human` runs on `qa`, where the
notes fault just the sentences that a person changed; `embedded`, which asks no server, where something was given.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

os.environ.setdefault("EIRENE_THREADS", "1")  # as `eirene batch` with a chat model does
os.environ.setdefault("OPENAI_API_KEY", "none-needed")

from harness import write_rows

from benchmarks.real_model.rows import SETS, Case, cases_of
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.batch.control import Control
from eirene.agent.batch.engine import Again, open_batch, run_batch
from eirene.agent.batch.runner import LocalRunner
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import EireneError
from eirene.core.process import settings_for_rows
from eirene.core.records import Record
from eirene.data import open_dataset
from eirene.models.limits import Limiter

MODES = ("fine-grained", "human", "generic", "improve", "embedded")
GRACE_S = 30.0
"""For rows under way when the time is up."""


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """The parser of the commands that ask the server."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--model", default="qwen")
    parser.add_argument("--data", type=Path, help="the folder of data sets, where the rows are not in FOLDER yet")
    parser.add_argument("--rows", type=int, default=60, help="of each set")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=600, help="no row is begun later")
    parser.add_argument("--retry-failed", action="store_true")
    return parser


def main() -> None:
    """Runs what is missing."""
    parser = arguments(__doc__)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    cases = cases_of(options.out, options.data, options.rows)
    try:
        asyncio.run(compare(cases, options))
    except EireneError as error:
        raise SystemExit(f"{error}") from None


def named(options: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values by name, those of the loop's settings and those of the backend; JSON where it is that, else text."""
    loop, backend = dict[str, Any](), dict[str, Any]()
    for option in options:
        name, _, text = option.partition("=")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        if name in Settings.model_fields:
            loop[name] = value
        elif name in {field.name for field in fields(BackendOptions)}:
            backend[name] = value
        else:
            raise SystemExit(f"--option {name}: no setting of the loop or the backend has this name")
    return loop, backend


async def compare(cases: list[Case], options: argparse.Namespace) -> None:
    """One set and mode after the other, until the time is up."""
    loop, backend = named(options.option)
    limiter = Limiter(options.concurrency, adaptive=True)
    of_server = resolve_backend(
        f"openai:{options.model}",
        BackendOptions(**{"base_url": options.base_url, "limiter": limiter, "timeout_s": 180.0, **backend}),
    )
    end = time.monotonic() + 60 * options.minutes
    for mode in options.modes.split(","):
        for name in options.sets.split(","):
            own = [case for case in cases if case.set == name]
            if not own or (mode == "human" and name != "qa") or (mode == "embedded" and name == "open"):
                continue
            if time.monotonic() >= end:
                print(f"{options.minutes:g} minutes are over; the same command goes on from here")
                return
            settings = Settings.of(**{**loop, "mode": "fine-grained" if mode == "embedded" else mode})
            parts = resolve_backend("embedded") if mode == "embedded" else of_server
            runner = LocalRunner(parts, settings, limiter=None if mode == "embedded" else limiter)
            await arm(f"{name}.{mode}", own, parts, settings, runner, end=end, options=options)


async def arm(
    name: str, cases: list[Case], parts: Parts, settings: Settings, runner: LocalRunner, *, end: float,
    options: argparse.Namespace,
) -> None:  # fmt: skip
    """One set in one mode: the rows that its journal has not."""
    given = options.out / f"{name}.in.jsonl"
    notes = settings.mode == "human"
    write_rows(given, [{"id": c.id, **c.item} | ({"feedback": c.notes} if notes else {}) for c in cases])
    made, began, cpu = 0, time.monotonic(), time.process_time()

    def on_row(record: Record) -> None:
        nonlocal made
        made += 1
        print(f"{name} {made}: {record.status}, {record.usage.seconds:.1f} s, {record.why[:90]}", flush=True)

    control = Control(grace_s=GRACE_S)
    control.stop_after(max(end - time.monotonic(), 0.1), "--minutes")
    try:
        with settings_for_rows(), open_batch(
            open_dataset(str(given)), out=options.out / f"{name}.jsonl", hashes=RowHash(parts, settings),
            settings=settings, again=Again(failed=options.retry_failed),
        ) as batch:  # fmt: skip
            await run_batch(batch, runner, control=control, on_row=on_row)
    finally:
        control.close()
        if made:
            clock(name, made, options, began=began, cpu=cpu)


def clock(name: str, rows: int, options: argparse.Namespace, *, began: float, cpu: float) -> None:
    """Notes the wall clock and CPU that so many rows took; several commands may write side by side."""
    took = {"seconds": time.monotonic() - began, "cpu_s": time.process_time() - cpu}
    with (options.out / "times.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"arm": name, "rows": rows, "concurrency": options.concurrency, **took}) + "\n")


if __name__ == "__main__":
    main()
