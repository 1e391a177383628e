"""The job by hand with LangChain: a structured critique, then a rewrite, over `abatch`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from contender import CRITIC, KEY, REFINER, Job, Refine, Results, Row, main, material, request
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_openai import ChatOpenAI
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
    """The chain, and how it is run over rows."""
    model = ChatOpenAI(model="test", base_url=job.url, api_key=KEY)  # type: ignore[arg-type]
    critic = _prompt(CRITIC) | model.with_structured_output(Critique)
    refiner = _prompt(REFINER) | model | StrOutputParser()
    chain = (
        RunnableLambda(lambda row: {"row": row, "text": material(row)})
        | RunnablePassthrough.assign(critique=critic)
        | RunnablePassthrough.assign(text=lambda found: request(found["row"], _faults(found["critique"])))
        | RunnablePassthrough.assign(answer=refiner)
    )

    async def refine(rows: Sequence[Row], results: Results) -> None:
        whole = chain | RunnableLambda(lambda found: results.add(found["row"], found["answer"]))
        await whole.abatch(list(rows), config={"max_concurrency": job.concurrency})

    return refine


def _prompt(system: str) -> ChatPromptTemplate:
    return ChatPromptTemplate.from_messages([("system", system), ("human", "{text}")])


def _faults(critique: Any) -> list[tuple[int, str]]:
    return [(found.n, found.reason) for found in critique.statements if not found.complete]


if __name__ == "__main__":
    main(make, packages=["langchain-core", "langchain-openai", "openai"])
