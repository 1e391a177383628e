"""Eirene's batch over the rows: as it comes, without detectors and checks (`bare`), or in one call (`improve`).

    python benchmarks/peers/by_eirene.py default|bare|improve

The engine is that of `eirene batch`: a row is on disk, with its whole record, before it counts.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from contender import Job, Refine, Results, Row, main

os.environ.setdefault("EIRENE_THREADS", "1")  # as `eirene batch` with a chat model does

from eirene import __version__
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.batch.control import Control
from eirene.agent.batch.engine import open_batch, run_batch
from eirene.agent.batch.runner import LocalRunner
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.process import settings_for_rows
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.data import open_dataset
from eirene.eval.base import NOTHING, Case, Need
from eirene.models.limits import Limiter

FIELDS = ("id", "question", "answer", "perspectives")


class AnyChange:
    """A detector that looks at nothing: what is not the given answer is better."""

    name = "any-change"
    version = "1"
    needs: frozenset[Need] = NOTHING

    def __init__(self, originals: set[str]) -> None:
        self._originals = originals

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """1 for an answer as it came, 0 for any other."""
        missing = 1.0 if case.answer in self._originals else 0.0
        return Scores(hallucination=Unscored(unscored="not looked at"), coverage=missing)


def make(job: Job) -> Refine:
    """The batch with the parts and settings of its kind."""
    kind = sys.argv[1]
    limiter = Limiter(job.concurrency, adaptive=True)
    os.environ.setdefault("OPENAI_API_KEY", "none-needed")
    parts = resolve_backend("openai:test", BackendOptions(base_url=job.url, limiter=limiter))
    if kind == "bare":
        originals = {row["answer"] for row in (*job.warm, *job.rows)}
        parts = replace(parts, detectors=(AnyChange(originals),), checks=(), advisory=frozenset())
    settings = Settings.of(max_rounds=1, mode="improve" if kind == "improve" else "fine-grained")
    runner = LocalRunner(parts, settings, limiter=limiter)

    async def refine(rows: Sequence[Row], results: Results) -> None:
        given, out = f"{results.file.name}.in.jsonl", f"{results.file.name}.out.jsonl"
        _write(rows, given)
        hashes = RowHash(parts, settings)
        with settings_for_rows(), open_batch(
            open_dataset(given), out=out, hashes=hashes, settings=settings
        ) as batch:  # fmt: skip
            await run_batch(batch, runner, control=Control(grace_s=60),
                            on_row=lambda record: results.became.update([record.status]))  # fmt: skip

    return refine


def _write(rows: Sequence[Row], file: str) -> None:
    items = [{name: row[name] for name in FIELDS} for row in rows]
    Path(file).write_text("".join(json.dumps(item) + "\n" for item in items))


if __name__ == "__main__":
    main(make, packages=["langgraph", "langchain-core", "langchain-openai", "openai"], versions={"eirene": __version__})
