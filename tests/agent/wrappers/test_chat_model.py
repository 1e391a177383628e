"""`RefiningChatModel`: what is refined, what is not, what it costs, and that no draft is ever lost or leaked."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from eirene.agent.settings import Settings
from eirene.agent.wrappers.chat_model import RefiningChatModel
from eirene.agent.wrappers.conversation import conversation_item, refinable_text, tool_results, with_text
from eirene.core.errors import InputError
from eirene.core.history import MAX_CHARACTERS, MAX_TURNS
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


def around(*drafts: Any, **options: Any) -> RefiningChatModel:
    """A scripted chatbot with the embedded loop around it."""
    inner = ScriptedChatModel(list(drafts) or [DRAFT])
    return RefiningChatModel(
        inner=inner, **{"backend": "embedded", "given": lambda _: {"perspectives": SIDES}, **options}
    )


def test_a_final_reply_is_refined_and_carries_its_record() -> None:
    reply = around().invoke(QUESTION)
    trace = reply.response_metadata["eirene"]
    assert trace["status"] == "accepted"
    assert trace["original"] == DRAFT
    assert reply.text == trace["answer"] != DRAFT


def test_without_a_backend_the_wrapped_model_critiques_and_rewrites_itself() -> None:
    inner = ScriptedChatModel([DRAFT, *[CRITIQUE] * 3, BETTER])
    model = RefiningChatModel(inner=inner, settings=Settings(samples=3, rewrite="whole"))
    assert model.invoke(QUESTION, perspectives=SIDES).text == BETTER
    assert len(inner.calls) == 3  # the draft, three critiques in one request, the rewrite


def test_a_call_brings_what_the_reply_is_held_against() -> None:
    model = RefiningChatModel(inner=ScriptedChatModel([DRAFT, DRAFT]), backend="embedded")
    assert model.invoke(QUESTION).response_metadata["eirene"]["status"] == "not_checked"
    assert model.invoke(QUESTION, perspectives=SIDES).response_metadata["eirene"]["status"] == "accepted"


def test_with_nothing_to_hold_replies_against_it_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    """A model with a backend that needs given text, and none given: the drafts pass, and the log says what to do."""
    model = RefiningChatModel(inner=ScriptedChatModel([DRAFT] * 3), backend="embedded")
    with caplog.at_level("WARNING", logger="eirene.agent.wrappers"):
        assert [model.invoke(QUESTION).text, model.bind(stop=["x"]).invoke(QUESTION).text] == [DRAFT] * 2
    (warning,) = [r.message for r in caplog.records if r.name == "eirene.agent.wrappers.conversation"]
    assert "there is nothing to compare with" in warning and "perspectives=" in warning


def test_a_refusal_in_words_passes_untouched_and_the_loop_is_not_asked() -> None:
    inner = ScriptedChatModel(["I'm sorry, but I can't help with that."])
    reply = RefiningChatModel(inner=inner).invoke(QUESTION, perspectives=SIDES)
    assert (reply.text, len(inner.calls)) == ("I'm sorry, but I can't help with that.", 1)
    assert "eirene" not in reply.response_metadata


async def test_every_way_of_calling_gives_the_same_text() -> None:
    for way in ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"]:
        expected = around().invoke(QUESTION).text
        model: Any = around()
        found = getattr(model, way)([QUESTION] if "batch" in way else QUESTION)
        if way == "astream":
            text = "".join([str(chunk.text) async for chunk in found])
        elif way == "stream":
            text = "".join(str(chunk.text) for chunk in found)
        else:
            reply = await found if way.startswith("a") else found
            text = str((reply[0] if "batch" in way else reply).text)
        assert text == expected


def test_a_stream_has_the_reply_with_its_metadata() -> None:
    chunks: list[Any] = list(around().stream(QUESTION))
    (whole,) = chunks
    assert whole.response_metadata["eirene"]["answer"] == whole.text
    assert whole.usage_metadata == around().invoke(QUESTION).usage_metadata


def test_tool_calls_pass_through_untouched_in_one_piece_and_in_a_stream() -> None:
    call = {"name": "look_up", "args": {"q": "zoo 动物"}, "id": "1", "type": "tool_call"}
    said = AIMessage(content="Let me look.", tool_calls=[call])
    reply = around(said).invoke(QUESTION)
    assert (reply.text, reply.tool_calls) == ("Let me look.", [call])
    assert "eirene" not in reply.response_metadata
    whole: Any = None
    for chunk in around(said).stream(QUESTION):
        whole = chunk if whole is None else whole + chunk
    assert (whole.text, whole.tool_calls) == ("Let me look.", [call])


def test_usage_adds_up_once_in_the_reply_and_in_callbacks() -> None:
    """One draft, three critiques, one rewrite: each token counted once, by whoever asks."""
    named = {"model_name": "scripted-1", "finish_reason": "stop"}
    script = [AIMessage(content=text, response_metadata=named) for text in (DRAFT, *[CRITIQUE] * 3, BETTER)]
    inner = ScriptedChatModel(script)
    model = RefiningChatModel(inner=inner, settings=Settings(samples=3, rewrite="whole"))
    with get_usage_metadata_callback() as counted:
        reply = model.invoke(QUESTION, perspectives=SIDES)
    spent = sum(len(call.text.split()) for call in inner.calls)
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["input_tokens"] == spent
    assert counted.usage_metadata["scripted-1"]["total_tokens"] == reply.usage_metadata["total_tokens"]


class _State(TypedDict):
    messages: Annotated[list[Any], add_messages]


@each("is_async", [True, False])
async def test_no_draft_token_is_streamed_by_a_graph_around_it(is_async: bool) -> None:
    """`stream_mode="messages"` shows the accepted text, and nothing of drafts, critiques and rewrites."""
    model = RefiningChatModel(
        inner=ScriptedChatModel([DRAFT, *[CRITIQUE] * 3, BETTER]), settings=Settings(samples=3, rewrite="whole"),
        given=lambda _: {"perspectives": SIDES},
    )  # fmt: skip

    async def chatbot(state: _State) -> Any:
        return {"messages": [await model.ainvoke(state["messages"]) if is_async else model.invoke(state["messages"])]}

    graph = StateGraph(_State).add_node(chatbot).add_edge(START, "chatbot").compile()
    seen = [m async for m, _ in graph.astream({"messages": [HumanMessage(QUESTION)]}, stream_mode="messages")]
    assert "".join(str(m.text) for m in seen if isinstance(m, AIMessageChunk)) == BETTER
    assert all(str(m.text) in BETTER for m in seen if not isinstance(m, HumanMessage))


def test_several_replies_are_refined_each() -> None:
    inner = ScriptedChatModel([DRAFT, "Cages make animals suffer."])
    model = RefiningChatModel(inner=inner, backend="embedded", given=lambda _: {"perspectives": SIDES})
    replies = model.generate([[HumanMessage(QUESTION)]], n=2).generations[0]
    assert len(replies) == 2
    assert all("children" in g.text and "suffer" in g.text for g in replies)


def test_when_decides_and_an_unrefined_reply_has_no_trace() -> None:
    model = around(DRAFT, DRAFT, when=lambda messages, reply: len(messages) > 1)
    assert model.invoke(QUESTION).text == DRAFT
    assert model.invoke([SystemMessage("Be brief."), HumanMessage(QUESTION)]).text != DRAFT


def test_a_loop_that_fails_leaves_the_draft_and_says_why() -> None:
    broken = ScriptedChatModel([RuntimeError("no such luck")] * 30)
    reply = around(backend=broken).invoke(QUESTION)
    assert reply.text == DRAFT
    assert reply.response_metadata["eirene"]["status"] in ("failed", "abstained")


def test_a_reply_that_is_no_valid_text_is_passed_on() -> None:
    assert around("half a pair \ud800").invoke(QUESTION).text == "half a pair \ud800"


def test_the_wrapped_models_own_error_is_raised() -> None:
    with pytest.raises(RuntimeError, match="down"):
        around(RuntimeError("down")).invoke(QUESTION)


async def test_a_cancelled_call_cancels_the_call_inside() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    class Slow(ScriptedChatModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            began.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.set()

    model = RefiningChatModel(inner=Slow([]), backend="embedded")
    task = asyncio.create_task(model.ainvoke(QUESTION))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_the_trace_is_as_long_as_asked() -> None:
    for trace, keys in [("short", {"status", "why", "scores", "usage"}), ("none", None)]:
        metadata = around(trace=trace).invoke(QUESTION).response_metadata
        assert ("eirene" in metadata) is (keys is not None)
        assert keys is None or (keys <= set(metadata["eirene"]) and "rounds" not in metadata["eirene"])


def test_options_that_cannot_work_are_refused_at_once() -> None:
    for options, why in [
        ({"trace": "loud"}, "trace must be"),
        ({"settings": Settings(mode="human")}, "human"),
        ({"backend": "nonsense"}, "unknown backend"),
    ]:
        with pytest.raises(InputError, match=why):
            around(**options)


TEXT = {"type": "text", "text": "An answer."}
BROKEN_CALL: Any = {"name": "f", "args": "{", "id": "1", "error": "", "type": "invalid_tool_call"}
REASONING = {"type": "reasoning", "reasoning": "Hm."}


def test_only_final_text_is_refinable() -> None:
    for message, text in [
        (AIMessage("An answer."), "An answer."),
        (AIMessage([TEXT]), "An answer."),
        (AIMessage([REASONING, TEXT, TEXT]), "An answer.An answer."),
        (AIMessage("  "), None),
        (AIMessage([]), None),
        (AIMessage("x", tool_calls=[{"name": "f", "args": {}, "id": "1"}]), None),
        (AIMessage("x", invalid_tool_calls=[BROKEN_CALL]), None),
        (AIMessage("x", additional_kwargs={"refusal": "no"}), None),
        (AIMessage([{**TEXT, "annotations": [{"type": "citation"}]}]), None),
        (AIMessage([TEXT, {"type": "image_url", "image_url": {"url": "data:"}}]), None),
        (HumanMessage("x"), None),
    ]:
        assert refinable_text(message) == text


async def test_thoughts_in_fields_of_their_own_stay_whole_and_streamed() -> None:
    """Where LangChain's classes for DeepSeek, Ollama and others have them."""
    thought = {"reasoning_content": "Hm.", "reasoning": "Hm?"}
    model = around(*[AIMessage(DRAFT, additional_kwargs=thought)] * 2)
    reply = model.invoke(QUESTION)
    streamed: Any = sum([chunk async for chunk in model.astream(QUESTION)], start=AIMessageChunk(""))
    assert reply.response_metadata["eirene"]["status"] == "accepted"
    assert [message.additional_kwargs for message in (reply, streamed)] == [thought, thought]


def test_reasoning_stays_beside_a_new_text() -> None:
    assert with_text(AIMessage([REASONING, TEXT]), "New.").content == [REASONING, {"type": "text", "text": "New."}]


def test_the_last_question_is_asked_in_its_conversation() -> None:
    calls = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    chat = [
        HumanMessage([{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": "data:"}}]),
        calls,
        ToolMessage("found", tool_call_id="1"),
        AIMessage("Hello."),
        AIMessage(" "),
        SystemMessage("Be brief."),
        HumanMessage("Zoos?"),
        calls,
        ToolMessage("for this question", tool_call_id="1"),
    ]
    item = conversation_item(chat, "A.")
    assert item.question == "Zoos?"
    assert [(turn.role, turn.content) for turn in item.history or ()] == [
        ("system", "Be brief."),
        ("user", "Hi\n[image_url]"),
        ("tool", "found"),
        ("assistant", "Hello."),
    ]
    assert conversation_item([HumanMessage("Zoos?")], "A.").history is None


def test_of_a_chat_without_end_the_last_turns_are_taken() -> None:
    chat = [HumanMessage(f"turn {n}") for n in range(MAX_TURNS + 5)]
    item = conversation_item(chat, "A.")
    assert item.history is not None
    assert len(item.history) == MAX_TURNS
    assert item.history[-1].content == f"turn {MAX_TURNS + 3}"
    long = [HumanMessage("a" * MAX_CHARACTERS), HumanMessage("b"), HumanMessage("Why?")]
    assert [turn.content for turn in conversation_item(long, "A.").history or ()] == ["b"]


def test_what_tools_returned_since_the_question_can_be_the_context() -> None:
    def told(text: str, **more: Any) -> ToolMessage:
        return ToolMessage(text, tool_call_id="1", **more)

    chat = [told("old"), HumanMessage("Q?"), told("new"), told("broken", status="error"), AIMessage("x"), told(" ")]
    assert tool_results(chat) == {"context": ["new"]}
    assert tool_results(chat[:2]) is None
