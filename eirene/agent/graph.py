"""The state machine: sample feedback, select a critique, refine, rescore, gate, and again.

    START -> sample_feedback -> select_critique -> refine -> rescore -> gate -> END
                    ^                                ^                   |
                    +--- accepted, goes on ----------+---- rejected -----+

With `review` a node of that name stands between select_critique and refine, at which the graph waits for a person.
The mode decides where a run begins: `human` has its critique, `improve` and `generic` have none.

Gives an async node a sync face, so that a graph can be run with `invoke` as well as with `ainvoke`.

Drives a compiled loop to its end or to a question: `run_graph` where the caller is async.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Durability, Overwrite, StreamMode
from langgraph.utils.runnable import RunnableCallable  # type: ignore[attr-defined]  # re-exported, but not by `as`

from eirene.agent.critics import equipped
from eirene.agent.nodes import Nodes
from eirene.agent.review import review_step
from eirene.agent.settings import Settings
from eirene.agent.state import Event, Json, Parts, State
from eirene.core.concurrency import in_thread, run_blocking
from eirene.core.errors import InputError
from eirene.core.records import CRITIQUED_MODES, VOTED_MODES, Item, parse_item
from eirene.text.cancellation import cancel_scope, check_cancelled

__all__ = [
    "SLACK_S",
    "Graph",
    "OnEvent",
    "OnState",
    "both_ways",
    "compile_graph",
    "initial_state",
    "late_state",
    "mermaid",
    "run_graph",
    "run_graph_blocking",
    "run_graph_now",
]

Graph = CompiledStateGraph[State, None, State, State]
STEPS = ("sample_feedback", "select_critique", "refine", "rescore", "gate")
"""The steps of the loop, as `Nodes` and a drawing of the graph call them."""

_Step = Callable[[State], Awaitable[dict[str, Any]]]


def compile_graph(
    parts: Parts,
    settings: Settings,
    *,
    checkpointer: BaseCheckpointSaver[Any] | Literal[False] | None = None,
    review: bool = False,
) -> Graph:
    """The loop over the given models as a compiled LangGraph graph; rounds and supersteps are bounded by `settings`.

    With `review` it stops once for every critique, before the rewriting, and goes on with `Command(resume=...)`; that
    takes a checkpointer, here or in the graph around it. With False there is none, whatever the graph around it has.
    Raises `InputError` for a mode that has no critique to review.
    """
    if review and settings.mode not in CRITIQUED_MODES:
        raise InputError(
            f"a review needs a critique, and mode {settings.mode} has none; take fine-grained or human", field="mode"
        )
    nodes = Nodes(equipped(parts, settings), settings, review=review)
    steps = {name: nodes.node(getattr(nodes, name)) for name in STEPS}
    if review:
        steps["review"] = nodes.node(review_step(settings))
    graph = _laid_out(steps, settings)
    compiled = graph.compile(checkpointer=checkpointer, name="eirene")
    compiled.config = {**(compiled.config or {}), "recursion_limit": settings.recursion_limit}
    return compiled


def _laid_out(steps: Mapping[str, _Step], settings: Settings) -> StateGraph[State, None, State, State]:
    """The nodes by name, and the ways between them; with `review` among them the graph waits there for a person."""
    review = "review" in steps

    def begin(state: State) -> Literal["sample_feedback", "select_critique", "refine"]:
        if settings.mode in VOTED_MODES:
            return "sample_feedback"
        return "select_critique" if settings.mode == "human" else "refine"

    def after_feedback(state: State) -> Literal["select_critique", "__end__"]:
        return "__end__" if state.get("status") == "failed" else "select_critique"

    def after_critique(state: State) -> Literal["review", "refine", "rescore", "__end__"]:
        if review and state.get("status") != "failed":
            return "review"
        return after_review(state)

    def after_review(state: State) -> Literal["refine", "rescore", "__end__"]:
        if state.get("status") == "failed":
            return "__end__"
        return "rescore" if state.get("status") else "refine"

    def after_refine(state: State) -> Literal["rescore", "__end__"]:
        return "__end__" if state.get("status") == "failed" else "rescore"

    def after_rescore(state: State) -> Literal["gate", "__end__"]:
        return "__end__" if state.get("status") == "failed" else "gate"

    def after_gate(state: State) -> Literal["sample_feedback", "refine", "__end__"]:
        if state.get("status"):
            return "__end__"
        # A rejected rewrite leaves the text, and so its critique, as they were: only the rewriting is tried again.
        text_is_new = state.get("rejected_in_a_row", 0) == 0
        return "sample_feedback" if text_is_new and settings.mode in VOTED_MODES else "refine"

    graph = StateGraph(State)
    for name, step in steps.items():
        graph.add_node(name, both_ways(step, name=name))
    graph.add_conditional_edges(START, begin)
    graph.add_conditional_edges("sample_feedback", after_feedback)
    targets = [*(["review"] if review else []), "refine", "rescore", "__end__"]
    graph.add_conditional_edges("select_critique", after_critique, targets)
    if review:
        graph.add_conditional_edges("review", after_review)
    graph.add_conditional_edges("refine", after_refine)
    graph.add_conditional_edges("rescore", after_rescore)
    graph.add_conditional_edges("gate", after_gate)
    return graph


def initial_state(item: Item | Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The input of a run on an item, or on a row of its fields. Raises `InputError` for a row that is none.

    Every key is set, past its reducer: a thread that has run before starts anew.
    """
    item = parse_item(item)
    return {
        "item": item.model_dump(mode="json"),
        "seed": seed,
        "round": 1,
        "rejected_in_a_row": 0,
        "best": item.answer,
        "samples": [],
        "early_stop": False,
        "critique": None,
        "candidate": None,
        "unusable": None,
        "best_scores": {},
        "candidate_scores": {},
        "original_scores": {},
        "gain_measurable": False,
        "rounds": Overwrite([]),
        "usage": Overwrite({}),
        "status": "",
        "why": "",
        "error": None,
    }


def mermaid() -> str:
    """The state machine as Mermaid text, drawn by LangGraph from the compiled graph."""

    async def nothing(state: State) -> dict[str, Any]:
        return {}

    graph = _laid_out(dict.fromkeys(STEPS, nothing), Settings()).compile(name="eirene")
    return str(graph.get_graph().draw_mermaid(with_styles=True))


def both_ways(node: Callable[[Any], Awaitable[Any]], *, name: str) -> RunnableCallable:
    """The node as LangGraph takes it for sync and async runs; a sync run waits for it on an event loop of its own."""

    async def wait(state: Any) -> Any:
        return await node(state)

    def block(state: Any) -> Any:
        return run_blocking(lambda: wait(state), name=f"eirene-{name}")

    return RunnableCallable(block, wait, name=name, trace=False)


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
