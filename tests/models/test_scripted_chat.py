"""The scripted chat model is a real LangChain model that never starts its script again."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from eirene.core.errors import ScriptExhaustedError
from eirene.models.scripted import ScriptedChatModel

ASK: list[BaseMessage] = [HumanMessage("how are you")]


def test_invoke_gives_the_replies_in_order_and_then_raises() -> None:
    model = ScriptedChatModel(["one", "two"])
    assert [model.invoke(ASK).text, model.invoke("and you?").text] == ["one", "two"]
    with pytest.raises(ScriptExhaustedError, match="script of 2 replies is used up at call 3"):
        model.invoke(ASK)


async def test_ainvoke_counts_words_as_tokens() -> None:
    reply = await ScriptedChatModel(["fine, thank you"]).ainvoke(ASK)
    assert reply.usage_metadata == {"input_tokens": 3, "output_tokens": 3, "total_tokens": 6}


def test_generate_with_n_takes_n_steps_and_puts_the_whole_usage_on_each() -> None:
    model = ScriptedChatModel(["a", "b b", "c"])
    result = model.generate([ASK], n=3)
    assert [g.text for g in result.generations[0]] == ["a", "b b", "c"]
    usages = [g.message.usage_metadata for g in result.generations[0]]  # type: ignore[union-attr]  # chat generations
    assert usages == [{"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}] * 3
    assert [call.n for call in model.calls] == [3]


def test_stream_gives_the_same_text_in_pieces_and_the_usage_once() -> None:
    model = ScriptedChatModel(["a whole  sentence"])
    pieces = list(model.stream(ASK))
    assert len(pieces) > 2
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    assert whole.text == "a whole  sentence"
    assert whole.usage_metadata is not None
    assert whole.usage_metadata["output_tokens"] == 3


async def test_astream_streams_as_well() -> None:
    model = ScriptedChatModel(["to and fro"])
    assert "".join([piece.text async for piece in model.astream(ASK)]) == "to and fro"


def test_an_exception_in_the_script_is_raised_and_counts_as_a_call() -> None:
    model = ScriptedChatModel([TimeoutError("slow"), "then this"])
    with pytest.raises(TimeoutError, match="slow"):
        model.invoke(ASK)
    assert model.invoke(ASK).text == "then this"
    assert len(model.calls) == 2


def test_a_function_makes_replies_of_the_messages() -> None:
    def echo(messages: list[BaseMessage]) -> AIMessage:
        return AIMessage(f"you said: {messages[-1].text}", response_metadata={"finish_reason": "length"})

    reply = ScriptedChatModel(echo).invoke(ASK)
    assert reply.text == "you said: how are you"
    assert reply.response_metadata["finish_reason"] == "length"


def test_copies_share_script_and_calls_and_each_call_shows_its_settings() -> None:
    model = ScriptedChatModel(["one", "two"], temperature=0.5)
    model.invoke(ASK)
    model.model_copy(update={"temperature": 0.9, "seed": 3}).invoke(ASK)
    assert [call.settings for call in model.calls] == [{"temperature": 0.5}, {"temperature": 0.9, "seed": 3}]
    assert model.calls[0].text == "how are you"
