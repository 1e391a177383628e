"""The loop for callers, and checkpointers, that are not async."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph

import eirene
from eirene.agent.state import Parts
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL
from tests.rows import each
from tests.scripted_parts import scripted_parts


def parts() -> Parts:
    return scripted_parts(samples=[FAULTY] * 20, rewrites=["better"], scores={ORIGINAL: BAD, "better": GOOD})


def test_the_graph_can_be_invoked_and_streamed_without_async() -> None:
    """The same state as with `ainvoke`, but for the time it took."""
    start = eirene.initial_state(eirene.Item(**ITEM), 0)
    state = eirene.build_graph(parts()).invoke(start)
    awaited = asyncio.run(eirene.build_graph(parts()).ainvoke(start))
    assert {**state, "usage": {}} == {**awaited, "usage": {}}
    steps = [next(iter(update)) for update in eirene.build_graph(parts()).stream(start, stream_mode="updates")]
    assert steps == ["sample_feedback", "select_critique", "refine", "check", "rescore", "gate"]


@each("in_a_loop", [False, True])
def test_refine_takes_checkpointers_of_either_kind(in_a_loop: bool) -> None:
    """A saver without async methods is driven without them, in a running event loop as well."""
    events: list[Any] = []

    def run(saver: Any) -> str:
        return eirene.refine(ITEM, backend=parts(), checkpointer=saver, thread_id="t", on_event=events.append).status

    async def inside(saver: Any) -> str:
        return run(saver)

    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        savers = (sqlite, InMemorySaver())
        assert [asyncio.run(inside(saver)) if in_a_loop else run(saver) for saver in savers] == ["accepted"] * 2
        assert all(saver.get_tuple({"configurable": {"thread_id": "t"}}) for saver in savers)
    half = len(events) // 2
    assert [e["kind"] for e in events[:half]] == [e["kind"] for e in events[half:]] != []


async def test_arefine_names_what_to_do_about_a_saver_that_is_not_async() -> None:
    with (
        SqliteSaver.from_conn_string(":memory:") as saver,
        pytest.raises(eirene.InputError, match=r"SqliteSaver .* eirene\.refine"),
    ):
        await eirene.arefine(ITEM, backend=parts(), checkpointer=saver)


class _State(TypedDict):
    answer: str


def test_refine_in_a_node_leaves_the_checkpoints_to_the_graph_around_it() -> None:
    """A run without a checkpointer of its own takes none from above: that one may not be async."""

    def node(state: _State) -> _State:
        return {"answer": eirene.refine(ITEM, backend=parts()).answer}

    with SqliteSaver.from_conn_string(":memory:") as saver:
        graph = StateGraph(_State).add_node(node).add_edge(START, "node").compile(checkpointer=saver)
        config: Any = {"configurable": {"thread_id": "t"}}
        assert graph.invoke({"answer": ""}, config)["answer"] == "better"
        assert {c.config["configurable"]["checkpoint_ns"] for c in saver.list(config)} == {""}
