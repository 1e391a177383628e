"""The call layer, on a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import ParrotFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda

from eirene.core.errors import BackendTimeoutError, RateLimitError
from eirene.core.usage import Meter, Usage
from eirene.models.chat import ChatModel, Sampling
from eirene.models.costs import Price
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.scripted import Script, ScriptedChatModel
from eirene.prompts import Message

ASK = (Message("system", "be brief"), Message("user", "how are you"))
SAMPLING = Sampling(temperature=1.0, top_p=0.9, seed=7)


class RefusedError(Exception):
    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


class Waits:
    """Stands for `asyncio.sleep` and keeps the times."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def chat_over(script: Script, **options: Any) -> tuple[ChatModel, ScriptedChatModel]:
    model = ScriptedChatModel(script)
    options.setdefault("sleep", Waits())
    return ChatModel(model, **options), model


async def test_a_reply_comes_with_its_ending_and_its_usage() -> None:
    meter = Meter()
    chat, model = chat_over([AIMessage("fine", response_metadata={"stop_reason": "max_tokens"})])
    assert await chat.ask(ASK, sampling=SAMPLING, meter=meter) == Reply("fine", "length")
    assert meter.total == Usage(calls=1, input_tokens=5, output_tokens=1, cost_usd=None)
    assert [m.type for m in model.calls[0].messages] == ["system", "human"]
    assert model.calls[0].settings == {"temperature": 1.0, "top_p": 0.9, "seed": 7}


async def test_cost_follows_from_the_price() -> None:
    meter = Meter()
    await ChatModel(ScriptedChatModel(["x"]), price=Price(input_usd=2.0, output_usd=10.0)).ask(
        ASK, sampling=SAMPLING, meter=meter
    )
    assert meter.total.cost_usd == pytest.approx((5 * 2.0 + 1 * 10.0) / 1e6)


def test_cached_tokens_may_cost_less() -> None:
    price = Price(input_usd=2.0, output_usd=10.0, cached_usd=1.0)
    # 400 fresh at 2 $, 600 cached at 1 $, 100 written at 10 $ the million
    assert price.cost_usd(input_tokens=1000, output_tokens=100, cached_tokens=600) == pytest.approx(2400e-6)


def test_tokens_written_to_a_cache_may_cost_more() -> None:
    tokens = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 600, "written_tokens": 300}
    assert Price(2.0, 10.0, 0.2, 2.5).cost_usd(**tokens) == pytest.approx((200 + 120 + 750 + 1000) / 1e6)
    assert Price(2.0, 10.0, 0.2).cost_usd(**tokens) == pytest.approx((800 + 120 + 1000) / 1e6)


async def test_every_attempt_counts_and_a_failed_one_has_no_tokens() -> None:
    meter, waits = Meter(), Waits()
    chat, _ = chat_over([RefusedError(500, "oops"), ConnectionError("gone"), "there"], sleep=waits)
    reply = await chat.ask(ASK, sampling=SAMPLING, meter=meter)
    assert reply.text == "there"
    assert meter.total == Usage(calls=3, retries=2, input_tokens=5, output_tokens=1, cost_usd=None)
    assert len(waits.seconds) == 2


async def test_after_the_last_attempt_the_error_is_raised() -> None:
    meter = Meter()
    chat, _ = chat_over([RefusedError(429, "busy")] * 3, retry=RetryPolicy(attempts=3))
    with pytest.raises(RateLimitError, match="busy") as caught:
        await chat.ask(ASK, sampling=SAMPLING, meter=meter)
    assert isinstance(caught.value.__cause__, RefusedError)
    assert (meter.total.calls, meter.total.retries) == (3, 2)


async def test_a_bug_in_the_client_is_let_go() -> None:
    chat, _ = chat_over([AttributeError("a bug")])
    with pytest.raises(AttributeError, match="a bug"):
        await chat.ask(ASK, sampling=SAMPLING, meter=Meter())


async def test_an_attempt_that_takes_too_long_is_cut_and_tried_again() -> None:
    class Slow(ScriptedChatModel):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            result = await super()._agenerate(*args, **kwargs)
            if len(self.calls) == 1:
                await asyncio.sleep(30)
            return result

    meter = Meter()
    chat = ChatModel(Slow(script=["too late", "in time"]), timeout_s=0.05, sleep=Waits())
    reply = await chat.ask(ASK, sampling=SAMPLING, meter=meter)
    assert (reply.text, meter.total.calls, meter.total.retries) == ("in time", 2, 1)
    chat = ChatModel(Slow(script=["too late"]), timeout_s=0.05, retry=RetryPolicy(attempts=1))
    with pytest.raises(BackendTimeoutError, match=r"no reply within 0\.05 s"):
        await chat.ask(ASK, sampling=SAMPLING, meter=Meter())


async def test_a_refused_field_is_left_out_from_then_on() -> None:
    meter = Meter()
    chat, model = chat_over([RefusedError(400, "'temperature' is not supported with this model"), "a", "b"])
    for _ in range(2):
        await chat.ask(ASK, sampling=SAMPLING, meter=meter)
    assert [set(c.settings) for c in model.calls] == [
        {"temperature", "top_p", "seed"},
        {"top_p", "seed"},
        {"top_p", "seed"},
    ]
    assert (meter.total.calls, meter.total.retries) == (3, 1)


async def test_what_the_system_says_is_said_by_the_user_from_then_on_where_a_template_has_no_place_for_it() -> None:
    said = (Message("system", "Be strict."), Message("user", "Well?"))
    chat, model = chat_over([RefusedError(400, "System role not supported"), "a", "b"])
    for _ in range(2):
        await chat.ask(said, sampling=SAMPLING, meter=Meter())
    assert [[(m.type, m.text) for m in call.messages] for call in model.calls] == [
        [("system", "Be strict."), ("human", "Well?")], *[[("human", "Be strict.\n\nWell?")]] * 2,
    ]  # fmt: skip


async def test_a_refused_n_is_remembered() -> None:
    chat, model = chat_over([RefusedError(400, "'n' must be 1"), "one"])
    assert await chat.send(ASK, sampling=SAMPLING, seeds=range(5), meter=Meter()) == ()
    assert not chat.takes_n
    (reply,) = await chat.send(ASK, sampling=SAMPLING, seeds=range(5), meter=Meter())
    assert (reply.text, [c.n for c in model.calls]) == ("one", [5, 1])


@pytest.fixture
def shared_cache() -> Iterator[None]:
    set_llm_cache(InMemoryCache())
    yield
    set_llm_cache(None)


@pytest.mark.usefixtures("shared_cache")
async def test_no_cache_answers_for_the_model() -> None:
    model = ScriptedChatModel(["first", "second"], cache=True)
    chat = ChatModel(model)
    same = Sampling(temperature=1.0, seed=1)
    texts = [(await chat.ask(ASK, sampling=same, meter=Meter())).text for _ in range(2)]
    assert texts == ["first", "second"]


async def test_inner_calls_are_children_tagged_nostream_and_never_streamed() -> None:
    seen: list[tuple[list[str] | None, bool]] = []

    class Watch(AsyncCallbackHandler):
        async def on_chat_model_start(self, *_: Any, tags: list[str] | None = None, **more: Any) -> None:
            seen.append((tags, more.get("parent_run_id") is not None))

        async def on_llm_new_token(self, *_: Any, **__: Any) -> None:
            raise AssertionError("a draft was streamed")

    chat, _ = chat_over(["fine"])

    async def inside(_: str) -> str:
        return (await chat.ask(ASK, sampling=SAMPLING, meter=Meter())).text

    chain: RunnableLambda[str, str] = RunnableLambda(inside)
    events = [e["event"] async for e in chain.astream_events("go", {"callbacks": [Watch()]}, version="v2")]
    assert [("nostream" in (tags or []), is_child) for tags, is_child in seen] == [(True, True)]
    assert "on_chat_model_stream" not in events


async def test_the_given_model_is_not_changed() -> None:
    model = ScriptedChatModel(["a"], temperature=0.3)
    before = model.model_dump()
    await ChatModel(model).ask(ASK, sampling=SAMPLING, meter=Meter())
    assert model.model_dump() == before


async def test_what_a_model_has_no_field_for_is_not_sent() -> None:
    chat = ChatModel(ParrotFakeChatModel())
    assert chat.settable(SAMPLING) == {}
    assert not chat.takes_n
    (reply,) = await chat.send(ASK, sampling=SAMPLING, seeds=range(3), meter=Meter())
    assert reply.text == "how are you"


def test_seeds_fit_into_what_every_provider_takes() -> None:
    assert Sampling(seed=2**63 - 1).fields() == {"seed": 2**31 - 1}


async def test_a_cancelled_call_stays_on_the_meter() -> None:
    sent = asyncio.Event()

    class Hangs(ScriptedChatModel):
        async def _agenerate(self, *_: Any, **__: Any) -> Any:
            sent.set()
            await asyncio.Event().wait()

    meter = Meter()
    task = asyncio.create_task(ChatModel(Hangs(script=[])).ask(ASK, sampling=SAMPLING, meter=meter))
    await sent.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert meter.total.calls == 1
