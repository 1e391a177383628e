"""Several replies to one prompt, in the order of their seeds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from eirene.core.errors import BackendError, ScriptExhaustedError, UnreachableError
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.scripted import ScriptedChatModel
from eirene.prompts import Message

ASK = (Message("user", "how are you"),)
ONCE = RetryPolicy(attempts=1)


class OneAtATime(ScriptedChatModel):
    """Gives one reply a request, whatever `n` says, as Ollama does."""

    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        self.n = None
        return super()._generate(*args, **kwargs)


async def drawn(chat: ChatModel, count: int, meter: Meter | None = None) -> list[Reply | BackendError]:
    drawing = Drawing(ASK, Sampling(temperature=1.0), range(count))
    stream = draw_replies(chat, drawing, meter=Meter() if meter is None else meter)
    return [reply async for reply in stream]


async def test_a_model_that_gives_fewer_is_asked_for_the_rest_and_never_for_n_again() -> None:
    model = OneAtATime(script=lambda _: "a reply")
    chat, meter = ChatModel(model), Meter()
    assert len(await drawn(chat, 20, meter)) == 20
    assert (meter.total.calls, meter.total.retries, chat.takes_n) == (20, 0, False)
    assert len(await drawn(chat, 20, meter)) == 20
    assert meter.total.calls == 40


async def test_replies_come_in_order_whatever_order_the_calls_end_in() -> None:
    class Backwards(OneAtATime):
        async def _agenerate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
            for _ in range(10 - (self.seed or 0)):  # the later seeds are the quicker ones
                await asyncio.sleep(0)
            result = self._generate(messages)
            result.generations[0].message.content = f"seed {self.seed}"
            return result

    replies = await drawn(ChatModel(Backwards(script=lambda _: "x")), 5)
    assert [r.text for r in replies if isinstance(r, Reply)] == [f"seed {i}" for i in range(5)]


async def test_a_call_that_fails_for_good_leaves_its_error_in_its_place() -> None:
    chat = ChatModel(OneAtATime(script=["0", ConnectionError("gone"), "2"]), retry=ONCE)
    first, second, third = await drawn(chat, 3)
    assert isinstance(second, UnreachableError)
    assert (first, third) == (Reply("0", "stop"), Reply("2", "stop"))


async def test_a_failed_request_for_all_is_an_error_for_each() -> None:
    chat = ChatModel(ScriptedChatModel([ConnectionError("gone")]), retry=ONCE)
    assert [type(r) for r in await drawn(chat, 3)] == [UnreachableError] * 3


async def test_a_script_that_runs_out_is_no_failed_sample() -> None:
    with pytest.raises(ScriptExhaustedError):
        await drawn(ChatModel(OneAtATime(script=["0", "1"])), 3)
