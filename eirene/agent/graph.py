"""The state graph: sample feedback, select a critique, refine, check, rescore, gate, and again.

    START -> sample_feedback -> select_critique -> refine -> check -> rescore -> gate -> END
                    ^                                ^         ^                  |
                    +--- accepted, goes on ----------+---------+---- rejected ----+

A rejected rewrite gives way to the next that was drawn with it, then to new ones.

With `review` a node of that name stands between select_critique and refine, at which the graph waits for a person.
The mode decides where a run begins: `human` has its critique, `improve` and `generic` have none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Overwrite
from langgraph.utils.runnable import RunnableCallable  # type: ignore[attr-defined]  # re-exported, but not by `as`

from eirene.agent.findings import with_findings
from eirene.agent.nodes import Nodes
from eirene.agent.review import review_step
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State
from eirene.agent.thinking import NOTHING_ELSE, answer_alone, is_thinking_alone
from eirene.core.concurrency import run_blocking
from eirene.core.errors import InputError
from eirene.core.records import CRITIQUED_MODES, VOTED_MODES, Item, parse_item

Graph = CompiledStateGraph[State, None, State, State]
STEPS = ("sample_feedback", "select_critique", "refine", "check", "rescore", "gate")
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
    nodes = Nodes(with_findings(parts, settings), settings, review=review)
    steps = {name: nodes.node(getattr(nodes, name)) for name in STEPS}
    if review:
        steps["review"] = nodes.node(review_step(settings))
    graph = _layout(steps, settings)
    compiled = graph.compile(checkpointer=checkpointer, name="eirene")
    compiled.config = {**(compiled.config or {}), "recursion_limit": settings.recursion_limit}
    return compiled


def _layout(steps: Mapping[str, _Step], settings: Settings) -> StateGraph[State, None, State, State]:
    """The nodes by name, and the ways between them; with `review` among them the graph waits there for a person."""
    review = "review" in steps

    def begin(state: State) -> Literal["sample_feedback", "select_critique", "refine", "__end__"]:
        if state.get("status"):  # there is nothing to judge
            return "__end__"
        if settings.mode in VOTED_MODES:
            return "sample_feedback"
        return "select_critique" if settings.mode == "human" else "refine"

    def after_critique(state: State) -> Literal["review", "refine", "rescore", "__end__"]:
        if review and state.get("status") != "failed":
            return "review"
        return after_review(state)

    def after_review(state: State) -> Literal["refine", "rescore", "__end__"]:
        if state.get("status") == "failed":
            return "__end__"
        return "rescore" if state.get("status") else "refine"

    def after_refine(state: State) -> Literal["check", "rescore", "__end__"]:
        if state.get("status") == "failed":
            return "__end__"
        return "rescore" if state.get("status") else "check"

    def after_gate(state: State) -> Literal["sample_feedback", "refine", "check", "__end__"]:
        if state.get("status"):
            return "__end__"
        if state.get("attempt") is not None:  # the next of those that were drawn together
            return "check"
        # A rejected rewrite leaves the text, and so its critique, as they were: only the rewriting is tried again.
        text_is_new = state.get("rejected_in_a_row", 0) == 0
        return "sample_feedback" if text_is_new and settings.mode in VOTED_MODES else "refine"

    graph = StateGraph(State)
    for name, step in steps.items():
        graph.add_node(name, sync_and_async(step, name=name))
    graph.add_conditional_edges(START, _way(begin))
    targets = [*(["review"] if review else []), "refine", "rescore", "__end__"]
    graph.add_conditional_edges("select_critique", _way(after_critique), targets)
    if review:
        graph.add_conditional_edges("review", _way(after_review))
    graph.add_conditional_edges("refine", _way(after_refine))
    for name, following in (("sample_feedback", "select_critique"), ("check", "rescore"), ("rescore", "gate")):
        graph.add_conditional_edges(name, _unless_failed(following), [following, "__end__"])
    graph.add_conditional_edges("gate", _way(after_gate))
    return graph


def _unless_failed(following: str) -> RunnableCallable:
    """On to the next node; to the end after a step that failed."""
    return _way(lambda state: "__end__" if state.get("status") == "failed" else following)


def _way(choose: Callable[[State], str]) -> RunnableCallable:
    """The choice of the next node as LangGraph takes it for both kinds of run.

    A plain function would be called in a thread of its own, and traced as a step: a tenth of a graph's cost each.
    """

    async def achoose(state: State) -> str:
        return choose(state)

    return RunnableCallable(choose, achoose, name=choose.__name__, trace=False)


def initial_state(item: Item | Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The input of a run on an item, or on a row of its fields. Raises `InputError` for a row that is none.

    Every key is set, past its reducer: a thread that has run before starts anew.
    """
    whole = parse_item(item)
    item = answer_alone(whole)
    nothing = is_thinking_alone(whole)
    return {
        "item": item.model_dump(mode="json"),
        "whole": None if item is whole else whole.answer,
        "seed": seed,
        "round": 1,
        "rejected_in_a_row": 0,
        "best": item.answer,
        "samples": [],
        "evidence": None,
        "early_stop": False,
        "stop": None,
        "critique": None,
        "attempt": None,
        "waiting": [],
        "best_scores": {},
        "original_scores": {},
        "rounds": Overwrite([]),
        "usage": Overwrite({}),
        "status": "not_checked" if nothing else "",
        "why": NOTHING_ELSE if nothing else "",
        "error": None,
    }


def sync_and_async(node: Callable[[Any], Awaitable[Any]], *, name: str) -> RunnableCallable:
    """The node as LangGraph takes it for sync and async runs; a sync run waits for it on an event loop of its own."""

    async def wait(state: Any) -> Any:
        return await node(state)

    def block(state: Any) -> Any:
        return run_blocking(lambda: wait(state), name=f"eirene-{name}")

    return RunnableCallable(block, wait, name=name, trace=False)
