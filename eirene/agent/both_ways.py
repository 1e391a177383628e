"""Gives an async node a sync face, so that a graph can be run with `invoke` as well as with `ainvoke`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.utils.runnable import RunnableCallable  # type: ignore[attr-defined]  # re-exported, but not by `as`

from eirene.blocking import run_blocking


def both_ways(node: Callable[[Any], Awaitable[Any]], *, name: str) -> RunnableCallable:
    """The node as LangGraph takes it for sync and async runs; a sync run waits for it on an event loop of its own."""

    async def wait(state: Any) -> Any:
        return await node(state)

    def block(state: Any) -> Any:
        return run_blocking(lambda: wait(state), name=f"eirene-{name}")

    return RunnableCallable(block, wait, name=name, trace=False)
