"""Fixtures for runs with a human review: scripted parts, the person's answers, checkpointers of two kinds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from eirene.agent.session import ReviewedRun
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import BackendError
from eirene.core.records import Item, Record
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL, WORSE
from tests.scripted_parts import scripted_parts

Json = dict[str, Any]
GO_ON: Json = {"action": "go on"}


def parts(
    *, samples: list[Sample] | None = None, rewrites: list[str | BackendError] | None = None, **more: Any
) -> Parts:
    scores = {ORIGINAL: BAD, "better": GOOD, "worse": WORSE, "best": GOOD}
    return scripted_parts(
        samples=[FAULTY] * 20 if samples is None else samples,
        rewrites=["better"] if rewrites is None else rewrites,
        scores={**scores, **more},
    )


def opened(models: Parts, *, saver: Any = None, item: Json = ITEM, **options: Any) -> ReviewedRun:
    saver = InMemorySaver() if saver is None else saver
    return ReviewedRun(Item(**item), parts=models, settings=Settings.of(**options), checkpointer=saver)


def answered(models: Parts, *answers: Json, item: Json = ITEM, **options: Any) -> Record:
    """The record of a run in which a person gives these answers, all of them."""

    async def run() -> Record:
        run = opened(models, item=item, **options)
        await run.begin()
        for answer in answers:
            assert run.question is not None
            await run.answer(answer)
        return run.record

    return asyncio.run(run())


def reasons(record: Record) -> list[str | None]:
    critique = record.rounds[0].critique
    assert critique is not None
    return [s.reason for s in critique.sentences]


def on(saver: str, path: Path, work: Callable[[Any], Awaitable[None]]) -> None:
    """Runs `work` with a saver of that kind."""

    async def with_sqlite() -> None:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(str(path / "runs.sqlite")) as opened_saver:
            await work(opened_saver)

    async def in_memory() -> None:
        await work(InMemorySaver())

    asyncio.run(with_sqlite() if saver == "sqlite" else in_memory())


SAVERS = pytest.mark.parametrize("saver", ["memory", "sqlite"])
