"""The compiled graph: its shape, its events, its checkpoints, and its two faces."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

import eirene
from eirene.agent.graph import compile_graph, initial_state
from eirene.agent.record import make_record
from eirene.agent.settings import Settings
from eirene.agent.state import Event, Parts
from eirene.agent.state import Event as EventType
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL
from tests.scripted_parts import scripted_parts

NODES = ["check", "gate", "refine", "rescore", "sample_feedback", "select_critique"]


def parts(runs: int = 1) -> Parts:
    return scripted_parts(
        samples=[FAULTY] * 20 * runs, rewrites=["better"] * runs, scores={ORIGINAL: BAD, "better": GOOD}
    )


def test_the_nodes_are_the_six_steps() -> None:
    graph = compile_graph(parts(), Settings())
    assert sorted(n for n in graph.get_graph().nodes if not n.startswith("__")) == NODES
    assert graph.config is not None
    assert graph.config["recursion_limit"] == Settings().recursion_limit == 31


def test_the_graph_runs_as_any_langgraph_graph() -> None:
    """Not through `refine`: a plain `ainvoke`, then the record from the state; the state is JSON throughout."""
    settings, models = Settings(seed=5), parts()
    state = asyncio.run(compile_graph(models, settings).ainvoke(initial_state(eirene.Item(**ITEM), 5)))
    assert json.loads(json.dumps(state)) == state
    assert make_record(state, parts=models, settings=settings).status == "accepted"


def test_events_come_in_order_and_are_plain() -> None:
    events: list[Event] = []
    eirene.refine(ITEM, backend=parts(), on_event=events.append)
    assert [e["node"] for e in events if e["kind"] == "node_started"] == [
        "sample_feedback", "select_critique", "refine", "check", "rescore", "gate",
    ]  # fmt: skip
    assert [e["n"] for e in events if e["kind"] == "sample"] == list(range(1, 21))
    known = set(EventType.__required_keys__ | EventType.__optional_keys__)
    assert all(set(e) <= known and json.dumps(e) for e in events)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_checkpointer_holds_the_run_and_a_thread_can_be_used_again(kind: str, tmp_path: Path) -> None:
    """Strict msgpack is on for all tests: a value in the state that is not plain would fail here."""

    async def twice(saver: Any) -> None:
        models = parts(runs=2)
        first = await eirene.arefine(ITEM, backend=models, checkpointer=saver, thread_id="t")
        second = await eirene.arefine(ITEM, backend=models, checkpointer=saver, thread_id="t")
        assert len(first.rounds) == len(second.rounds) == 1
        assert second.usage.calls == 21
        snapshot = await compile_graph(models, Settings(), checkpointer=saver).aget_state(
            {"configurable": {"thread_id": "t"}}
        )
        assert snapshot.values["status"] == "accepted"

    async def with_sqlite() -> None:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "runs.sqlite")) as saver:
            await twice(saver)

    asyncio.run(twice(InMemorySaver()) if kind == "memory" else with_sqlite())


def test_the_sync_face_hands_errors_on_inside_a_running_loop() -> None:
    async def inside() -> None:
        eirene.refine({"question": "q"})

    with pytest.raises(eirene.InputError, match="'answer' is missing"):
        asyncio.run(inside())


def test_an_unknown_backend_names_the_known_ones() -> None:
    with pytest.raises(eirene.InputError, match="unknown backend 'nonesuch'"):
        eirene.refine(ITEM, backend="nonesuch")
