"""Drives a compiled loop to its end or to a question: `run_graph` where the caller is async."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.types import Command, Durability, Overwrite, StreamMode

from eirene.agent.events import Event
from eirene.agent.graph import Graph
from eirene.agent.settings import Settings
from eirene.agent.state import Json, State
from eirene.blocking import in_thread, run_blocking
from eirene.cancellation import cancel_scope, check_cancelled

OnEvent = Callable[[Event], None]
OnState = Callable[[State], None]

SLACK_S = 0.5
"""Seconds beyond a deadline after which nobody waits any more for the event loop that should have seen it."""


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
    What runs beside the event loop by then is left behind. `on_state` is shown the state after each step.
    """
    state = cast(State, start) if before is None else before
    try:
        async with asyncio.timeout(settings.deadline_s), _left_behind():
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
        return late_state(state, settings)
    return state


def run_graph_blocking(
    graph: Graph, start: Json, config: RunnableConfig, settings: Settings, on_event: OnEvent | None
) -> State:
    """`run_graph` for callers that are not async, on an event loop of its own.

    The deadline holds even where the loop stands still: a model or a detector may work without ever waiting.
    """
    reached = [cast(State, start)]
    drive = functools.partial(run_graph, graph, start, config, settings, on_event, on_state=reached.append)
    try:
        return run_blocking(drive, name="eirene-refine", timeout_s=settings.deadline_s + SLACK_S)
    except TimeoutError:
        return late_state(reached[-1], settings)


def run_graph_now(
    graph: Graph, start: Json, config: RunnableConfig, settings: Settings, on_event: OnEvent | None
) -> State:
    """`run_graph_blocking` for checkpointers that are not async. What is left behind writes no checkpoint any more."""
    reached = [cast(State, start)]

    def drive() -> None:
        for kind, value in graph.stream(cast(State, start), config, stream_mode=_modes(on_event)):
            check_cancelled()
            if kind == "values" and "item" in value:
                reached.append(cast(State, value))
            elif kind == "custom" and on_event is not None:
                on_event(cast(Event, value))

    try:
        in_thread(drive, name="eirene-refine", timeout_s=settings.deadline_s)
    except TimeoutError:
        return late_state(reached[-1], settings)
    return reached[-1]


def _modes(on_event: OnEvent | None) -> list[StreamMode]:
    # Events that nobody listens to are not even made: twenty of them a vote are a tenth of a quick run.
    return ["values"] if on_event is None else ["custom", "values"]


@asynccontextmanager
async def _left_behind() -> AsyncIterator[None]:
    """Whatever threads are still at when the graph is done with, they are told so."""
    with cancel_scope():
        yield


def late_state(state: State, settings: Settings) -> State:
    """The state as that of a run whose time is up: failed, with the original answer."""
    message = f"the item took longer than deadline_s = {settings.deadline_s:g}"
    why = f"failed, the original stands: {message}"
    error = {"kind": "Deadline", "message": message}
    # A graph's input has LangGraph's mark around what must not be added to an earlier run's.
    reached = {key: value.value if isinstance(value, Overwrite) else value for key, value in state.items()}
    return cast(State, {**reached, "status": "failed", "why": why, "error": error})
