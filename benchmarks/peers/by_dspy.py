"""The job with dspy: a module of two predictors, a critique and a rewrite, with its cache off.

    python benchmarks/peers/by_dspy.py async|refine

`async` runs the module in one event loop. `refine` is `dspy.Refine` over it with one try and a reward for any change;
that is not async, and runs in as many threads as calls may go at once.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import dspy
from contender import ASK, CRITIC, KEY, REFINER, Job, Refine, Results, Row, bounded, main, material, request
from pydantic import BaseModel


class Statement(BaseModel):
    """One numbered statement: whether it is complete, and what is missing there."""

    n: int
    complete: bool
    reason: str


class Criticise(dspy.Signature):
    """Examines an answer."""

    material: str = dspy.InputField()
    statements: list[Statement] = dspy.OutputField()


class Rewrite(dspy.Signature):
    """Revises an answer."""

    material: str = dspy.InputField()
    improved_answer: str = dspy.OutputField()


class CritiqueThenRewrite(dspy.Module):
    """The two calls of a row."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = dspy.Predict(Criticise.with_instructions(CRITIC))
        self.refiner = dspy.Predict(Rewrite.with_instructions(f"{REFINER} {ASK}"))

    async def aforward(self, row: Row) -> dspy.Prediction:
        """A critique of the row's answer, then the rewrite."""
        critique = await self.critic.acall(material=material(row))
        return await self.refiner.acall(material=request(row, _faults(critique)))

    def forward(self, row: Row) -> dspy.Prediction:
        """The same for callers that are not async."""
        critique = self.critic(material=material(row))
        return self.refiner(material=request(row, _faults(critique)))


def _faults(critique: dspy.Prediction) -> list[tuple[int, str]]:
    return [(found.n, found.reason) for found in critique.statements if not found.complete]


def reward(given: dict[str, Row], found: dspy.Prediction) -> float:
    """1 for any change."""
    return float(found.improved_answer != given["row"]["answer"])


def make(job: Job) -> Refine:
    """The module, and how it is run over rows."""
    dspy.configure(lm=dspy.LM("openai/test", api_base=job.url, api_key=KEY, cache=False))
    module = CritiqueThenRewrite()

    async def one(row: Row) -> str:
        return str((await module.acall(row=row)).improved_answer)

    async def refine(rows: Sequence[Row], results: Results) -> None:
        await bounded(one, rows, results, at_once=job.concurrency)

    async def refine_in_threads(rows: Sequence[Row], results: Results) -> None:
        tried = dspy.Refine(module=module, N=1, reward_fn=reward, threshold=1.0)
        at_once = dspy.Parallel(num_threads=job.concurrency, max_errors=1, disable_progress_bar=True)
        found = await asyncio.to_thread(at_once, [(tried, {"row": row}) for row in rows])
        for row, prediction in zip(rows, found, strict=True):
            results.add(row, str(prediction.improved_answer))

    return refine_in_threads if sys.argv[1] == "refine" else refine


if __name__ == "__main__":
    main(make, packages=["dspy", "litellm", "openai"])
