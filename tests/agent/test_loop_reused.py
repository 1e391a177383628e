"""One `Loop` for many items: compiled once, with records, hashes and threads as `refine` makes them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import eirene
from eirene.agent.loop import Loop
from eirene.agent.record import row_hash, run_signature
from eirene.core.errors import InputError
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL
from tests.scripted_parts import scripted_parts

SETTINGS = eirene.Settings(seed=3)


def parts(runs: int = 1) -> eirene.Parts:
    return scripted_parts(
        samples=[FAULTY] * 20 * runs, rewrites=["better"] * runs, scores={ORIGINAL: BAD, "better": GOOD}
    )


def without_time(record: eirene.Record) -> dict[str, Any]:
    return {**record.model_dump(mode="json"), "usage": None}


def test_every_face_gives_the_same_record() -> None:
    wanted = without_time(eirene.refine(ITEM, backend=parts(), settings=SETTINGS))
    loop = Loop(parts(2), SETTINGS)
    assert without_time(loop.run(ITEM)) == wanted
    assert without_time(asyncio.run(loop.arun(eirene.Item(**ITEM)))) == wanted
    assert wanted["signature"] == run_signature(loop.parts, SETTINGS)
    assert loop.row_hash(eirene.Item(**ITEM)) == row_hash(eirene.Item(**ITEM), loop.parts, SETTINGS)


def test_loops_of_the_same_parts_and_settings_share_what_was_compiled() -> None:
    models = parts()
    assert Loop(models, SETTINGS).graph is Loop(models, SETTINGS).graph
    assert Loop(models, SETTINGS, checkpointer=InMemorySaver()).graph is not Loop(models, SETTINGS).graph


async def test_a_seed_of_its_own_is_in_the_record_and_in_its_signature() -> None:
    record = await Loop(parts(), SETTINGS).arun(ITEM, seed=8)
    assert record.seed == 8
    assert "seed:8" in record.signature


async def test_events_states_and_the_thread_are_those_of_the_run() -> None:
    events: list[str] = []
    states: list[str] = []
    saver = InMemorySaver()
    loop = Loop(parts(), SETTINGS, checkpointer=saver)
    record = await loop.arun(
        ITEM,
        thread_id="mine",
        on_event=lambda e: events.append(e["kind"]),
        on_state=lambda s: states.append(s.get("status", "")),
    )
    assert (record.status, states[-1]) == ("accepted", "accepted")
    assert events.count("sample") == 20
    assert [thread["configurable"]["thread_id"] async for thread, *_ in saver.alist(None, limit=1)] == ["mine"]


def test_a_failed_and_a_late_record_have_the_original_and_the_reason() -> None:
    loop, item = Loop(parts(), SETTINGS), eirene.Item(**ITEM)
    failed, late = loop.failed(item, ValueError("no luck")), loop.late(item, deadline_s=2, seed=5)
    assert (failed.status, failed.answer, failed.seed) == ("failed", ORIGINAL, 3)
    assert failed.why == "failed, the original stands: ValueError: no luck"
    assert late.error is not None
    assert (late.error.kind, late.seed) == ("Deadline", 5)


def test_what_cannot_be_a_loop_is_refused() -> None:
    for options, said in [
        ({"checkpointer": "runs.sqlite"}, "checkpointer must be one of LangGraph's"),
        ({"review": True}, "a review takes a checkpointer"),
    ]:
        with pytest.raises(InputError, match=said):
            Loop(parts(), SETTINGS, **options)


def test_notes_are_asked_for_before_anything_is_spent() -> None:
    loop = Loop(parts(), eirene.Settings(mode="human"))
    with pytest.raises(InputError, match="mode human needs 'feedback'"):
        loop.run(ITEM)
