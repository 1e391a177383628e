"""`refine_node`: the loop as a subgraph in a node of any LangGraph graph, and as the graph of a LangGraph server.

`langgraph.json` names `graph` of this module. The server's environment says who critiques and rewrites, for that is the
server's to spend: `EIRENE_BACKEND` (`embedded` where it is not set) and `EIRENE_BASE_URL`. A client says the rest, in a
run's `configurable`: any field of `Settings`, and `review`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, cast

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.utils.runnable import RunnableCallable  # type: ignore[attr-defined]  # re-exported, but not by `as`

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.run import SettingsLike, make_backend_options, make_settings
from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State
from eirene.agent.wrappers.conversation import GivenFor, NothingGivenNotice, When, refined_reply, reply_item
from eirene.core.errors import InputError
from eirene.core.records import Item, Record, parse_item
from eirene.core.tracing import Tracing

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.agent.backends import Backend

Update = dict[str, Any]


class StateMapping(Protocol):
    """What stands between a graph's state (a dict, or an object with attributes) and the loop."""

    def item(self, state: Any) -> Item | None:
        """The item to refine; None where the state is to stay as it is. Raises `InputError`."""

    def update(self, state: Any, record: Record) -> Update:
        """What the record changes in the state."""


@dataclass(frozen=True, slots=True)
class StateKeys:
    """A state with a question and an answer, under these keys; the answer to show and the record go back into it.

    A key that the graph's state does not have is passed over, on the way in and on the way out; only `question` and
    `answer` are needed. The record is plain JSON.
    """

    question: str = "question"
    history: str = "history"
    answer: str = "answer"
    perspectives: str = "perspectives"
    context: str = "context"
    feedback: str = "feedback"
    record: str = "record"

    def item(self, state: Any) -> Item:
        """The item under the keys. Raises `InputError`, which names the mapping to take for a chat."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "record"}
        found = {name: _value(state, key) for name, key in named.items()}
        try:
            return parse_item({name: value for name, value in found.items() if value is not None})
        except InputError as error:
            if found["question"] is not None and found["answer"] is not None:
                raise
            how = "refine_node(mapping=StateMessages()) for a chat, StateKeys(question=..., answer=...) for other keys"
            raise InputError(f"{error}: the state has no such key; take {how}", field=error.field) from None

    def update(self, state: Any, record: Record) -> Update:
        """The answer to show, and the record."""
        return {self.answer: record.answer, self.record: record.model_dump(mode="json")}


@dataclass(frozen=True, slots=True)
class StateMessages:
    """A state with a chat under `key`, kept by LangGraph's `add_messages`: its last message is refined if it is final
    text of the assistant's, and replaced under its own id.

    `given` and `when` are as in `RefiningChatModel`, which is the one to take where tokens are streamed: here the draft
    is in the state before, and so in the stream. The record goes to `record`, where the state has such a key.
    """

    key: str = "messages"
    given: GivenFor | None = None
    when: When | None = None
    record: str = "record"

    def item(self, state: Any) -> Item | None:
        """The last question and its answer, in their conversation."""
        messages = self._messages(state)
        return reply_item(messages[:-1], messages[-1], when=self.when, given=self.given) if messages else None

    def update(self, state: Any, record: Record) -> Update:
        """The last message with the text to show, and with the usage of everything that was spent on it."""
        last = cast(AIMessage, self._messages(state)[-1])
        return {self.key: [refined_reply(last, record)], self.record: record.model_dump(mode="json")}

    def _messages(self, state: Any) -> Sequence[BaseMessage]:
        return cast("Sequence[BaseMessage]", _value(state, self.key) or [])


def _value(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)


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
    settings: SettingsLike | None = None,
    base_url: str | None = None,
    backend_options: BackendOptions | None = None,
    tracing: Tracing | bool = False,
    **options: Any,
) -> Runnable[Any, Any]:
    """A node that refines what the graph around it holds, in a subgraph: `builder.add_node("refine", refine_node())`.

    `backend`: who critiques and rewrites (default: `model`, the chat model whose replies these are, as in the other
    wrappers; without one the embedded default, which needs `perspectives` or `context` to judge by, and warns once
    where there is neither). `mapping` says where in the state things are: `StateKeys()` by default, `StateMessages()`
    for a chat, or anything with their two methods. The subgraph's steps can be streamed (`subgraphs=True`); its
    checkpoints are those of the graph around it, which goes on after the last finished step; with `review` it stops for
    a person (docs/guides/people.md), and that graph goes on with `Command(resume=...)`. Works in sync and async runs;
    `tracing` is that of `refine`, the other arguments are those of `build_graph`; errors are those of `refine`.

    Examples:
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
    loop = Loop(parts, told, checkpointer="inherited", review=review, tracing=tracing)

    def update(state: Any, final: State) -> Update:
        return chosen.update(state, notice.check(loop.record(final)))

    def block(state: Any) -> Update:
        _ = loop.graph  # LangGraph looks for a subgraph in what this names: so it is drawn, and its state shown
        item = chosen.item(state)
        return {} if item is None else update(state, loop.invoke(loop.start(item)))

    async def wait(state: Any) -> Update:
        item = chosen.item(state)
        return {} if item is None else update(state, await loop.ainvoke(loop.start(item)))

    return RunnableCallable(block, wait, name="refine", trace=False)


class RowState(TypedDict, total=False):
    """What goes in, as in an input row, and what comes out: the answer to show, and the record."""

    question: str
    history: list[Any] | str
    answer: str
    perspectives: list[Json] | Json | str
    context: list[Any] | Json | str
    feedback: list[Json]
    record: Json


def graph(config: RunnableConfig) -> CompiledStateGraph[RowState, None, RowState, RowState]:
    """The loop on one row, with the server's backend and the run's settings; the server brings the checkpointer.

    Raises `InputError` for a setting or a backend that cannot be used.
    """
    told: dict[str, Any] = dict(config.get("configurable") or {})
    # A server puts keys of its own beside a client's, and they change with its version: they are passed over.
    settings = Settings.of(**{name: told[name] for name in Settings.model_fields if name in told})
    parts = _parts(os.environ.get("EIRENE_BACKEND") or "embedded", os.environ.get("EIRENE_BASE_URL") or None)
    node = refine_node(parts, settings=settings, review=bool(told.get("review", False)))
    built: CompiledStateGraph[RowState, None, RowState, RowState]
    built = StateGraph(RowState).add_node("refine", node).add_edge(START, "refine").compile(name="eirene")
    return built


@functools.lru_cache(maxsize=8)
def _parts(backend: str, base_url: str | None) -> Parts:
    """One a process: all runs share its models, and the limits of calls under way."""
    return resolve_backend(backend, BackendOptions(base_url=base_url))
