"""Structured replies: the schema on the wire of each client, what a server that refuses or ignores it leads to."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eirene.core.errors import InputError, MalformedReplyError, RequestRefusedError, UnreachableError
from eirene.core.usage import Meter
from eirene.models.cache import CallCache
from eirene.models.chat import ChatModel, Sampling
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from eirene.models.structured import (
    ReplyForm,
    choice_schema,
    json_object,
    most_tokens,
    object_schema,
    text_schema,
)
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedReply, ScriptedRequest, TextReply
from tests.models.json_server import json_server
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

TEXT = (Message("user", "yes or no, in text?"),)
FORM = ReplyForm.of("verdict", object_schema({"verdict": choice_schema(["yes", "no"])}), [Message("user", "as JSON?")])
SAMPLING = Sampling(temperature=1.0, seed=3, form=FORM)
JSON = '{"verdict": "yes"}'


def chat_at(server: LoopbackServer, **options: Any) -> ChatModel:
    quick = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)
    return resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url, retry=quick, **options))


def asked(request: ScriptedRequest) -> str:
    """What was asked for, and whether with a schema."""
    with_schema = "schema" if "response_format" in request.body else "text"
    return f"{request.body['messages'][-1]['content']} {with_schema}"


async def test_the_schema_and_its_prompt_go_out_together_and_once_a_request() -> None:
    with LoopbackServer(JSON) as server:
        replies = await chat_at(server).send(TEXT, sampling=SAMPLING, seeds=range(3), meter=Meter())
        assert [r.text for r in replies] == [JSON] * 3
        (request,) = server.requests
        assert asked(request) == "as JSON? schema"
        wanted = request.body["response_format"]["json_schema"]
        assert wanted["strict"] is True
        assert wanted["schema"]["properties"]["verdict"]["enum"] == ["yes", "no"]


REFUSALS = [
    HttpError(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model"),
    HttpError(400, "This response_format type is unavailable now"),
    HttpError(400, "Failed to parse grammar"),
    HttpError(500, "failed to load grammar: too large"),
    HttpError(422, "extra fields not permitted: response_format"),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_server_that_refuses_the_schema_is_asked_for_text_at_once_and_ever_after(refusal: HttpError) -> None:
    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return refusal if "response_format" in request.body else "yes"

    with LoopbackServer(script) as server:
        chat = chat_at(server)
        assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == "yes"
        assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == "yes"
        assert [asked(r) for r in server.requests] == ["as JSON? schema", *["yes or no, in text? text"] * 2]


async def test_a_server_that_fails_within_by_the_schema_is_asked_for_text() -> None:
    """As vLLM does where its grammar library cannot compile one: HTTP 500, and no word of why."""

    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return HttpError(500, "Internal server error") if "response_format" in request.body else "yes"

    with LoopbackServer(script) as server:
        chat = chat_at(server)
        assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == "yes"
        assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == "yes"
        assert [asked(r) for r in server.requests] == ["as JSON? schema"] * 2 + ["yes or no, in text? text"] * 2


async def test_an_outage_is_not_the_schemas_fault() -> None:
    is_up = False

    def script(*_: object) -> ScriptedReply:
        return JSON if is_up else HttpError(500, "Internal server error")

    with LoopbackServer(script) as server:
        chat = chat_at(server)
        with pytest.raises(UnreachableError):
            await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())
        is_up = True
        assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == JSON
        is_up = False
        with pytest.raises(UnreachableError):  # the schema has worked: text is not tried
            await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())
        schema, text = "as JSON? schema", "yes or no, in text? text"
        assert [asked(r) for r in server.requests] == [schema, schema, text, schema, schema, *[schema] * 3]


async def test_a_server_that_ignores_the_schema_is_asked_for_text_from_then_on() -> None:
    with LoopbackServer("I would say yes.") as server:
        chat = chat_at(server)
        first = await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())
        await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())
        assert first.text == "I would say yes."  # its reader takes both
        assert [asked(r) for r in server.requests] == ["as JSON? schema", "yes or no, in text? text"]


async def test_one_object_proves_the_schema_and_a_later_refusal_to_answer_proves_nothing() -> None:
    replies = iter([JSON, "I cannot help with that.", JSON])
    with LoopbackServer(lambda *_: next(replies)) as server:
        chat = chat_at(server)
        for _ in range(3):
            await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())
        assert [asked(r) for r in server.requests] == ["as JSON? schema"] * 3


async def test_an_object_that_came_as_reasoning_is_the_reply_that_was_asked_for() -> None:
    """As vLLM sends it where its parser waits for an end of thinking. A cut object is none."""
    thought = iter([{"reasoning_content": JSON}, {"reasoning": f"\n{JSON}"}, {"reasoning_content": JSON[:-1]}])

    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return TextReply("\n", fields={**next(thought), "content": None if request.number == 1 else "\n"})

    with LoopbackServer(script) as server:
        chat = chat_at(server)
        found = [(await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text.strip() for _ in range(3)]
    assert found == [JSON, JSON, ""]


async def test_text_mode_sends_no_schema() -> None:
    with LoopbackServer("yes") as server:
        await chat_at(server, structured="text").ask(TEXT, sampling=SAMPLING, meter=Meter())
        assert [asked(r) for r in server.requests] == ["yes or no, in text? text"]


async def test_schema_mode_takes_no_text_for_an_answer() -> None:
    with LoopbackServer("yes") as server, pytest.raises(MalformedReplyError, match=r"replied with text .*'yes'.*auto"):
        await chat_at(server, structured="schema").ask(TEXT, sampling=SAMPLING, meter=Meter())
    with LoopbackServer(lambda *_: REFUSALS[0]) as server, pytest.raises(RequestRefusedError, match="400"):
        await chat_at(server, structured="schema").ask(TEXT, sampling=SAMPLING, meter=Meter())


def test_schema_mode_needs_a_class_with_room_for_one() -> None:
    with pytest.raises(InputError, match="ScriptedChatModel has no field for a JSON schema"):
        ChatModel(ScriptedChatModel([]), structured="schema")
    with pytest.raises(InputError, match="one of auto, schema, text, got 'json'"):
        ChatModel(ScriptedChatModel([]), structured="json")  # type: ignore[arg-type]


async def test_the_call_cache_knows_a_reply_again_whatever_the_server_took(tmp_path: Path) -> None:
    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return REFUSALS[0] if "response_format" in request.body else "yes"

    with LoopbackServer(script) as server:
        cache = CallCache(str(tmp_path / "calls.db"))
        for _ in range(2):  # a new process has yet to find out that the schema is refused
            assert (await chat_at(server, cache=cache).ask(TEXT, sampling=SAMPLING, meter=Meter())).text == "yes"
        assert len(server.requests) == 2
        await chat_at(server, cache=cache, structured="text").ask(TEXT, sampling=SAMPLING, meter=Meter())
        assert len(server.requests) == 3  # asked for in another way, it is another reply
        cache.close()


async def test_anthropic_is_made_to_call_a_tool_whose_arguments_are_the_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    call = {"type": "tool_use", "id": "t", "name": "verdict", "input": {"verdict": "yes"}}
    message = {
        "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [call],
        "stop_reason": "tool_use", "usage": {"input_tokens": 5, "output_tokens": 3},
    }  # fmt: skip
    with json_server(message) as (url, bodies):
        chat = resolve_chat("anthropic:c", options=ChatOptions(base_url=url))
        meter = Meter()
        reply = await chat.ask(TEXT, sampling=SAMPLING, meter=meter)
    assert (json.loads(reply.text), reply.finish_reason) == ({"verdict": "yes"}, "stop")
    assert bodies[0]["tool_choice"] == {"type": "tool", "name": "verdict"}
    assert bodies[0]["tools"][0]["input_schema"] == json.loads(FORM.schema)
    assert bodies[0]["messages"][0]["content"] == "as JSON?"
    assert meter.total.output_tokens == 3


async def test_a_tool_that_nobody_asked_for_is_no_reply() -> None:
    call = {"name": "look_up", "args": {"q": "lamp"}, "id": "c1", "type": "tool_call"}
    chat = ChatModel(ScriptedChatModel([AIMessage("", tool_calls=[call])]))
    assert (await chat.ask(TEXT, sampling=SAMPLING, meter=Meter())).text == ""


async def test_ollama_gets_the_schema_as_its_format() -> None:
    pytest.importorskip("langchain_ollama")
    body = {
        "model": "m", "created_at": "2026-01-01T00:00:00Z", "message": {"role": "assistant", "content": JSON},
        "done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 3,
    }  # fmt: skip
    with json_server(body) as (url, bodies):
        reply = await resolve_chat("ollama:m", options=ChatOptions(base_url=url)).ask(
            TEXT, sampling=SAMPLING, meter=Meter()
        )
    assert reply.text == JSON
    assert bodies[0]["format"] == json.loads(FORM.schema)


A_REPLY_IS_AN: list[Any] = [
    ('{"a": 1}', {"a": 1}),
    ('<think>which?</think>\n{"a": 1}', {"a": 1}),
    ('```json\n{"a": 1}\n```', {"a": 1}),
    ('{"a": 1} and more', None),
    ('{"a": 1, "a": 2}', None),
    ("[1]", None),
    ("", None),
    ("{" * 5000, None),
]


def test_a_reply_is_an_object_as_a_whole_or_not_at_all() -> None:
    for text, held in A_REPLY_IS_AN:
        assert json_object(text) == held


def test_the_longest_reply_to_a_schema_is_foreseen() -> None:
    short, long = object_schema({"a": choice_schema(["x"])}), object_schema({"a": text_schema(300)})
    five = object_schema({str(n): {"$ref": "#/$defs/entry"} for n in range(5)})
    entries = {**five, "$defs": {"entry": {"anyOf": [short, long]}}}
    assert most_tokens(short) < most_tokens(long) < most_tokens(entries) < 1300
    assert most_tokens(object_schema({"a": {"type": "string"}})) > most_tokens(long)


@each("longest", [3, 20, 129, 130, 200, 257, 258, 300, 1000])
def test_a_text_is_of_3_characters_to_the_longest_in_repeats_of_at_most_128(longest: int) -> None:
    pattern = text_schema(longest)["pattern"]
    told = [bool(re.search(pattern, "a" * n)) for n in range(longest + 3)]
    assert told == [3 <= n <= longest for n in range(longest + 3)]
    assert max(int(bound) for bound in re.findall(r"(\d+)\}", pattern)) <= 128
