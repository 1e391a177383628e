"""Chats by OpenAI's own client: refined, streamed, passed through, counted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest
from langchain_core.messages import AIMessage
from openai import OpenAI

from eirene.agent.server.drafts import Upstream
from eirene.agent.server.engine import Engine
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import TextReply
from tests.agent.server.serving import (
    ASK,
    DRAFT,
    GIVEN,
    MODEL,
    QUESTION,
    Served,
    chat_engine,
    embedded_engine,
    served,
)
from tests.rows import each

BETTER = "Supporters say that zoos teach children about animals. Critics say that cages make animals suffer."
pytestmark = pytest.mark.usefixtures("loopback")


@pytest.fixture
def upstream() -> Iterator[LoopbackServer]:
    with LoopbackServer(DRAFT) as server:
        yield server


@pytest.fixture
def server(upstream: LoopbackServer) -> Iterator[Served]:
    with served(embedded_engine(upstream)) as running:
        yield running


@pytest.fixture
def client(server: Served) -> OpenAI:
    return server.client()


def chat(client: OpenAI, **more: Any) -> Any:
    body = {"model": MODEL, "messages": ASK, "extra_body": GIVEN, **more}
    return client.chat.completions.create(**body)


def test_a_chat_is_refined_and_carries_its_record(client: OpenAI) -> None:
    reply = chat(client)
    assert reply.eirene["status"] == "accepted"
    assert "suffer" in reply.choices[0].message.content
    assert reply.eirene["records"][0]["original"] == DRAFT
    assert "rounds" not in reply.eirene["records"][0]
    assert (reply.object, reply.model, reply.choices[0].finish_reason) == ("chat.completion", MODEL, "stop")


def test_the_whole_record_comes_when_asked_for_and_its_id_in_a_header(client: OpenAI) -> None:
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL,
        messages=ASK,
        extra_body={**GIVEN, "eirene_trace": "full"},
    )
    trace: Any = raw.parse().eirene  # type: ignore[attr-defined]  # our extra field
    assert trace["run_id"] == raw.headers["x-eirene-run-id"]
    assert trace["records"][0]["rounds"][0]["decision"] == "accept"


def test_usage_is_that_of_draft_and_loop_once() -> None:
    def script(request: Any, _: int) -> str:
        return DRAFT if request.number == 1 else BETTER

    with LoopbackServer(script) as upstream, served(chat_engine(upstream)) as server:
        reply = chat(server.client(), model="refine/improve/test")
        assert upstream.calls == 2
        assert reply.usage.prompt_tokens == upstream.input_tokens
        assert reply.usage.completion_tokens == upstream.output_tokens
        assert reply.eirene["status"] == "accepted"


def test_a_patch_changes_what_it_names_in_a_reply_and_nothing_else() -> None:
    """By the real client on both sides; a change of a sentence that is not there is none."""

    def script(request: Any, _: int) -> str:
        if request.number == 1:
            return f"{DRAFT}\r\n\r\n- Ticket prices 🎟 differ."
        if "You mend the answer" in request.text:
            return "after 1: Critics say that cages make animals suffer.\n99: Zoos fly."
        return "1. [Incomplete] Reasons: Suffering is missing.\n2. [Complete]"

    with LoopbackServer(script) as upstream, served(chat_engine(upstream, samples=3, candidates=2)) as server:
        reply = chat(server.client(), model="refine/fine-grained/test")
        asked = [request.n for request in upstream.requests if "You mend the answer" in request.text]
    assert reply.eirene["status"] == "accepted", reply.eirene
    assert reply.choices[0].message.content == f"{BETTER}\r\n\r\n- Ticket prices 🎟 differ."
    assert (reply.eirene["status"], asked) == ("accepted", [2])


@each("policy", ["takes", "refuses", "ignores"])
def test_three_choices_are_each_refined_and_paid_once(policy: Any) -> None:
    with LoopbackServer(DRAFT, n=policy) as upstream, served(embedded_engine(upstream)) as server:
        reply = chat(server.client(), n=3)
        assert [c.index for c in reply.choices] == [0, 1, 2]
        assert all("suffer" in c.message.content for c in reply.choices)
        assert len(reply.eirene["records"]) == 3
        assert reply.usage.completion_tokens == upstream.output_tokens


def test_a_stream_adds_up_to_the_accepted_text_and_shows_no_draft(client: OpenAI) -> None:
    whole = chat(client)
    chunks = list(chat(client, stream=True, stream_options={"include_usage": True}))
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == whole.choices[0].message.content
    assert len(chunks) > 8
    assert chunks[-1].usage == whole.usage
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-2].eirene["status"] == "accepted"


def test_a_stream_of_three_choices_adds_up_by_index(client: OpenAI) -> None:
    texts = ["", "", ""]
    for chunk in chat(client, stream=True, n=3):
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == [chat(client).choices[0].message.content] * 3


def test_a_streaming_client_never_sees_a_draft_token() -> None:
    """The draft holds a word that the rewrite has not; it is looked for in all bytes of forty streams."""

    def script(request: Any, _: int) -> str:
        return "Quokkas xylograph zoos." if request.text == QUESTION else BETTER

    with LoopbackServer(script, latency_s=0.2) as upstream, served(chat_engine(upstream)) as server:
        body = {"model": "refine/improve/test", "messages": ASK, "stream": True, **GIVEN}

        async def all_bytes() -> list[bytes]:
            async with httpx.AsyncClient(timeout=30) as http:
                asked = [http.post(f"{server.root}/v1/chat/completions", json=body) for _ in range(40)]
                return [(await reply).content for reply in asyncio.as_completed(asked)]

        for content in asyncio.run(all_bytes()):
            assert b": refining" in content  # the line was kept alive meanwhile
            events = [line for line in content.decode().split("\n") if line.startswith("data: {")]
            assert "".join(json.loads(e[6:])["choices"][0]["delta"].get("content") or "" for e in events) == BETTER
            assert b"xylograph" not in content


def test_tool_calls_pass_through_untouched_whole_and_streamed() -> None:
    call = {"name": "look_up", "args": {"what": "zoos é"}, "id": "call_7", "type": "tool_call"}
    model = ScriptedChatModel([AIMessage(content="", tool_calls=[call])] * 2)
    engine = Engine(embedded_engine().parts, embedded_engine().settings, upstream=Upstream(model, name="openai:test"))
    with served(engine) as server:
        reply = chat(server.client())
        found = reply.choices[0].message.tool_calls[0]
        assert (found.id, found.function.name) == ("call_7", "look_up")
        assert json.loads(found.function.arguments) == {"what": "zoos é"}
        assert (reply.choices[0].finish_reason, reply.choices[0].message.content) == ("tool_calls", None)
        assert reply.eirene["status"] == "untouched"
        chunks = list(chat(server.client(), stream=True))
        calls = [c.choices[0].delta.tool_calls[0] for c in chunks if c.choices[0].delta.tool_calls]
        assert json.loads(calls[0].function.arguments) == {"what": "zoos é"}
        assert chunks[-1].choices[0].finish_reason == "tool_calls"


def test_settings_and_messages_reach_the_upstream_as_they_came(client: OpenAI, upstream: LoopbackServer) -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}]
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is this?"},
                                     {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "assistant", "content": None,
         "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": "a zoo", "tool_call_id": "c1"},
    ]  # fmt: skip
    chat(client, messages=turns, temperature=0.3, top_p=0.8, seed=5, max_tokens=99, stop=["END"], tools=tools,
         tool_choice="auto", response_format={"type": "text"}, extra_body={**GIVEN, "no_such_field": 1})  # fmt: skip
    body = upstream.requests[0].body
    assert {k: body[k] for k in ("temperature", "top_p", "seed", "stop", "tools", "tool_choice")} == {
        "temperature": 0.3, "top_p": 0.8, "seed": 5, "stop": ["END"], "tools": tools, "tool_choice": "auto",
    }  # fmt: skip
    assert (body.get("max_tokens"), body.get("max_completion_tokens")) == (99, None)
    assert body["response_format"] == {"type": "text"}
    assert [m["role"] for m in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][1]["content"][1]["image_url"]["url"].endswith("AA==")
    assert body["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "no_such_field" in body and not {"perspectives", "eirene_trace"} & set(body)


def test_a_json_object_passes_unrefined(client: OpenAI) -> None:
    reply = chat(client, response_format={"type": "json_object"})
    assert reply.choices[0].message.content == DRAFT
    assert reply.eirene["status"] == "untouched"


def test_a_reply_that_was_cut_off_passes_unrefined() -> None:
    with LoopbackServer(lambda r, i: TextReply("Zoos teach", "length")) as up, served(embedded_engine(up)) as server:
        reply = chat(server.client())
        assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == ("Zoos teach", "length")


def test_the_last_assistant_message_is_the_draft(client: OpenAI, upstream: LoopbackServer) -> None:
    reply = chat(client, messages=[*ASK, {"role": "assistant", "content": DRAFT}])
    assert upstream.calls == 0
    assert "suffer" in reply.choices[0].message.content


def test_without_a_chat_model_the_arguments_make_the_draft() -> None:
    with served(embedded_engine_with_writer()) as server:
        reply = chat(server.client(), model="embedded")
        text = reply.choices[0].message.content
        assert "suffer" in text
        assert "teach" in text


@each(
    "backend, model",
    [("embedded", "embedded"), ("gguf:/srv/models/small.gguf", "small"), ("hf:org/small", "hf:org/small")],
)
def test_without_draft_and_arguments_the_error_says_what_to_change(backend: str, model: str) -> None:
    """Of every backend that writes no drafts, in the same words; where its file lies is nothing for clients."""
    plain = embedded_engine_with_writer()
    engine = Engine(replace(plain.parts, backend=backend), plain.settings, write_draft=lambda *_: DRAFT)
    with served(engine) as server, pytest.raises(openai.BadRequestError) as found:
        chat(server.client(), model=model, extra_body={})
    assert (found.value.code, found.value.param) == ("no_draft", "messages")
    said = str(found.value.body["message"])  # type: ignore[index]
    assert said.startswith(f"the server's model {model} refines answers and writes none: ") and "/srv" not in said
    assert "end messages with the assistant's answer, give 'perspectives'" in said
    assert said.endswith("for example --upstream openai:NAME --base-url http://127.0.0.1:8080/v1")


def test_a_server_started_as_that_error_says_writes_the_draft(upstream: LoopbackServer) -> None:
    engine = embedded_engine_with_writer(base_url=upstream.base_url, upstream="openai:test")
    with served(engine) as server:
        reply = chat(server.client(), extra_body={})
    assert (upstream.calls, reply.choices[0].message.content) == (1, DRAFT)


def embedded_engine_with_writer(*, base_url: str | None = None, upstream: str | None = None) -> Engine:
    from eirene.cli.model_flags import ModelFlags
    from eirene.cli.serve import build_engine

    flags = ModelFlags(base_url=base_url)
    return build_engine(flags, embedded_engine().settings, upstream=upstream, calls=4, timeout_s=5)


def test_models_are_listed_and_the_plain_name_has_the_default_mode(client: OpenAI) -> None:
    names = ["test", "refine/improve/test", "refine/generic/test", "refine/fine-grained/test", "draft/test"]
    assert [m.id for m in client.models.list()] == names
    assert chat(client, model="test").eirene["records"][0]["mode"] == "fine-grained"
    assert chat(client, model="openai:test").eirene["status"] == "accepted"


@each("name", ["gpt-4", "refine/test", "refine/human/test", "refine/improve/other", "refine//test", ""])
def test_an_unknown_model_is_a_404(client: OpenAI, name: str) -> None:
    with pytest.raises(openai.NotFoundError) as found:
        chat(client, model=name)
    assert found.value.code == "model_not_found"


def test_earlier_turns_are_the_history_of_the_question(client: OpenAI) -> None:
    turns: list[Any] = [{"role": "user", "content": "I like animals."}, {"role": "assistant", "content": "Good."}, *ASK]
    raw = client.chat.completions.with_raw_response.create(
        model=MODEL,
        messages=turns,
        extra_body={**GIVEN, "eirene_trace": "full"},
    )
    record = raw.parse().eirene["records"][0]  # type: ignore[attr-defined]
    assert record["question"] == QUESTION
    assert record["history"] == turns[:2]


def test_a_chat_of_three_turns_is_judged_and_refined_in_its_place() -> None:
    """Whoever drafts, criticises and rewrites sees what was said before; what tools returned is no part of that."""
    turns: list[Any] = [{"role": "system", "content": "Be brief."}]
    with LoopbackServer("A sentence that is short.") as upstream, served(chat_engine(upstream, samples=3)) as server:
        client = server.client()
        for question in ("Which two zoos are old?", "And where is the second one?", "Is it bigger?"):
            turns.append({"role": "user", "content": question})
            begin = len(upstream.requests)
            reply = client.chat.completions.create(model="refine/improve/test", messages=turns)
            turns.append({"role": "assistant", "content": reply.choices[0].message.content})
            draft, *others = upstream.requests[begin:]
            assert draft.body["messages"] == turns[:-1]
            assert others
            assert all(turn["content"] in other.text for other in others for turn in turns[:-1])
        runs = httpx.get(f"{server.root}/v1/runs").json()["data"]
        assert runs[0]["question"] == "Is it bigger?"
        item = httpx.get(f"{server.root}/v1/runs/{runs[0]['id']}").json()["items"][0]
        assert (item["question"], item["history"]) == ("Is it bigger?", turns[:5])


def test_a_run_of_the_page_may_have_a_history(client: OpenAI, server: Served) -> None:
    before = [{"role": "user", "content": "I like zoos."}, {"role": "tool", "content": "Basel has one."}]
    body = {"question": QUESTION, "history": before, "answer": DRAFT, **GIVEN}
    started = httpx.post(f"{server.root}/v1/runs", json=body).json()
    with httpx.stream("GET", f"{server.root}/v1/runs/{started['id']}/events") as events:
        assert "ended" in events.read().decode()
    found = httpx.get(f"{server.root}/v1/runs/{started['id']}").json()
    assert found["items"][0]["history"] == before
    refused = httpx.post(f"{server.root}/v1/runs", json={**body, "history": [{"role": "wizard", "content": "x"}]})
    assert refused.status_code == 400
    assert "history" in refused.json()["error"]["message"]


def test_context_reaches_the_detectors(client: OpenAI) -> None:
    reply = chat(client, extra_body={"context": ["Zoos teach children about animals.", "Entry is free on Mondays."]})
    found = reply.eirene["records"][0]["scores"]["original"]["alignment"]["arguments"]
    assert {argument["group"] for argument in found} == {"context"}


def test_a_draft_can_be_asked_for_as_it_is() -> None:
    """`draft/NAME` is the model itself: one call, nothing refined; without a model for drafts there is no such name."""
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        client = server.client()
        assert "draft/test" in [model.id for model in client.models.list()]
        chat: Any = client.chat.completions.create(model="draft/test", messages=ASK, extra_body=GIVEN, n=1)
        assert chat.choices[0].message.content == DRAFT
        assert (chat.eirene["status"], up.calls) == ("untouched", 1)
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model="draft/refine/improve/test", messages=ASK)
    with served(embedded_engine()) as server:
        assert not any(m.id.startswith("draft/") for m in server.client().models.list())
        with pytest.raises(openai.NotFoundError):
            server.client().chat.completions.create(model="draft/embedded", messages=ASK)
