"""Token counts of several choices, of a server that counts one of them and of one that counts all."""

from __future__ import annotations

from typing import Any

import pytest

from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.choice_tokens import ChoiceTokens
from eirene.models.replies import Reply, ReplyToken, Tokens
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer

OWN = "http://127.0.0.1:8080/v1"
WORD = ReplyToken("word ", -0.1)


def replies(*counts: int, counted: bool = True) -> list[Reply]:
    return [Reply("word " * n, "stop", (WORD,) * n if counted else ()) for n in counts]


def test_a_server_that_counts_one_choice_is_counted_for_by_log_probabilities() -> None:
    counting = ChoiceTokens(OWN)
    assert counting.wants_logprobs(20)
    assert counting.settled(Tokens(100, 5), replies(5, 7, 9)) == Tokens(100, 21)
    assert counting.wants_logprobs(20)  # it will do so again


def test_a_server_that_counts_them_all_is_believed_from_then_on() -> None:
    counting = ChoiceTokens(OWN)
    assert counting.settled(Tokens(100, 21), replies(5, 7, 9)) == Tokens(100, 21)
    assert not counting.wants_logprobs(20)


def test_without_log_probabilities_what_cannot_be_is_put_right_in_proportion() -> None:
    counting = ChoiceTokens(OWN)
    long = replies(*[50] * 20, counted=False)
    assert counting.settled(Tokens(100, 50), long) == Tokens(100, 1000)
    assert counting.settled(Tokens(100, 1000), long) == Tokens(100, 1000)
    assert not counting.wants_logprobs(20)


def test_one_choice_and_a_server_that_tells_nothing_are_left_alone() -> None:
    counting = ChoiceTokens(OWN)
    assert not counting.wants_logprobs(1)
    assert counting.settled(Tokens(100, 5), replies(50)) == Tokens(100, 5)
    unknown = Tokens(is_unknown=True)
    assert counting.settled(unknown, replies(5, 5)) is unknown


@pytest.mark.parametrize("address", [None, "https://api.openai.com/v1/", "https://x.openai.azure.com/"])
def test_providers_that_count_are_asked_for_nothing_more(address: str | None) -> None:
    assert not ChoiceTokens(address).wants_logprobs(20)


@pytest.mark.usefixtures("loopback")
async def test_log_probabilities_are_asked_for_once_and_handed_to_nobody() -> None:
    with LoopbackServer(lambda _, i: f"reply {i}") as server:
        chat: ChatModel = resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url))
        asked: dict[str, Any] = {"sampling": Sampling(seed=1), "seeds": range(3), "meter": Meter()}
        assert [r.tokens for r in await chat.send([Message("user", "hm?")], **asked)] == [()] * 3
        await chat.send([Message("user", "hm?")], **asked)
        assert [r.body.get("logprobs") for r in server.requests] == [True, None]
