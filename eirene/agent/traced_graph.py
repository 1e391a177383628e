"""A compiled LangGraph graph whose runs are traced, whoever runs it: `build_graph(tracing=...)`.

`invoke`, `ainvoke` and the streams of events all go through `stream` and `astream`. Between two pieces of a stream the
code of its reader runs, which is no part of the run: the span is under way in the pieces alone.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any, Protocol, Self, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph.state import CompiledStateGraph

from eirene.agent.state import State

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from eirene.core.tracing import HeldSpan

_END = object()


class Begins(Protocol):
    """Begins the span of a run, or of a stretch of one, in the state `start`."""

    def __call__(self, start: Any, *, thread_id: str | None) -> HeldSpan: ...


class TracedGraph(CompiledStateGraph[State, None, State, State]):
    """The graph, with a span around each of its runs."""

    def __init__(self, *, begins: Begins, **fields: Any) -> None:
        super().__init__(**fields)
        self.begins = begins

    @classmethod
    def of(cls, graph: CompiledStateGraph[State, None, State, State], begins: Begins) -> Self:
        """The graph made anew from its own fields, as LangGraph's `copy` does it."""
        fields = {name: value for name, value in vars(graph).items() if name != "__orig_class__"}
        return cls(**fields, begins=begins)

    def stream(self, input: Any, config: RunnableConfig | None = None, **how: Any) -> Iterator[Any]:
        """LangGraph's, traced."""
        before = self.get_state(cast("RunnableConfig", config)).values if self._goes_on(input, config) else input
        held = self._held(before, config)
        with held.whole(), closing(cast(Any, super().stream(input, config, **how))) as pieces:
            while True:
                with held.piece():
                    piece = next(pieces, _END)
                if piece is _END:
                    return
                yield piece

    async def astream(self, input: Any, config: RunnableConfig | None = None, **how: Any) -> AsyncIterator[Any]:
        """LangGraph's, traced."""
        goes_on = self._goes_on(input, config)
        before = (await self.aget_state(cast("RunnableConfig", config))).values if goes_on else input
        held = self._held(before, config)
        with held.whole():
            async with aclosing(cast(Any, super().astream(input, config, **how))) as pieces:
                while True:
                    with held.piece():
                        piece = await anext(pieces, _END)
                    if piece is _END:
                        return
                    yield piece

    def _goes_on(self, input: Any, config: RunnableConfig | None) -> bool:
        """Whether a thread goes on with what its checkpoints hold, and so the state has to be looked for there."""
        has_thread = config is not None and "thread_id" in config.get("configurable", {})
        return not isinstance(input, Mapping) and has_thread and isinstance(self.checkpointer, BaseCheckpointSaver)

    def _held(self, before: Any, config: RunnableConfig | None) -> HeldSpan:
        told = {} if config is None else config.get("configurable", {})
        return self.begins(before if isinstance(before, Mapping) else {}, thread_id=told.get("thread_id"))
