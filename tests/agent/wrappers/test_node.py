"""`refine_node`: the loop as a real subgraph, with steps to see, checkpoints to resume and a question to answer."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command
from pydantic import BaseModel

import eirene
from eirene.agent.state import Parts
from eirene.models.scripted import ScriptedChatModel
from tests.rows import each

SIDES = [
    {"name": "pro", "arguments": ["Zoos teach children about animals."]},
    {"name": "con", "arguments": ["Cages make animals suffer."]},
]
DRAFT = "Supporters say that zoos teach children about animals."
QUESTION = "Should zoos be closed?"
CRITIQUE = "1. [Incomplete] Reasons: the suffering of animals is missing"
BETTER = "Supporters say that zoos teach children about animals, but cages make animals suffer."
STEPS = ["sample_feedback", "select_critique", "refine", "check", "rescore", "gate"]
ASKED: Any = {"question": QUESTION, "answer": DRAFT, "perspectives": SIDES}
THREAD: Any = {"configurable": {"thread_id": "t"}}


class State(TypedDict, total=False):
    question: str
    answer: str
    perspectives: list[Any]
    record: dict[str, Any]


def graph(schema: Any = State, saver: Any = None, **options: Any) -> Any:
    """A parent graph with the loop in the node `check`, and a step after it."""
    builder = StateGraph(schema).add_node("check", eirene.refine_node(**options)).add_node("after", lambda state: {})
    return builder.add_edge(START, "check").add_edge("check", "after").compile(checkpointer=saver)


async def test_the_answer_is_replaced_and_the_record_stands_beside_it() -> None:
    for is_async in [False, True]:
        state = await graph().ainvoke(ASKED) if is_async else graph().invoke(ASKED)
        assert "children" in state["answer"] and "suffer" in state["answer"]
        record = eirene.Record.model_validate(state["record"])
        assert (record.status, record.original, record.answer) == ("accepted", DRAFT, state["answer"])


def test_keys_may_have_other_names_and_a_state_may_be_an_object() -> None:
    """Keys that the state does not have, the record's among them, are passed over."""

    class Model(BaseModel):
        q: str
        draft: str
        sources: list[str] | None = None
        perspectives: list[Any] | None = None

    @dataclass
    class Data:
        q: str
        draft: str
        sources: list[str] | None = None

    mapping = eirene.StateKeys(question="q", answer="draft", context="sources")
    found = graph(Model, mapping=mapping).invoke({"q": QUESTION, "draft": DRAFT, "perspectives": SIDES})
    assert "suffer" in found["draft"]
    assert set(found) == {"q", "draft", "perspectives"}
    assert graph(Data, mapping=mapping).invoke({"q": QUESTION, "draft": DRAFT})["draft"] == DRAFT


def test_a_state_without_a_question_is_an_error_that_names_it() -> None:
    with pytest.raises(eirene.InputError, match="'question' is missing"):
        graph().invoke({"answer": DRAFT})


async def test_the_steps_inside_can_be_streamed_and_drawn() -> None:
    for is_async in [False, True]:
        built = graph()
        if is_async:
            seen = [part async for part in built.astream(ASKED, stream_mode=["updates", "custom"], subgraphs=True)]
        else:
            seen = list(built.stream(ASKED, stream_mode=["updates", "custom"], subgraphs=True))
        inside = [next(iter(part)) for where, mode, part in seen if mode == "updates" and where]
        assert inside == STEPS
        assert [next(iter(part)) for where, mode, part in seen if mode == "updates" and not where] == ["check", "after"]
        assert sum(part["kind"] == "sample" for where, mode, part in seen if mode == "custom") == 20
        assert {f"check:{step}" for step in STEPS} <= set(built.get_graph(xray=True).nodes)


async def test_a_question_inside_stops_the_graph_around_it_and_its_answer_goes_on() -> None:
    """Nothing is drawn twice: what ran before the question is in the parent's checkpointer."""
    for is_async in [False, True]:
        models = eirene.resolve_backend("embedded")
        counting = Counting(models)
        built = graph(saver=InMemorySaver(), backend=counting.parts, review=True)
        answer = Command(resume={"action": "go on", "replace": [{"sentence": 1, "reason": SIDES[1]["arguments"][0]}]})
        if is_async:
            waiting, state = await built.ainvoke(ASKED, THREAD), None
            shown = await built.aget_state(THREAD, subgraphs=True)
            state = await built.ainvoke(answer, THREAD)
        else:
            waiting = built.invoke(ASKED, THREAD)
            shown = built.get_state(THREAD, subgraphs=True)
            state = built.invoke(answer, THREAD)
        assert waiting["__interrupt__"][0].value["question"] == QUESTION
        assert waiting["answer"] == DRAFT
        assert shown.tasks[0].state.next == ("review",)
        assert state["record"]["status"] == "accepted"
        assert state["record"]["rounds"][0]["critique"]["review"]["action"] == "go on"
        assert counting.drawn == 20


class Counting:
    """The embedded models, with a count of critiques, and a detector that breaks off the process once."""

    def __init__(self, models: Parts, *, dies: bool = False) -> None:
        self.drawn, self.dies = 0, dies
        outer, first = self, models.detectors[0]

        class Feedback:
            name = "counted"

            async def draw(self, *args: Any, **kwargs: Any) -> Any:
                async for sample in models.feedback_model.draw(*args, **kwargs):
                    outer.drawn += 1
                    yield sample

        class Detector:
            name, version = first.name, first.version

            async def score(self, *args: Any, **kwargs: Any) -> Any:
                if outer.dies:
                    outer.dies = False
                    raise KeyboardInterrupt
                return await first.score(*args, **kwargs)

        detectors = (Detector(), *models.detectors[1:])
        self.parts = Parts("counted", Feedback(), models.refiner, detectors, advisory=models.advisory)


def test_after_a_crash_inside_the_graph_goes_on_where_it_was() -> None:
    """Killed in the third step of the loop: the vote is not drawn again when the parent's thread goes on."""
    counting = Counting(eirene.resolve_backend("embedded"), dies=True)
    with SqliteSaver.from_conn_string(":memory:") as saver:
        built = graph(saver=saver, backend=counting.parts)
        with pytest.raises(KeyboardInterrupt):
            built.invoke(ASKED, THREAD, durability="sync")
        gc.collect()  # asyncio reports the tasks that the crash left when they are collected: here, not in another test
        state = built.invoke(None, THREAD)
    assert "suffer" in state["answer"]
    assert counting.drawn == 20


def test_past_its_deadline_the_node_leaves_the_answer_and_the_graph_goes_on() -> None:
    state = graph(deadline_s=1e-9).invoke(ASKED)
    assert (state["answer"], state["record"]["error"]["kind"]) == (DRAFT, "Deadline")


class Chat(MessagesState):
    record: dict[str, Any]


CHAT: Any = {"messages": [HumanMessage(QUESTION), AIMessage(DRAFT, id="reply")]}


def chat_mapping(**options: Any) -> eirene.StateMessages:
    return eirene.StateMessages(given=lambda messages: {"perspectives": SIDES}, **options)


async def test_in_a_chat_the_last_reply_is_replaced_under_its_id() -> None:
    state = await graph(Chat, mapping=chat_mapping()).ainvoke(CHAT)
    assert [m.id for m in state["messages"][1:]] == ["reply"]
    assert "suffer" in state["messages"][-1].text
    assert state["record"]["question"] == QUESTION


def test_the_replaced_reply_has_the_usage_of_all_that_was_spent_on_it() -> None:
    models = ScriptedChatModel([*[CRITIQUE] * 3, BETTER])
    reply = AIMessage(DRAFT, id="r", usage_metadata={"input_tokens": 5, "output_tokens": 8, "total_tokens": 13})
    asked = {"messages": [HumanMessage(QUESTION), reply]}
    state = graph(Chat, mapping=chat_mapping(), backend=models, samples=3, rewrite="whole").invoke(asked)
    spent = state["record"]["usage"]
    assert state["messages"][-1].usage_metadata["input_tokens"] == 5 + spent["input_tokens"]
    assert spent["input_tokens"] == sum(len(call.text.split()) for call in models.calls)


CALL = AIMessage("Looking.", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}])


def test_what_is_no_final_reply_stays_as_it_is() -> None:
    for messages, options in [
        ([], {}),
        ([HumanMessage(QUESTION)], {}),
        ([HumanMessage(QUESTION), CALL], {}),
        (CHAT["messages"], {"when": lambda messages, reply: False}),
        ([HumanMessage(QUESTION), AIMessage("half a pair \ud800")], {}),
    ]:
        state = graph(Chat, mapping=chat_mapping(**options)).invoke({"messages": messages})
        assert [m.content for m in state["messages"]] == [m.content for m in messages]
        assert "record" not in state


async def test_without_a_backend_the_chats_model_critiques_and_rewrites_itself() -> None:
    """As in the other wrappers, and without anything given: the model is asked, and compares draft and rewrite."""
    for is_async in [False, True]:
        votes = ["B"] * 3 + ["A"] * 3  # the rewrite, second and first
        models = ScriptedChatModel([*[CRITIQUE] * 3, BETTER, *votes])
        built = graph(Chat, mapping=eirene.StateMessages(), model=models, samples=3, rewrite="whole")
        state = await built.ainvoke(CHAT) if is_async else built.invoke(CHAT)
        assert (state["record"]["status"], state["messages"][-1].text) == ("accepted", BETTER)


def test_a_backend_comes_before_the_chats_model() -> None:
    models = ScriptedChatModel([])
    state = graph(Chat, mapping=chat_mapping(), backend="embedded", model=models).invoke(CHAT)
    assert (state["record"]["status"], len(models.calls)) == ("accepted", 0)


def test_with_neither_model_nor_given_text_it_warns_once_and_the_record_says_why(
    caplog: pytest.LogCaptureFixture,
) -> None:
    built = graph(Chat, mapping=eirene.StateMessages())
    with caplog.at_level("WARNING", logger="eirene.agent.wrappers"):
        states = [built.invoke(CHAT) for _ in range(2)]
    assert [state["messages"][-1].text for state in states] == [DRAFT] * 2
    assert all(state["record"]["why"].startswith("there is nothing to compare with") for state in states)
    (warning,) = [r.message for r in caplog.records if r.name == "eirene.agent.wrappers.conversation"]
    assert "refine_node(model=...)" in warning and "StateMessages(given=...)" in warning


def test_a_chat_without_a_mapping_is_an_error_that_names_the_one_to_take() -> None:
    for state in [CHAT, {}]:
        with pytest.raises(eirene.InputError, match=r"'question' is missing.*mapping=StateMessages\(\)"):
            graph(Chat).invoke({"record": {}, **state})


def test_a_fault_in_what_is_there_does_not_speak_of_mappings() -> None:
    with pytest.raises(eirene.InputError) as found:
        graph().invoke({**ASKED, "perspectives": []})
    assert "mapping" not in str(found.value) and "perspectives" in str(found.value)


@each("subgraphs", [False, True])
async def test_no_critique_or_rewrite_is_streamed_as_tokens(subgraphs: bool) -> None:
    """`stream_mode="messages"` shows no call inside the node, and a reply that was there before not once more."""

    class Plain(TypedDict):
        messages: Annotated[list[Any], add_messages]

    models = ScriptedChatModel([*[CRITIQUE] * 3, BETTER])
    built = graph(Plain, mapping=chat_mapping(), backend=models, samples=3, rewrite="whole")
    assert [part async for part in built.astream(CHAT, stream_mode="messages", subgraphs=subgraphs)] == []
    assert len(models.calls) == 2
