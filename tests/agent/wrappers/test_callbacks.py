"""LangChain callbacks, tags, metadata and run names reach the model calls inside, by every road into the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, NotRequired, TypedDict
from uuid import UUID

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler, get_usage_metadata_callback
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import START, StateGraph

import eirene
from eirene.agent.wrappers.chat_model import RefiningChatModel
from eirene.agent.wrappers.middleware import RefineMiddleware
from eirene.core.errors import InputError
from eirene.models.scripted import ScriptedChatModel

QUESTION = "Should zoos be closed?"
DRAFT = "Supporters say that zoos teach children about animals."
BETTER = f"{DRAFT} Opponents say that cages make animals suffer."
CRITIQUE = "1. [Incomplete] The suffering of animals is missing."
SIDES = [
    {"name": "pro", "arguments": ["Zoos teach children about animals."]},
    {"name": "con", "arguments": ["Cages make animals suffer."]},
]
ITEM = {"question": QUESTION, "answer": DRAFT, "perspectives": SIDES}
SETTINGS = eirene.Settings(samples=3, max_rounds=1, rewrite="whole")


class Watch(BaseCallbackHandler):
    """A handler as a tracer is one: notes which runs begin, under which, with which tags and metadata."""

    def __init__(self) -> None:
        self.names: dict[UUID, str] = {}
        self.parents: dict[UUID, UUID | None] = {}
        self.calls: list[UUID] = []
        self.tags: dict[UUID, list[str]] = {}
        self.metadata: dict[UUID, dict[str, Any]] = {}
        self.ended: list[UUID] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **more: Any) -> None:
        self._began(run_id, str(more.get("name")), more)

    def on_chat_model_start(
        self, serialized: Any, messages: list[list[BaseMessage]], *, run_id: UUID, **more: Any
    ) -> None:
        self._began(run_id, str(more.get("name") or serialized["name"]), more)
        self.calls.append(run_id)

    def on_llm_end(self, response: Any, *, run_id: UUID, **more: Any) -> None:
        self.ended.append(run_id)

    def _began(self, run_id: UUID, name: str, more: dict[str, Any]) -> None:
        self.names[run_id], self.parents[run_id] = name, more.get("parent_run_id")
        self.tags[run_id], self.metadata[run_id] = more.get("tags") or [], more.get("metadata") or {}

    def path(self, run_id: UUID) -> list[str]:
        """The names from the outermost run down to this one."""
        parent = self.parents[run_id]
        return [*([] if parent is None or parent not in self.names else self.path(parent)), self.names[run_id]]

    @property
    def paths(self) -> list[list[str]]:
        """Those of the model calls."""
        return [self.path(call) for call in self.calls]


@pytest.fixture
def watch() -> Iterator[Watch]:
    watch = Watch()
    yield watch
    assert watch.calls and set(watch.ended) == set(watch.calls)
    for call in watch.calls:
        assert "mine" in watch.tags[call], watch.path(call)
        assert watch.metadata[call].get("user") == "u1", watch.path(call)


def config(watch: Watch) -> RunnableConfig:
    return {"callbacks": [watch], "tags": ["mine"], "metadata": {"user": "u1"}, "run_name": "my run"}


def scripted(*before: Any) -> ScriptedChatModel:
    return ScriptedChatModel([*before, *[CRITIQUE] * 3, BETTER])


@pytest.mark.parametrize("is_async", [False, True])
async def test_refine_takes_a_configuration(watch: Watch, is_async: bool) -> None:
    told: Any = {"backend": scripted(), "settings": SETTINGS, "config": config(watch)}
    record = await eirene.arefine(ITEM, **told) if is_async else eirene.refine(ITEM, **told)
    assert record.status == "accepted"
    assert watch.paths == [
        ["my run", "sample_feedback", "ScriptedChatModel"],
        ["my run", "refine", "ScriptedChatModel"],
    ]


async def test_refine_inside_a_chain_reports_to_the_chain(watch: Watch) -> None:
    async def inner(item: Any) -> str:
        return (await eirene.arefine(item, backend=scripted(), settings=SETTINGS)).status

    assert await RunnableLambda(inner).ainvoke(ITEM, config(watch)) == "accepted"
    assert [path[:3] for path in watch.paths] == [
        ["my run", "eirene", "sample_feedback"],
        ["my run", "eirene", "refine"],
    ]


def test_a_thread_of_the_checkpointer_stands_beside_a_configuration_of_the_callers(watch: Watch) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    saver = InMemorySaver()
    given: RunnableConfig = {**config(watch), "configurable": {"mine": 1}}
    eirene.refine(ITEM, backend=scripted(), settings=SETTINGS, checkpointer=saver, thread_id="t", config=given)
    assert saver.get({"configurable": {"thread_id": "t"}}) is not None
    assert given["configurable"] == {"mine": 1}


def test_what_is_no_configuration_is_refused() -> None:
    for given in ["callbacks", [1]]:
        with pytest.raises(InputError, match="config must be a mapping"):
            eirene.refine(ITEM, config=given)


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_node_of_a_graph_reports_to_the_graphs_callbacks(watch: Watch, is_async: bool) -> None:
    class State(TypedDict):
        question: str
        answer: str
        perspectives: list[Any]
        record: NotRequired[Any]

    node = eirene.refine_node(scripted(), settings=SETTINGS)
    graph: Any = StateGraph(State).add_node("check", node).add_edge(START, "check").compile()
    told = await graph.ainvoke(ITEM, config(watch)) if is_async else graph.invoke(ITEM, config(watch))
    assert told["record"]["status"] == "accepted"
    assert watch.paths == [
        ["my run", "check", "eirene", step, "ScriptedChatModel"] for step in ("sample_feedback", "refine")
    ]


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_agents_middleware_reports_to_the_agents_callbacks(watch: Watch, is_async: bool) -> None:
    middleware = RefineMiddleware(settings=SETTINGS, given=lambda _: {"perspectives": SIDES})
    agent = create_agent(scripted(DRAFT), [], middleware=[middleware])
    asked: Any = {"messages": [HumanMessage(QUESTION)]}
    state = await agent.ainvoke(asked, config(watch)) if is_async else agent.invoke(asked, config(watch))
    assert state["messages"][-1].text == BETTER
    assert [path[:2] for path in watch.paths] == [["my run", "model"]] * 3
    assert [path[2:-1] for path in watch.paths] == [[], ["eirene", "sample_feedback"], ["eirene", "refine"]]


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "stream", "astream"])
async def test_a_chat_model_reports_what_is_inside_it_when_asked_to(watch: Watch, how: str) -> None:
    given = {"given": lambda _: {"perspectives": SIDES}}
    model = RefiningChatModel(scripted(DRAFT), settings=SETTINGS, inner_callbacks=True, **given)
    told = config(watch)
    if how == "astream":
        text = "".join([str(piece.text) async for piece in model.astream(QUESTION, told)])
    elif how == "stream":
        text = "".join(str(piece.text) for piece in await asyncio.to_thread(lambda: list(model.stream(QUESTION, told))))
    else:
        text = str((model.invoke(QUESTION, told) if how == "invoke" else await model.ainvoke(QUESTION, told)).text)
    assert text == BETTER
    assert watch.paths == [
        ["my run"],
        ["my run", "ScriptedChatModel"],
        ["my run", "eirene", "sample_feedback", "ScriptedChatModel"],
        ["my run", "eirene", "refine", "ScriptedChatModel"],
    ]


async def test_a_chat_model_reports_itself_alone_by_default(watch: Watch) -> None:
    """So that what adds up tokens counts each once."""
    model = RefiningChatModel(scripted(DRAFT), settings=SETTINGS, given=lambda _: {"perspectives": SIDES})
    await model.ainvoke(QUESTION, config(watch))
    assert watch.paths == [["my run"]]


def test_with_its_inner_calls_reported_tokens_are_counted_there_as_well() -> None:
    named = {"model_name": "scripted-1", "finish_reason": "stop"}
    script = [AIMessage(content=text, response_metadata=named) for text in (DRAFT, *[CRITIQUE] * 3, BETTER)]
    model = RefiningChatModel(
        ScriptedChatModel(script), settings=SETTINGS, inner_callbacks=True, given=lambda _: {"perspectives": SIDES}
    )
    with get_usage_metadata_callback() as counted:
        reply = model.invoke(QUESTION)
    assert reply.usage_metadata is not None
    assert counted.usage_metadata["scripted-1"]["total_tokens"] == 2 * reply.usage_metadata["total_tokens"]


async def test_no_stream_of_messages_shows_a_draft_that_is_reported(watch: Watch) -> None:
    model = RefiningChatModel(
        scripted(DRAFT), settings=SETTINGS, inner_callbacks=True, given=lambda _: {"perspectives": SIDES}
    )

    class State(TypedDict):
        messages: list[Any]

    async def chatbot(state: State) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph: Any = StateGraph(State).add_node("chatbot", chatbot).add_edge(START, "chatbot").compile()
    asked = {"messages": [HumanMessage(QUESTION)]}
    seen = [m async for m, _ in graph.astream(asked, config(watch), stream_mode="messages")]
    assert "".join(str(m.text) for m in seen if isinstance(m, AIMessage)) == BETTER
