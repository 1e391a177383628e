"""Prompt caches of providers: what is sent for them, what they report, and what it costs."""

from __future__ import annotations

from typing import Any

import pytest

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.request import feedback_messages
from eirene.models.chat import LEAST_TOKENS, ChatModel, Sampling
from eirene.models.costs import Price
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.refiners.asking import refine_messages
from eirene.refiners.base import RefineTask, Rejection
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import shared_beginning
from eirene.text.sentences import split_sentences
from tests.models.json_server import json_server

pytestmark = pytest.mark.usefixtures("loopback")

LONG = (Message("system", "You judge."), Message("user", "The pier is old. " * LEAST_TOKENS))
SHORT = (Message("system", "You judge."), Message("user", "The pier is old."))
USAGE = {"input_tokens": 10, "output_tokens": 3, "cache_read_input_tokens": 600, "cache_creation_input_tokens": 400}
MESSAGE = {
    "id": "m", "type": "message", "role": "assistant", "model": "c", "content": [{"type": "text", "text": "Fine."}],
    "stop_reason": "end_turn", "usage": USAGE,
}  # fmt: skip


async def drawn(chat: ChatModel, messages: tuple[Message, ...], count: int) -> Meter:
    meter = Meter()
    replies = draw_replies(chat, Drawing(messages, Sampling(), range(count)), meter=meter)
    assert len([reply async for reply in replies]) == count
    return meter


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("langchain_anthropic")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    return lambda url, **more: resolve_chat("anthropic:c", options=ChatOptions(base_url=url, **more))


async def test_a_long_prompt_that_samples_share_ends_with_a_breakpoint(anthropic: Any) -> None:
    with json_server(MESSAGE) as (url, bodies):
        await drawn(anthropic(url), LONG, 3)
    assert len(bodies) == 3
    for body in bodies:
        (block,) = body["messages"][-1]["content"]
        assert (block["text"], block["cache_control"]) == (LONG[1].content, {"type": "ephemeral"})


async def test_a_short_prompt_and_one_that_is_asked_once_have_none(anthropic: Any) -> None:
    """Too short a prompt is not kept; one of a single request would be written for nothing, at a higher price."""
    with json_server(MESSAGE) as (url, bodies):
        await drawn(anthropic(url), SHORT, 2)
        await anthropic(url).ask(LONG, sampling=Sampling(), meter=Meter())
    assert "cache_control" not in str(bodies)


async def test_what_a_cache_gave_and_took_is_priced(anthropic: Any) -> None:
    """Anthropic's input tokens leave both out; the record's hold all."""
    with json_server(MESSAGE) as (url, _):
        meter = await drawn(anthropic(url, price=Price(3.0, 15.0, 0.3, 3.75)), LONG, 1)
    assert (meter.total.input_tokens, meter.total.cached_tokens) == (1010, 600)
    assert meter.total.cost_usd == pytest.approx((10 * 3 + 600 * 0.3 + 400 * 3.75 + 3 * 15) / 1e6)


async def test_the_first_sample_writes_the_cache_before_the_others_ask(anthropic: Any) -> None:
    """All at once would each write it, at more than the plain price."""
    with json_server(MESSAGE) as (url, bodies):
        replies = draw_replies(anthropic(url), Drawing(LONG, Sampling(), range(4)), meter=Meter())
        await anext(replies)
        assert len(bodies) == 1
        assert len([reply async for reply in replies]) == 3
    assert len(bodies) == 4


async def test_cached_tokens_of_openai_s_protocol_are_recorded_and_priced() -> None:
    """The scripted server keeps prompts as OpenAI does; the client's count and cost are the server's."""
    with LoopbackServer("Fine.", cache_from=20) as server:
        options = ChatOptions(base_url=server.base_url, price=Price(2.0, 8.0, 0.5))
        chat, meter = resolve_chat("openai:test", options=options), Meter()
        for ending in ("now", "then", "now"):
            asked = (Message("system", "You judge. " * 20), Message("user", f"It is so {ending}"))
            await chat.ask(asked, sampling=Sampling(), meter=meter)
        await chat.ask(SHORT, sampling=Sampling(), meter=meter)
    assert server.cached_tokens == 43 + 44  # all but the last word, then all of them; the short prompt is too short
    assert meter.total.cached_tokens == server.cached_tokens
    fresh = server.input_tokens - server.cached_tokens
    cost = fresh * 2.0 + server.cached_tokens * 0.5 + server.output_tokens * 8.0
    assert meter.total.cost_usd == pytest.approx(cost / 1e6)


GIVEN = Item(
    id="i", question="Trams or buses?", answer="Trams.", context=["Trams are quiet. " * 30, "Buses are cheap."]
)


def test_critiques_of_a_text_and_of_its_rewrite_begin_alike() -> None:
    """Instructions, question and what was given come first; the answer, which rounds change, comes last."""
    asked = [
        feedback_messages(FeedbackRequest(GIVEN, answer, split_sentences(answer), 1))
        for answer in ("Trams are quiet.", "Buses are cheap. Trams are not.")
    ]
    (one,), (other,) = asked
    given = one.content[: one.content.index("Answer: ")]
    assert "Buses are cheap." in given and other.content.startswith(given)


def test_rewrites_of_one_item_begin_alike_whatever_the_gate_said() -> None:
    sentence = TaggedSentence(n=1, text="Trams.", start=0, end=6, tag="Incomplete", reason="Why?")
    critique = Critique(
        sentences=(sentence,), tag_consistency=1, reason_consistency=1, n_drawn=3, n_valid=3, n_requested=3
    )
    first = RefineTask(GIVEN, "Trams.", "fine-grained", critique, (), 0)
    again = RefineTask(GIVEN, "Trams.", "fine-grained", critique, (Rejection("Buses.", "no gain"),), 1)
    (system, one), (same, other) = refine_messages(first)[0], refine_messages(again)[0]
    assert system == same
    shared = shared_beginning(one.content, other.content)
    assert "Why?" in one.content[:shared]
