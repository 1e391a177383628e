"""`RefineMiddleware` in real agents: final answers are refined, tool turns are not, no draft is streamed."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from eirene.agent.settings import Settings
from eirene.agent.wrappers.conversation import mentions, share, tool_results
from eirene.agent.wrappers.middleware import RefineMiddleware
from eirene.core.errors import InputError
from eirene.models.scripted import ScriptedChatModel

SIDES = [
    {"name": "pro", "arguments": ["Zoos teach children about animals."]},
    {"name": "con", "arguments": ["Cages make animals suffer."]},
]
DRAFT = "Supporters say that zoos teach children about animals."
QUESTION = HumanMessage("Should zoos be closed?")
NAMED = {"model_name": "scripted-1", "finish_reason": "stop"}


@tool
def look_up(what: str) -> str:
    """Looks something up."""
    return "Cages make animals suffer."


@tool
def track(parcel: str) -> dict[str, Any]:
    """Tracks a parcel."""
    return {"parcel": parcel, "expected": "27 November 2026", "carrier": "Norpost", "stops": [{"town": "Oslo"}]}


CALL = AIMessage("Looking.", tool_calls=[{"name": "look_up", "args": {"what": "zoos"}, "id": "1"}])


def agent(*script: Any, saver: Any = None, **options: Any) -> Any:
    middleware = RefineMiddleware(**{"backend": "embedded", "given": lambda _: {"perspectives": SIDES}, **options})
    return create_agent(ScriptedChatModel(list(script)), [look_up], middleware=[middleware], checkpointer=saver)


def last(state: dict[str, Any]) -> BaseMessage:
    found: BaseMessage = state["messages"][-1]
    return found


async def test_the_final_answer_is_refined_and_the_tool_turn_is_not() -> None:
    for is_async in [False, True]:
        built = agent(CALL, DRAFT)
        asked = {"messages": [QUESTION]}
        state = await built.ainvoke(asked) if is_async else built.invoke(asked)
        assert [m.text for m in state["messages"][1:3]] == ["Looking.", "Cages make animals suffer."]
        assert "suffer" in last(state).text and "children" in last(state).text
        (trace,) = state["eirene"]
        assert (trace["status"], trace["original"]) == ("accepted", DRAFT)


async def test_who_streams_sees_the_accepted_text_once_and_no_draft() -> None:
    for is_async in [False, True]:
        built = agent(CALL, DRAFT)
        asked = {"messages": [QUESTION]}
        if is_async:
            seen = [m async for m, _ in built.astream(asked, stream_mode="messages")]
        else:
            seen = [m for m, _ in built.stream(asked, stream_mode="messages")]
        texts = [str(m.text) for m in seen if isinstance(m, AIMessage) and m.text]
        assert texts[0] == "Looking."
        assert len(texts) == 2
        assert texts[1] != DRAFT and "suffer" in texts[1]


SECRET = "a word of the draft alone"


async def test_no_stream_of_any_kind_shows_the_draft_as_a_reply() -> None:
    """The draft stands in the trace, as `original`, and in the events that trace calls of models; nowhere else."""
    for mode in ["values", "updates", "messages", "custom", "debug", "tasks", "events"]:
        critique = "1. [Incomplete] Reasons: cages are missing"
        better = "Supporters say that zoos teach children about animals, but cages make animals suffer."
        settings = Settings(samples=3, rewrite="whole")
        built = agent(f"Zoos teach children: {SECRET}.", *[critique] * 3, better, backend=None, settings=settings)
        asked = {"messages": [QUESTION]}
        if mode == "events":
            seen: list[Any] = [e async for e in built.astream_events(asked, version="v2")]
            shown = [e["data"]["chunk"] for e in seen if e["event"] == "on_chat_model_stream"]
        else:
            seen = [part async for part in built.astream(asked, stream_mode=mode)]
            shown = [message for part in seen for message in _messages_in(part)]
            assert SECRET not in str([_without_traces(part) for part in seen])
        assert not [m for m in shown if SECRET in str(m.text) or "[Incomplete]" in str(m.text)]


def _messages_in(found: Any) -> list[BaseMessage]:
    if isinstance(found, BaseMessage):
        return [found]
    inner = found.values() if isinstance(found, dict) else found if isinstance(found, list | tuple) else ()
    return [message for part in inner for message in _messages_in(part)]


def _without_traces(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: _without_traces(value) for key, value in found.items() if key != "eirene"}
    return [_without_traces(part) for part in found] if isinstance(found, list | tuple) else found


def test_without_a_backend_the_agents_own_model_refines() -> None:
    critique = "1. [Incomplete] Reasons: cages are missing"
    better = "Supporters say that zoos teach children about animals, but cages make animals suffer."
    state = agent(DRAFT, *[critique] * 3, better, backend=None, settings=Settings(samples=3, rewrite="whole")).invoke(
        {"messages": [QUESTION]}
    )
    assert last(state).text == better


def test_with_nothing_to_hold_answers_against_it_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    built = agent(DRAFT, DRAFT, given=None)
    with caplog.at_level("WARNING", logger="eirene.agent.wrappers"):
        states = [built.invoke({"messages": [QUESTION]}) for _ in range(2)]
    assert [state["eirene"][-1]["status"] for state in states] == ["not_checked"] * 2
    (warning,) = [r.message for r in caplog.records if r.name == "eirene.agent.wrappers.conversation"]
    assert "given=" in warning


def test_a_refusal_in_words_passes_untouched_without_a_trace() -> None:
    state = agent("I'm sorry, but I can't help with that.").invoke({"messages": [QUESTION]})
    assert last(state).text == "I'm sorry, but I can't help with that."
    assert not state.get("eirene")


def test_what_the_tools_returned_can_be_the_context_and_its_fields_are_read() -> None:
    wrong = "The parcel is expected on 29 November 2026. It is carried by Norpost."
    call = AIMessage("Looking.", tool_calls=[{"name": "track", "args": {"parcel": "P-17"}, "id": "1"}])
    for said, faults in [(wrong, 1), (wrong.replace("29", "27"), 0)]:
        middleware = RefineMiddleware(backend="embedded", given=tool_results, full_trace=True)
        built = create_agent(ScriptedChatModel([call, said]), [track], middleware=[middleware])
        (trace,) = built.invoke({"messages": [HumanMessage("When does P-17 come?")]})["eirene"]
        found = [s["reason"] for s in trace["rounds"][0]["critique"]["sentences"] if s["tag"] == "Incomplete"]
        assert len(found) == faults
        assert all("expected: 27 November 2026" in reason for reason in found)


def test_usage_is_counted_once_by_callbacks_and_is_whole_on_the_message() -> None:
    texts = [DRAFT, *["1. [Incomplete] Reasons: cages are missing"] * 3, "Zoos teach; cages make animals suffer."]
    script = [AIMessage(content=text, response_metadata=NAMED) for text in texts]
    built = agent(*script, backend=None, settings=Settings(samples=3, rewrite="whole"))
    with get_usage_metadata_callback() as counted:
        state = built.invoke({"messages": [QUESTION]})
    message = last(state)
    assert isinstance(message, AIMessage) and message.usage_metadata is not None
    assert message.usage_metadata["total_tokens"] == counted.usage_metadata["scripted-1"]["total_tokens"]


def test_a_thread_refines_as_many_answers_as_it_may() -> None:
    built = agent(DRAFT, DRAFT, saver=InMemorySaver(), max_refined=1)
    config = {"configurable": {"thread_id": "1"}}
    first = built.invoke({"messages": [QUESTION]}, config)
    second = built.invoke({"messages": [QUESTION]}, config)
    assert last(first).text != DRAFT
    assert last(second).text == DRAFT
    assert len(second["eirene"]) == 1


def test_when_says_no_and_the_draft_stands_without_a_trace() -> None:
    state = agent(DRAFT, when=lambda messages, reply: False).invoke({"messages": [QUESTION]})
    assert last(state).text == DRAFT
    assert not state.get("eirene")


def test_a_loop_that_fails_leaves_the_draft() -> None:
    state = agent(DRAFT, backend=ScriptedChatModel([RuntimeError("no luck")] * 30)).invoke({"messages": [QUESTION]})
    assert last(state).text == DRAFT
    assert state["eirene"][0]["status"] in ("failed", "abstained")


class Verdict(BaseModel):
    """A verdict."""

    closed: bool


def test_a_structured_answer_passes_through() -> None:
    call = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"closed": True}, "id": "1"}])
    built = create_agent(
        ScriptedChatModel([call]),
        [],
        middleware=[RefineMiddleware(backend="embedded")],
        response_format=ToolStrategy(Verdict),
    )
    state = built.invoke({"messages": [QUESTION]})
    assert state["structured_response"] == Verdict(closed=True)
    assert not state.get("eirene")


def test_options_that_cannot_work_are_refused_at_once() -> None:
    for options in [{"max_refined": -1}, {"settings": Settings(mode="human")}, {"backend": "nonsense"}]:
        with pytest.raises(InputError):
            RefineMiddleware(**options)


def test_rules_for_which_replies() -> None:
    chat = [HumanMessage("What of ZOOS?")]
    assert mentions("zoos")(chat, "x") and not mentions("zoo")(chat, "x") and mentions("C++")(chat, "in C++ too")
    drawn = sum(share(0.3)(chat, f"reply {n}") for n in range(2000))
    assert 520 < drawn < 680  # 600 expected, 4 standard deviations either way
    assert share(1)(chat, "x") and not share(0)(chat, "x")
    for bad in (lambda: share(1.5), mentions, lambda: mentions(" ")):
        with pytest.raises(InputError):
            bad()
