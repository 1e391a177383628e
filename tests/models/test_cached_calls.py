"""Chat models on a call cache: equal prompts stay apart, a rerun pays nothing, and a half-known vote pays its half."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eirene.core.errors import BackendError
from eirene.core.usage import Meter, Usage
from eirene.models.cache import CallCache
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.limits import RetryPolicy
from eirene.models.replies import Reply
from eirene.models.scripted import Script, ScriptedChatModel
from eirene.prompts import Message

ASK = (Message("system", "be brief"), Message("user", "how are you"))
DRAWN = Sampling(temperature=1.0, top_p=0.9)


class RefusedError(Exception):
    status_code = 400


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    made = CallCache(tmp_path / "calls.sqlite")
    yield made
    made.close()


def chat_over(script: Script, cache: CallCache, **settings: Any) -> tuple[ChatModel, ScriptedChatModel]:
    model = ScriptedChatModel(script, **settings)
    return ChatModel(model, name="openai:m", cache=cache, retry=RetryPolicy(attempts=1)), model


async def drawn(chat: ChatModel, seeds: range, meter: Meter | None = None) -> list[str]:
    replies = draw_replies(chat, Drawing(ASK, DRAWN, seeds), meter=meter or Meter())
    return [r.text if isinstance(r, Reply) else r.kind async for r in replies]


async def test_twenty_equal_prompts_are_twenty_replies_and_stay_so(cache: CallCache) -> None:
    """A vote from the cache is the vote that was drawn: no reply stands in for another, and nothing is paid."""
    words = [f"reply {n}" for n in range(20)]
    chat, _ = chat_over(words, cache)
    assert await drawn(chat, range(20)) == words
    again, model = chat_over([], cache)
    meter = Meter()
    assert await drawn(again, range(20), meter) == words
    assert (model.calls, meter.total) == ([], Usage(cache_hits=20))


async def test_what_came_one_a_request_serves_a_provider_that_takes_n_and_the_other_way_round(cache: CallCache) -> None:
    """A key is a sample's, however the sample was asked for; a refused `n` need not be found out again."""
    chat, model = chat_over([RefusedError("'n' must be 1"), *"abc"], cache)
    assert sorted(await drawn(chat, range(3))) == list("abc")
    assert [c.n for c in model.calls] == [3, 1, 1, 1]
    again, other = chat_over([], cache)
    assert await drawn(again, range(3)) == await drawn(chat, range(3))
    assert other.calls == []


async def test_a_larger_vote_pays_for_the_further_samples_alone(cache: CallCache) -> None:
    """What is missing is asked for in one request, and comes in its places."""
    chat, _ = chat_over(["a", "b"], cache)
    await drawn(chat, range(1, 3))
    more, model = chat_over(["c", "d"], cache)
    meter = Meter()
    assert await drawn(more, range(4), meter) == ["c", "a", "b", "d"]
    assert ([c.n for c in model.calls], meter.total.cache_hits, meter.total.calls) == ([2], 2, 1)


async def test_a_reply_that_was_cut_off_or_failed_is_asked_for_again(cache: CallCache) -> None:
    """Only what came whole is known to the next run."""
    cut = AIMessage("half a", response_metadata={"finish_reason": "length"})
    chat, _ = chat_over([RefusedError("'n' must be 1"), "whole", cut, BackendError("gone")], cache)
    assert sorted(await drawn(chat, range(3))) == ["BackendError", "half a", "whole"]
    again, model = chat_over(["second", "third"], cache)
    assert sorted(await drawn(again, range(3))) == ["second", "third", "whole"]
    assert [c.n for c in model.calls] == [2]


async def test_a_single_call_is_known_by_its_seed_and_all_else(cache: CallCache) -> None:
    """The same question with another seed, temperature, text or model is another call."""
    one = Sampling(temperature=0.0, seed=1)
    for n, (ask, sampling, name) in enumerate(
        [(ASK, one, "openai:m"), (ASK, Sampling(temperature=0.0, seed=2), "openai:m"),
         (ASK, Sampling(temperature=0.1, seed=1), "openai:m"), (ASK[1:], one, "openai:m"), (ASK, one, "openai:n")]
    ):  # fmt: skip
        chat = ChatModel(ScriptedChatModel([f"reply {n}"]), name=name, cache=cache)
        for _ in range(2):
            reply = await chat.ask(ask, sampling=sampling, meter=Meter())
            assert reply.text == f"reply {n}"


async def test_a_drawn_reply_without_a_seed_is_never_kept(cache: CallCache) -> None:
    """Nothing tells such samples apart, so each is asked for; at temperature 0 there is nothing to tell apart."""
    chat, _ = chat_over(["first", "second", "third"], cache)
    for wanted in ("first", "second"):
        reply = await chat.ask(ASK, sampling=Sampling(temperature=1.0), meter=Meter())
        assert reply.text == wanted
    for _ in range(2):
        reply = await chat.ask(ASK, sampling=Sampling(temperature=0.0), meter=Meter())
        assert reply.text == "third"


async def test_model_objects_are_told_apart_by_their_settings(cache: CallCache) -> None:
    """Two objects with one name and other settings are two models; equal ones are one."""
    number = count()

    def script(_: object) -> str:
        return f"reply {next(number)}"

    for wanted, top_p in (("reply 0", 0.1), ("reply 1", 0.2), ("reply 0", 0.1)):
        chat = ChatModel(ScriptedChatModel(script, top_p=top_p), cache=cache)
        reply = await chat.ask(ASK, sampling=Sampling(temperature=0.0, seed=1), meter=Meter())
        assert reply.text == wanted


def test_the_settings_of_a_real_client_are_told_apart_and_its_key_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every process makes the same text of the same settings; a key is in no text."""
    from langchain_openai import ChatOpenAI

    from eirene.models.clients import identity_of

    def made(**settings: Any) -> str:
        return identity_of(ChatOpenAI(model="m", **settings), None)

    texts = [made(api_key="sk-1"), made(api_key="sk-2"), made(api_key="sk-1", max_tokens=5)]
    assert texts[0] == texts[1] != texts[2]
    assert "sk-1" not in texts[0] and " at 0x" not in texts[0]


async def test_the_server_belongs_to_the_key(cache: CallCache) -> None:
    """One model name on two servers is two models."""
    from eirene.models.resolve import ChatOptions, resolve_chat

    keys = [
        resolve_chat("openai:m", options=ChatOptions(base_url=url, cache=cache)).keys(ASK, sampling=DRAWN, seeds=[1])[0]
        for url in ("http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1", "http://127.0.0.1:1/v1/")
    ]
    assert keys[0] != keys[1] and keys[0] == keys[2]


async def test_two_calls_for_one_reply_at_once_agree(cache: CallCache) -> None:
    """Whoever comes second takes what the first has stored, so that a rerun agrees with both."""
    chat, _ = chat_over(["first"], cache)
    late, _ = chat_over(["second"], cache)
    sampling = Sampling(temperature=0.0, seed=1)
    await chat.ask(ASK, sampling=sampling, meter=Meter())
    (reply,) = await late.send(ASK, sampling=sampling, seeds=[1], meter=Meter())  # asked before it was known
    assert reply.text == "first"
