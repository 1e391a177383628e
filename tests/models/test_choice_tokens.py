"""Token counts of several choices, of a server that counts one of them and of one that counts all."""

from __future__ import annotations

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply, ReplyToken, Tokens
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from tests.rows import each

WORD = ReplyToken("word ", -0.1)
ASK = [Message("user", "hm?")]


def chat_at(address: str) -> ChatModel:
    return ChatModel(ChatOpenAI(model="test", base_url=address, api_key=SecretStr("x")))


def replies(*counts: int, counted: bool = True) -> list[Reply]:
    return [Reply("word " * n, "stop", (WORD,) * n if counted else ()) for n in counts]


@each(
    "told, came, settled",
    [
        (Tokens(100, 5), replies(5, 7, 9), Tokens(100, 21)),  # the first choice alone was counted
        (Tokens(100, 21), replies(5, 7, 9), Tokens(100, 21)),
        (Tokens(100, 50), replies(*[50] * 20, counted=False), Tokens(100, 1000)),  # in proportion to the characters
        (Tokens(100, 1000), replies(*[50] * 20, counted=False), Tokens(100, 1000)),
        (Tokens(100, 5), replies(50), Tokens(100, 5)),
        (Tokens(is_unknown=True), replies(5, 5), Tokens(is_unknown=True)),
    ],
)
def test_what_a_server_left_uncounted_is_counted_here(told: Tokens, came: list[Reply], settled: Tokens) -> None:
    assert chat_at("http://127.0.0.1:8080/v1")._all_tokens(told, came) == settled


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize(("counts", "asked"), [("all", [True, None]), ("first", [True, True])])
async def test_log_probabilities_are_asked_for_until_a_server_counts_all_and_handed_to_nobody(
    counts: str, asked: list[bool | None]
) -> None:
    with LoopbackServer(lambda _, i: f"reply {i}") as server:
        chat = resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url))
        for _ in range(2):
            meter = Meter()
            found = await chat.send(ASK, sampling=Sampling(seed=1), seeds=range(3), meter=meter)
            assert [r.tokens for r in found] == [()] * 3
            if counts == "first":
                chat._all_tokens(Tokens(1, 1), replies(5, 7))
        assert [r.body.get("logprobs") for r in server.requests] == asked


def test_providers_that_count_are_asked_for_nothing_more() -> None:
    known = [chat_at(f"https://{host}/v1") for host in ("api.openai.com", "x.openai.azure.com", "mine.example")]
    assert [chat._counts_all for chat in known] == [True, True, None]
