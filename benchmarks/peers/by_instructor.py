"""The job with instructor: a critique held to a pydantic model in JSON mode, then a rewrite, under a semaphore."""

from __future__ import annotations

from collections.abc import Sequence

import instructor
from contender import CRITIC, KEY, REFINER, Job, Refine, Results, Row, bounded, main, material, request
from openai import AsyncOpenAI
from pydantic import BaseModel


class Statement(BaseModel):
    """One numbered statement: whether it is complete, and what is missing there."""

    n: int
    complete: bool
    reason: str


class Critique(BaseModel):
    """A critique of an answer, statement by statement."""

    statements: list[Statement]


def make(job: Job) -> Refine:
    """The patched client, and how it is run over rows."""
    plain = AsyncOpenAI(base_url=job.url, api_key=KEY)
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON)

    async def one(row: Row) -> str:
        critique = await client.chat.completions.create(
            model="test", response_model=Critique, messages=_messages(CRITIC, material(row))
        )
        faults = [(found.n, found.reason) for found in critique.statements if not found.complete]
        reply = await plain.chat.completions.create(model="test", messages=_messages(REFINER, request(row, faults)))
        return reply.choices[0].message.content or ""

    async def refine(rows: Sequence[Row], results: Results) -> None:
        await bounded(one, rows, results, at_once=job.concurrency)

    return refine


def _messages(system: str, user: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": user}]


if __name__ == "__main__":
    main(make, packages=["instructor", "openai"])
