"""The job with each peer: a structured critique, then a rewrite, as its own documentation would do it.

    python benchmarks/peers/by_peers.py langchain|dspy|dspy-refine|instructor

`langchain` is a chain over `abatch`; `dspy` a module of two predictors in one event loop, its cache off; `dspy-refine`
is `dspy.Refine` over it with one try and a reward for any change, which is not async and runs in as many threads as
calls may go at once; `instructor` holds the critique to a pydantic model in JSON mode, under a semaphore.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

from contender import ASK, CRITIC, KEY, REFINER, Job, Refine, Results, Row, bounded, main, material, request
from pydantic import BaseModel


class Statement(BaseModel):
    """One numbered statement: whether it is complete, and what is missing there."""

    n: int
    complete: bool
    reason: str


class Critique(BaseModel):
    """A critique of an answer, statement by statement."""

    statements: list[Statement]


def faults(critique: Any) -> list[tuple[int, str]]:
    """The statements that a critique finds incomplete, and why."""
    return [(found.n, found.reason) for found in critique.statements if not found.complete]


def langchain(job: Job) -> Refine:
    """The chain, and how it is run over rows."""
    from langchain_core.output_parsers import StrOutputParser
    from langchain_core.prompts import ChatPromptTemplate
    from langchain_core.runnables import RunnableLambda, RunnablePassthrough
    from langchain_openai import ChatOpenAI

    def prompt(system: str) -> ChatPromptTemplate:
        return ChatPromptTemplate.from_messages([("system", system), ("human", "{text}")])

    model = ChatOpenAI(model="test", base_url=job.url, api_key=KEY)  # type: ignore[arg-type]
    chain = (
        RunnableLambda(lambda row: {"row": row, "text": material(row)})
        | RunnablePassthrough.assign(critique=prompt(CRITIC) | model.with_structured_output(Critique))
        | RunnablePassthrough.assign(text=lambda found: request(found["row"], faults(found["critique"])))
        | RunnablePassthrough.assign(answer=prompt(REFINER) | model | StrOutputParser())
    )

    async def refine(rows: Sequence[Row], results: Results) -> None:
        whole = chain | RunnableLambda(lambda found: results.add(found["row"], found["answer"]))
        await whole.abatch(list(rows), config={"max_concurrency": job.concurrency})

    return refine


def dspy(job: Job) -> Refine:
    """The module, and how it is run over rows."""
    import dspy

    dspy.configure(lm=dspy.LM("openai/test", api_base=job.url, api_key=KEY, cache=False))
    critic = dspy.Signature({"material": (str, dspy.InputField()), "statements": (list[Statement], dspy.OutputField())})
    refiner = dspy.Signature({"material": (str, dspy.InputField()), "improved_answer": (str, dspy.OutputField())})

    class CritiqueThenRewrite(dspy.Module):
        """The two calls of a row."""

        def __init__(self) -> None:
            super().__init__()
            self.critic = dspy.Predict(critic.with_instructions(CRITIC))
            self.refiner = dspy.Predict(refiner.with_instructions(f"{REFINER} {ASK}"))

        async def aforward(self, row: Row) -> dspy.Prediction:
            critique = await self.critic.acall(material=material(row))
            return await self.refiner.acall(material=request(row, faults(critique)))

        def forward(self, row: Row) -> dspy.Prediction:
            return self.refiner(material=request(row, faults(self.critic(material=material(row)))))

    module = CritiqueThenRewrite()

    async def one(row: Row) -> str:
        return str((await module.acall(row=row)).improved_answer)

    async def refine(rows: Sequence[Row], results: Results) -> None:
        await bounded(one, rows, results, at_once=job.concurrency)

    def reward(given: dict[str, Row], found: dspy.Prediction) -> float:
        return float(found.improved_answer != given["row"]["answer"])

    async def refine_in_threads(rows: Sequence[Row], results: Results) -> None:
        tried = dspy.Refine(module=module, N=1, reward_fn=reward, threshold=1.0)
        at_once = dspy.Parallel(num_threads=job.concurrency, max_errors=1, disable_progress_bar=True)
        found = await asyncio.to_thread(at_once, [(tried, {"row": row}) for row in rows])
        for row, prediction in zip(rows, found, strict=True):
            results.add(row, str(prediction.improved_answer))

    return refine_in_threads if sys.argv[1] == "dspy-refine" else refine


def instructor(job: Job) -> Refine:
    """The patched client, and how it is run over rows."""
    import instructor
    from openai import AsyncOpenAI

    plain = AsyncOpenAI(base_url=job.url, api_key=KEY)
    client = instructor.from_openai(plain, mode=instructor.Mode.JSON)

    def messages(system: str, user: str) -> list[dict[str, str]]:
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    async def one(row: Row) -> str:
        critique = await client.chat.completions.create(
            model="test", response_model=Critique, messages=messages(CRITIC, material(row))
        )
        asked = messages(REFINER, request(row, faults(critique)))
        reply = await plain.chat.completions.create(model="test", messages=asked)
        return reply.choices[0].message.content or ""

    async def refine(rows: Sequence[Row], results: Results) -> None:
        await bounded(one, rows, results, at_once=job.concurrency)

    return refine


MAKERS = {"langchain": langchain, "dspy": dspy, "dspy-refine": dspy, "instructor": instructor}
PACKAGES = ["langchain-core", "langchain-openai", "dspy", "instructor", "litellm", "openai"]

if __name__ == "__main__":
    main(MAKERS[sys.argv[1]], packages=PACKAGES)
