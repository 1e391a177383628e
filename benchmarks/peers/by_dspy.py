"""The job with dspy: a module of two predictors, a critique and a rewrite, async, with its cache off."""

from __future__ import annotations

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
        faults = [(found.n, found.reason) for found in critique.statements if not found.complete]
        return await self.refiner.acall(material=request(row, faults))


def make(job: Job) -> Refine:
    """The module, and how it is run over rows."""
    dspy.configure(lm=dspy.LM("openai/test", api_base=job.url, api_key=KEY, cache=False))
    module = CritiqueThenRewrite()

    async def one(row: Row) -> str:
        return str((await module.acall(row=row)).improved_answer)

    async def refine(rows: Sequence[Row], results: Results) -> None:
        await bounded(one, rows, results, at_once=job.concurrency)

    return refine


if __name__ == "__main__":
    main(make, packages=["dspy", "litellm", "openai"])
