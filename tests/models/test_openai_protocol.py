"""The real `langchain-openai` client against a scripted server on loopback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from eirene.core.errors import (
    AuthError,
    BackendError,
    MalformedReplyError,
    QuotaError,
    RateLimitError,
    RequestRefusedError,
    UnreachableError,
)
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.costs import Price
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, RawReply, ScriptedReply, ScriptedRequest, TextReply
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

KEY = SecretStr("x")
ASK = (Message("user", "how are you"),)
SAMPLING = Sampling(temperature=1.0, top_p=0.9, seed=3)
QUICK = RetryPolicy(attempts=4, first_wait_s=0.001, max_wait_s=0.002)


def chat_at(server: LoopbackServer, retry: RetryPolicy = QUICK, **options: Any) -> ChatModel:
    return resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url, retry=retry, **options))


async def ask(chat: ChatModel, meter: Meter, n: int = 1) -> tuple[Reply, ...]:
    return await chat.send(ASK, sampling=SAMPLING, seeds=range(n), meter=meter)


async def draw(chat: ChatModel, meter: Meter, count: int = 20) -> list[Reply | BackendError]:
    stream = draw_replies(chat, Drawing(ASK, SAMPLING, range(count)), meter=meter)
    return [reply async for reply in stream]


def first(*outcomes: ScriptedReply) -> Any:
    """A script: these outcomes for the first requests, in turn, then a good reply."""

    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return outcomes[request.number - 1] if request.number <= len(outcomes) else "all is well"

    return script


async def test_twenty_replies_are_one_request_where_the_server_takes_n() -> None:
    with LoopbackServer(lambda _, i: f"reply {i}") as server:
        replies = await draw(chat_at(server), Meter())
        assert [r.text for r in replies if isinstance(r, Reply)] == [f"reply {i}" for i in range(20)]
        assert [r.n for r in server.requests] == [20]


@each("policy, calls", [("refuses", 21), ("ignores", 20)])
async def test_twenty_replies_are_concurrent_calls_where_it_does_not(policy: Any, calls: int) -> None:
    with LoopbackServer(lambda r, _: f"reply to {r.body['seed']}", n=policy, together=calls - 1) as server:
        chat = chat_at(server)
        assert len(await draw(chat, Meter())) == 20
        assert server.calls == calls
        replies = await draw(chat, Meter())
        assert [r.text for r in replies if isinstance(r, Reply)] == [f"reply to {i}" for i in range(20)]
        assert server.calls == calls + 20


async def test_after_a_refusal_all_are_asked_for_at_once() -> None:
    """Not one first and the rest after it: that would cost the latency twice."""
    with LoopbackServer("x", n="refuses", together=20) as server:
        assert len(await draw(chat_at(server), Meter())) == 20


async def test_the_limit_on_concurrent_calls_holds_at_the_server() -> None:
    """Never more than five; and five there are, since the server answers none of them before."""
    with LoopbackServer("x", n="refuses", together=5) as server:
        assert len(await draw(chat_at(server, concurrency=5), Meter())) == 20
        assert server.most_under_way <= 5


async def test_each_of_several_replies_has_its_own_ending() -> None:
    with LoopbackServer(lambda _, i: TextReply(f"reply {i}", "length" if i == 1 else "stop")) as server:
        replies = await ask(chat_at(server), Meter(), n=3)
        assert [r.finish_reason for r in replies] == ["stop", "length", "stop"]


@pytest.mark.parametrize(
    "outcome",
    [
        HttpError(500),
        HttpError(503),
        HttpError(408),
        HttpError(429, "slow down", headers={"Retry-After": "0"}),
        BrokenReply("drop"),
        BrokenReply("cut"),
        BrokenReply("garbage"),
    ],
    ids=str,
)
async def test_what_passes_is_tried_again_by_us_alone(outcome: ScriptedReply) -> None:
    meter = Meter()
    with LoopbackServer(first(outcome, outcome)) as server:
        (reply,) = await ask(chat_at(server), meter)
        assert (reply.text, server.calls) == ("all is well", 3)  # the client's own retries would make it more
        assert (meter.total.calls, meter.total.retries) == (3, 2)
        assert (meter.total.input_tokens, meter.total.output_tokens) == (server.input_tokens, server.output_tokens)


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (HttpError(500), UnreachableError),
        (HttpError(429), RateLimitError),
        (BrokenReply("drop"), UnreachableError),
        (BrokenReply("cut"), UnreachableError),
        (BrokenReply("garbage"), MalformedReplyError),
    ],
    ids=str,
)
async def test_what_does_not_pass_is_told_apart(outcome: ScriptedReply, kind: type[BackendError]) -> None:
    with LoopbackServer(lambda *_: outcome) as server:
        with pytest.raises(kind):
            await ask(chat_at(server), Meter())
        assert server.calls == QUICK.attempts


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (HttpError(400, "the prompt is too odd"), RequestRefusedError),
        (HttpError(403), AuthError),
        (HttpError(404, "no such model"), RequestRefusedError),
        (HttpError(429, "no credit", code="insufficient_quota"), QuotaError),
    ],
    ids=str,
)
async def test_what_cannot_be_mended_is_asked_once(outcome: ScriptedReply, kind: type[BackendError]) -> None:
    with LoopbackServer(lambda *_: outcome) as server:
        with pytest.raises(kind):
            await ask(chat_at(server), Meter())
        assert server.calls == 1


async def test_a_wait_that_the_server_asks_for_is_kept() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    busy = HttpError(429, "slow down", headers={"Retry-After": "7"})
    with LoopbackServer(first(busy)) as server:
        model = ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY)
        await ask(ChatModel(model, sleep=sleep), Meter())
    assert len(waits) == 1
    assert 7.0 <= waits[0] <= 7.7


async def test_a_wrong_key_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with LoopbackServer("x", key="right") as server:
        with pytest.raises(AuthError, match="Incorrect API key"):
            await draw(chat_at(server), Meter())
        assert server.calls == 1


@pytest.mark.parametrize("key", ["sk-SECRET\n", "sk-SECRETé"])
async def test_a_key_that_no_header_may_hold_is_told_at_once_and_not_shown(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    meter = Meter()
    with LoopbackServer("x") as server, pytest.raises(AuthError, match="the API key in the environment") as caught:
        await draw(chat_at(server), meter)
    assert "SECRET" not in str(caught.value)
    assert (server.calls, meter.total.calls, meter.total.retries) == (0, 1, 0)


async def test_no_server_is_told_as_such() -> None:
    with LoopbackServer("x") as server:
        url = server.base_url
    chat = resolve_chat("openai:test", options=ChatOptions(base_url=url, retry=QUICK))
    with pytest.raises(UnreachableError, match="is the server up"):
        await ask(chat, Meter())


@pytest.mark.parametrize("stream", [BrokenReply("cut"), "whole"], ids=["cut", "whole"])
async def test_a_streaming_client_does_not_stream_here(stream: ScriptedReply) -> None:
    """Streaming would give one choice of twenty, and half of it where the stream is cut."""

    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        return stream if request.body.get("stream") else "not streamed"

    with LoopbackServer(script) as server:
        model = ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY, streaming=True)
        replies = await ask(ChatModel(model), Meter(), n=2)
        assert [r.text for r in replies] == ["not streamed", "not streamed"]


async def test_the_servers_stream_is_one_that_the_client_reads() -> None:
    with LoopbackServer(first("word by word", BrokenReply("cut"))) as server:
        model = ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY, max_retries=0)
        assert "".join([c.text async for c in model.astream("hello")]).strip() == "word by word"
        with pytest.raises(Exception, match="Connection error"):
            [c async for c in model.astream("hello")]
        await model.root_async_client.close()


def test_event_loops_come_and_go() -> None:
    """The client's connections belong to the loop that opened them; a second `asyncio.run` must not inherit them."""
    with LoopbackServer("x", n="refuses") as server:
        by_name = chat_at(server)
        by_object = ChatModel(ChatOpenAI(model="test", base_url=server.base_url, api_key=KEY), retry=QUICK)
        for chat in (by_name, by_object, chat_at(server)):
            for _ in range(2):
                meter = Meter()
                assert len(asyncio.run(draw(chat, meter))) == 20
                assert meter.total.retries == 0


def body(choices: object, usage: object) -> RawReply:
    return RawReply.body(
        [json.dumps({"id": "x", "object": "chat.completion", "choices": choices, "usage": usage}).encode()]
    )


FINE = {"index": 0, "message": {"role": "assistant", "content": "fine"}, "finish_reason": "stop"}


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -7, "completion_tokens": -1, "total_tokens": -8},
        {"prompt_tokens": 10**40, "completion_tokens": 10**400, "total_tokens": 1},
        {"prompt_tokens": "7", "completion_tokens": "x", "total_tokens": None},
        {"prompt_tokens": 1.5, "completion_tokens": 1e300, "total_tokens": 1},
        {},
        None,
    ],
    ids=lambda usage: str(usage)[:30],
)
async def test_a_usage_that_can_be_none_costs_no_reply_and_counts_for_nothing(usage: object) -> None:
    meter = Meter()
    with LoopbackServer(lambda *_: body([FINE], usage)) as server:
        (reply,) = await ask(chat_at(server, price=Price(input_usd=1, output_usd=1)), meter)
    assert (reply.text, meter.total.tokens, meter.total.cost_usd) == ("fine", 0, 0.0)


async def test_a_body_of_another_shape_is_a_malformed_reply() -> None:
    usages = [5, "x", [1], {"prompt_tokens": [1]}]
    shapes = [5, "x", {}, [], [5], [{}], [{"message": 5}], None]
    bodies = [lambda c=c, n=n: body(c, usages[n % 4]) for n, c in enumerate(shapes)]
    for make in (*bodies, lambda: RawReply.body([b"[" * 10**5])):
        with LoopbackServer(lambda *_, make=make: make()) as server:
            with pytest.raises(MalformedReplyError):
                await ask(chat_at(server), Meter())
            assert server.calls == QUICK.attempts


def failing_once(every: int) -> Any:
    """A script in which one request of `every` fails, in one of four ways, when it comes first."""
    ways: Sequence[ScriptedReply] = (HttpError(500), HttpError(429), BrokenReply("drop"), BrokenReply("garbage"))

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        number = int(request.body["seed"])
        if index == 0 and number % every == 0 and request.attempt == 1:
            return ways[number // every % len(ways)]
        return "word " * (number % 7 + 1)

    return script


@each("policy", ["takes", "refuses"])
async def test_usage_is_the_servers_own_count_to_the_token(policy: Any) -> None:
    meter = Meter()
    with LoopbackServer(failing_once(10), n=policy) as server:
        chat = chat_at(server)
        for at in range(10):
            stream = draw_replies(chat, Drawing(ASK, SAMPLING, range(at * 20, at * 20 + 20)), meter=meter)
            assert all([isinstance(r, Reply) async for r in stream])
        total = meter.total
        assert (total.calls, total.input_tokens, total.output_tokens) == (
            server.calls,
            server.input_tokens,
            server.output_tokens,
        )
        assert total.retries > 0
