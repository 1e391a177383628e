"""Calls go to the server that was named and to no other, and no reply is read without end: with real clients."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

from eirene.core.errors import (
    MalformedReplyError,
    RedirectedError,
    ReplyTooLargeError,
    UnreachableError,
    UnusableReplyError,
)
from eirene.core.usage import Meter
from eirene.models.calls import reply_limit
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.http_guard import ReplyLimit, guard_clients
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, RawReply, ScriptedReply, ScriptedRequest, TextReply, completion_body
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

ASK = (Message("user", "the prompt"),)
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)
KEY = SecretStr("sk-CANARY-77")
MOST = ReplyLimit.of(None).whole


class PlainModel(BaseChatModel):
    """Any provider's: a client of its own inside, that follows redirects and streams, as Ollama's does."""

    url: str
    kind: str = "application/x-ndjson"
    is_async: bool = True
    _client: Any = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        kind = httpx.AsyncClient if self.is_async else httpx.Client
        self._client = kind(follow_redirects=True, headers={"X-Key": "sk-plain-CANARY77"})

    @property
    def _llm_type(self) -> str:
        return "plain"

    def _result(self, response: httpx.Response) -> ChatResult:
        response.raise_for_status()
        text = response.json()["choices"][0]["message"]["content"]
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        with self._client as client:
            return self._result(client.post(f"{self.url}/chat/completions", json={"messages": [{"content": "x"}]}))

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        if not self.is_async:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        async with self._client as client:
            return self._result(
                await client.post(f"{self.url}/chat/completions", json={"messages": [{"content": "x"}]})
            )


def by_name(url: str) -> ChatModel:
    return resolve_chat("openai:test", options=ChatOptions(base_url=url, retry=QUICK))


def by_object(url: str) -> ChatModel:
    return ChatModel(ChatOpenAI(model="test", base_url=url, api_key=KEY), retry=QUICK)


def own_client(url: str) -> ChatModel:
    """A model with a client of the user's, which the SDK is not to replace."""
    import openai

    client = openai.DefaultAsyncHttpxClient()
    model = ChatOpenAI(model="test", base_url=url, api_key=KEY, http_async_client=client)
    return ChatModel(model, retry=QUICK)


def another_family(url: str) -> ChatModel:
    return ChatModel(PlainModel(url=url), retry=QUICK)


def without_async(url: str) -> ChatModel:
    return ChatModel(PlainModel(url=url, is_async=False), retry=QUICK)


CLIENTS = (by_name, by_object, own_client, another_family, without_async)
each_client = pytest.mark.parametrize("chat_at", CLIENTS, ids=lambda make: make.__name__)


async def ask(chat: ChatModel, n: int = 1) -> tuple[Reply, ...]:
    return await chat.send(ASK, sampling=Sampling(seed=1), seeds=range(n), meter=Meter())


def raw(make: Callable[[], RawReply]) -> Callable[[ScriptedRequest, int], ScriptedReply]:
    """A script that makes each reply anew: its pieces can be gone through once."""
    return lambda request, index: make()


@each_client
async def test_a_redirect_to_another_origin_gets_nothing(chat_at: Callable[[str], ChatModel]) -> None:
    with LoopbackServer("stolen") as other:
        there = f"{other.base_url}/chat/completions?key=sk-CANARY-77"
        with LoopbackServer(lambda *_: HttpError(307, headers={"Location": there})) as server:
            with pytest.raises(RedirectedError) as found:
                await ask(chat_at(server.base_url))
            assert (server.calls, other.calls) == (1, 0)
    said = str(found.value)
    assert f"{server.base_url}/chat/completions" in said and f"{other.base_url}/chat/completions" in said
    assert "CANARY" not in said


@each("status, location", [
        (301, "http://127.0.0.2:1/v1"), (302, "//127.0.0.2/v1"), (303, "https://127.0.0.1:{port}/v1"),
        (307, "http://["), (308, "http://127.0.0.2:1/v1"),
    ],)  # fmt: skip
async def test_no_form_of_redirect_leaves_the_server(status: int, location: str) -> None:
    ports: list[int] = []

    def script(*_: object) -> ScriptedReply:
        return HttpError(status, headers={"Location": location.format(port=ports[0])})

    with LoopbackServer(script) as server:
        ports.append(server.port)
        with pytest.raises(RedirectedError):
            await ask(by_name(server.base_url))
        assert server.calls == 1


async def test_a_redirect_on_the_same_server_is_followed() -> None:
    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return HttpError(307, headers={"Location": "/v1/chat/completions"}) if request.number == 1 else "arrived"

    with LoopbackServer(script) as server:
        (reply,) = await ask(by_name(server.base_url))
        assert (reply.text, server.calls) == ("arrived", 2)


async def test_a_circle_of_redirects_is_told_once() -> None:
    with LoopbackServer(lambda *_: HttpError(307, headers={"Location": "/v1/chat/completions"})) as server:
        with pytest.raises(RedirectedError, match="in a circle"):
            await ask(by_name(server.base_url))
        assert server.calls == 21  # one attempt, of as many hops as httpx makes


async def test_a_redirect_ends_a_draw_of_many_samples() -> None:
    there = HttpError(307, headers={"Location": "http://127.0.0.2:1/"})
    with LoopbackServer(lambda *_: there) as server:
        drawn = draw_replies(by_name(server.base_url), Drawing(ASK, Sampling(), range(20)), meter=Meter())
        with pytest.raises(RedirectedError):
            [reply async for reply in drawn]
        assert server.calls == 1


async def test_a_client_of_the_users_is_free_outside_our_calls() -> None:
    client = httpx.AsyncClient(follow_redirects=True)
    with LoopbackServer(lambda *_: "here") as other:
        to_other = HttpError(307, headers={"Location": f"{other.base_url}/chat/completions"})
        with LoopbackServer(lambda *_: to_other) as server:
            model = ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY, http_async_client=client)
            with pytest.raises(RedirectedError):
                await ask(ChatModel(model, retry=QUICK))
            response = await client.post(f"{server.base_url}/chat/completions", json={"messages": [{"content": "x"}]})
            assert response.json()["choices"][0]["message"]["content"] == "here"
    await client.aclose()


OPENING = b'{"choices": [{"message": {"content": "'


def packed_bomb() -> Iterator[bytes]:
    """A gigabyte of one letter, packed a thousand times smaller."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    yield packer.compress(OPENING)
    yield from (packer.compress(b"a" * 2**20) for _ in range(1024))


ENDLESS: dict[str, Callable[[], RawReply]] = {
    "body": lambda: RawReply.body(itertools.chain([OPENING], itertools.repeat(b"a" * 2**14))),
    "gzip": lambda: RawReply.body(packed_bomb(), Content_Encoding="gzip"),
    "events": lambda: RawReply.body(itertools.repeat(b"data: {}\n\n" * 1000), kind="text/event-stream"),
    "lines": lambda: RawReply.body(itertools.repeat(b"{}\n" * 1000), kind="application/x-ndjson"),
    "error": lambda: RawReply.body(itertools.repeat(b"a" * 2**14), status=500),
    "refusal": lambda: RawReply.body(itertools.repeat(b"a" * 2**14), status=400),
    "choices": lambda: RawReply.body([json.dumps({"choices": [{"message": {"content": "hi"}}] * 10**5}).encode()]),
}


@pytest.mark.parametrize("what", ENDLESS)
async def test_an_endless_reply_is_read_up_to_a_limit_and_not_asked_for_again(what: str) -> None:
    chat_at = (by_name, another_family, without_async)[list(ENDLESS).index(what) % 3]
    with LoopbackServer(raw(ENDLESS[what])) as server:
        with pytest.raises(ReplyTooLargeError, match="bytes, so reading it was given up") as found:
            await ask(chat_at(server.base_url))
        assert server.calls == 1
    assert isinstance(found.value, UnusableReplyError)  # a round is lost, not the run


async def test_a_head_without_end_is_given_up() -> None:
    def pieces() -> Iterator[bytes]:
        return itertools.chain([b"HTTP/1.1 200 OK\r\n"], (b"X-%d: a\r\n" % n for n in itertools.count()))

    with LoopbackServer(raw(lambda: RawReply(pieces()))) as server:
        with pytest.raises(UnreachableError, match="Receive buffer too long"):
            await ask(by_name(server.base_url))
        assert server.calls == QUICK.attempts


@each("packed", ["br", "gzip, gzip", "deflate"])
async def test_what_cannot_be_unpacked_bit_by_bit_is_not_unpacked(packed: str) -> None:
    script = raw(lambda: RawReply.body([b"abc"], Content_Encoding=packed))
    with LoopbackServer(script) as server, pytest.raises(MalformedReplyError, match="packed as"):
        await ask(by_name(server.base_url))


@each("chat_at, size", [(by_name, 7), (without_async, 2**16)])
async def test_a_packed_reply_of_any_pieces_is_read(chat_at: Callable[[str], ChatModel], size: int) -> None:
    text = "zoos " * 30_000
    whole = gzip.compress(
        json.dumps(
            completion_body(ScriptedRequest(1, 1, {"messages": [{"content": "x"}]}, {}), [TextReply(text)])
        ).encode()
    )
    pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
    with LoopbackServer(raw(lambda: RawReply.body(pieces, Content_Encoding="gzip"))) as server:
        (reply,) = await ask(chat_at(server.base_url))
    assert reply.text == text


def test_the_limit_goes_with_what_was_asked_for() -> None:
    one = ReplyLimit.of(1000)
    assert one.whole == 2**18 + 16 * 1000
    assert ReplyLimit.of(1000, choices=20).whole == 2**18 + 20 * 16 * 1000
    assert one.whole < ReplyLimit.of(1000, top_logprobs=5).whole
    assert one.whole < one.streamed
    assert ReplyLimit.of(10**12).whole < 2**25  # what a client of a server of ours may ask for


async def test_a_models_own_max_tokens_moves_the_limit() -> None:
    text = "a" * (MOST - 2**12)
    with LoopbackServer(text) as server:
        short = ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY, max_completion_tokens=100)
        with pytest.raises(ReplyTooLargeError):
            await ask(ChatModel(short, retry=QUICK))
        assert len((await ask(by_name(server.base_url)))[0].text) == len(text)


@each(
    "settings, limit",
    [
        ({}, ReplyLimit.of(None)),
        ({"max_completion_tokens": 500, "n": 3}, ReplyLimit.of(500, choices=3)),
        ({"logprobs": True, "top_logprobs": 0}, ReplyLimit.of(None, top_logprobs=0)),
        ({"max_completion_tokens": -5, "n": None}, ReplyLimit.of(None)),
    ],
)
def test_a_models_settings_are_read(settings: dict[str, Any], limit: ReplyLimit) -> None:
    model = ChatOpenAI(model="test", api_key=KEY, **settings)
    assert reply_limit(model) == limit
    assert reply_limit(model, max_tokens=7).whole < limit.whole


def test_a_client_that_serves_two_models_is_guarded_once() -> None:
    client = httpx.AsyncClient()
    for _ in range(2):
        guard_clients(ChatOpenAI(model="test", api_key=KEY, http_async_client=client))
    assert [len(hooks) for hooks in client.event_hooks.values()] == [1, 1]
    asyncio.run(client.aclose())
