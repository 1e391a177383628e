"""Drives a compiled loop to its end or to a question: `run_graph` where the caller is async, else `run_graph_now`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Durability, StreamMode

from eirene.agent.events import Event
from eirene.agent.graph import Graph
from eirene.agent.settings import Settings
from eirene.agent.state import Json, State

OnEvent = Callable[[Event], None]
OnState = Callable[[State], None]


async def run_graph(
    graph: Graph,
    start: Json | Command[Any] | None,
    config: RunnableConfig,
    settings: Settings,
    on_event: OnEvent | None,
    *,
    before: State | None = None,
    on_state: OnState | None = None,
) -> State:
    """The state in which the graph ends or waits; past the deadline the last one reached, marked as failed.

    `start` is an `initial_state`, or what a thread goes on with from the state `before`; the deadline counts from here.
    `on_state` is shown the state after each step.
    """
    state = cast(State, start) if before is None else before
    try:
        async with asyncio.timeout(settings.deadline_s):
            # A thread is on disk before the next step begins: what a person wrote is not lost to a power cut.
            durability: Durability | None = None if before is None else "sync"
            async for kind, value in graph.astream(
                cast(State, start), config, stream_mode=_modes(on_event), durability=durability
            ):
                if kind == "values" and "item" in value:  # not the news of an interrupt
                    state = cast(State, value)
                    if on_state is not None:
                        on_state(state)
                elif kind == "custom" and on_event is not None:
                    on_event(cast(Event, value))
    except TimeoutError:
        return _late(state, settings)
    return state


def run_graph_now(
    graph: Graph, start: Json, config: RunnableConfig, settings: Settings, on_event: OnEvent | None
) -> State:
    """`run_graph` for callers, and checkpointers, that are not async.

    Past the deadline the step under way is finished first: nothing can break it off from outside.
    """
    state, began = cast(State, start), time.monotonic()
    for kind, value in graph.stream(cast(State, start), config, stream_mode=_modes(on_event)):
        if kind == "values" and "item" in value:
            state = cast(State, value)
            if not state.get("status") and time.monotonic() - began > settings.deadline_s:
                return _late(state, settings)
        elif kind == "custom" and on_event is not None:
            on_event(cast(Event, value))
    return state


def _modes(on_event: OnEvent | None) -> list[StreamMode]:
    # Events that nobody listens to are not even made: twenty of them a vote are a tenth of a quick run.
    return ["values"] if on_event is None else ["custom", "values"]


def _late(state: State, settings: Settings) -> State:
    message = f"the item took longer than deadline_s = {settings.deadline_s:g}"
    why = f"failed, the original stands: {message}"
    return cast(State, {**state, "status": "failed", "why": why, "error": {"kind": "Deadline", "message": message}})
