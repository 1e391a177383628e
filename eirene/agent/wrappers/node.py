"""`refine_node`: the loop as a subgraph in a node of any LangGraph graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.runnables import Runnable
from langchain_core.runnables.config import RunnableConfig
from langgraph.utils.runnable import RunnableCallable  # type: ignore[attr-defined]  # re-exported, but not by `as`

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.calling import Asked, make_backend_options, make_settings
from eirene.agent.driving import run_graph, run_graph_now
from eirene.agent.graph import compile_graph, initial_state
from eirene.agent.run import make_record
from eirene.agent.state import Json, State
from eirene.agent.wrappers.notice import NothingGivenNotice
from eirene.agent.wrappers.state_mapping import StateKeys, StateMapping, Update

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.agent.backends import Backend

_HOW = (
    "put `perspectives` or `context` into the state (of a chat: StateMessages(given=...)), or name the chat model, "
    "refine_node(model=...)"
)


def refine_node(
    backend: Backend | None = None,
    *,
    model: BaseChatModel | str | None = None,
    mapping: StateMapping | None = None,
    review: bool = False,
    settings: Asked | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | None = None,
    **options: Any,
) -> Runnable[Any, Any]:
    """A node that refines what the graph around it holds, in a subgraph: `builder.add_node("refine", refine_node())`.

    `backend`: who critiques and rewrites (default: `model`, the chat model whose replies these are, as in the other
    wrappers; without one the embedded default, which needs `perspectives` or `context` to judge by, and warns once
    where there is neither). `mapping` says where in the state things are: `StateKeys()` by default, `StateMessages()`
    for a chat, or anything with their two methods. The subgraph's steps can be streamed (`subgraphs=True`); its
    checkpoints are those of the graph around it, which goes on after the last finished step; with `review` it stops for
    a person (docs/loop.md), and that graph goes on with `Command(resume=...)`. Works in sync and async runs; the other
    arguments are those of `build_graph`, and errors are those of `refine`.

    Example:
        >>> import eirene
        >>> from typing import TypedDict
        >>> from langgraph.graph import START, StateGraph
        >>> class State(TypedDict):
        ...     question: str
        ...     answer: str
        >>> builder = StateGraph(State).add_node("refine", eirene.refine_node()).add_edge(START, "refine")
        >>> builder.compile().invoke({"question": "Is homework useful?", "answer": "It depends."})["answer"]
        'It depends.'
    """
    chosen: StateMapping = StateKeys() if mapping is None else mapping
    told = make_settings(settings, options)
    named = next((one for one in (backend, model) if one is not None), "embedded")
    parts = resolve_backend(named, make_backend_options(backend_options, base_url))
    notice = NothingGivenNotice(_HOW)
    # LangGraph finds this graph among the variables of the two functions below: so it is drawn, and its state shown.
    loop = compile_graph(parts, told, review=review)
    config: RunnableConfig = {"recursion_limit": told.recursion_limit}

    def start(state: Any) -> Json | None:
        item = chosen.item(state)
        return None if item is None else initial_state(item, told.seed)

    def update(state: Any, final: State) -> Update:
        return chosen.update(state, notice.look(make_record(final, parts=parts, settings=told)))

    def block(state: Any) -> Update:
        begin = start(state)
        return {} if begin is None else update(state, run_graph_now(loop, begin, config, told, None))

    async def wait(state: Any) -> Update:
        begin = start(state)
        return {} if begin is None else update(state, await run_graph(loop, begin, config, told, None))

    return RunnableCallable(block, wait, name="refine", trace=False)
