"""The loop as a graph for a LangGraph server: `langgraph.json` names `graph` of this module.

The server's environment says who critiques and rewrites, for that is the server's to spend: `EIRENE_BACKEND`
(`embedded` where it is not set) and `EIRENE_BASE_URL`. A client says the rest, in a run's `configurable`: any field of
`Settings`, and `review`.
"""

from __future__ import annotations

import functools
import os
from typing import Any, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts
from eirene.agent.wrappers.node import refine_node


class Row(TypedDict, total=False):
    """What goes in, as in an input row, and what comes out: the answer to show, and the record."""

    question: str
    answer: str
    perspectives: list[Json] | Json | str
    context: list[Any] | Json | str
    feedback: list[Json]
    record: Json


def graph(config: RunnableConfig) -> CompiledStateGraph[Row, None, Row, Row]:
    """The loop on one row, with the server's backend and the run's settings; the server brings the checkpointer.

    Raises `InputError` for a setting or a backend that cannot be used.
    """
    told: dict[str, Any] = dict(config.get("configurable") or {})
    # A server puts keys of its own beside a client's, and they change with its version: they are passed over.
    settings = Settings.of(**{name: told[name] for name in Settings.model_fields if name in told})
    parts = _parts(os.environ.get("EIRENE_BACKEND") or "embedded", os.environ.get("EIRENE_BASE_URL") or None)
    node = refine_node(parts, settings=settings, review=bool(told.get("review", False)))
    built: CompiledStateGraph[Row, None, Row, Row]
    built = StateGraph(Row).add_node("refine", node).add_edge(START, "refine").compile(name="eirene")
    return built


@functools.lru_cache(maxsize=8)
def _parts(backend: str, base_url: str | None) -> Parts:
    """One a process: all runs share its models, and the limits of calls under way."""
    return resolve_backend(backend, BackendOptions(base_url=base_url))
