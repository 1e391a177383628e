"""What needs nothing costs nothing more: calls of the model behind the server, counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.server.drafts import Upstream
from eirene.agent.server.engine import Engine
from eirene.agent.settings import Settings
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, GIVEN, chat_engine, served
from tests.rows import each

WHOLE = "Supporters say that zoos teach children about animals. Critics say that cages make animals suffer."
REFUSAL = "I'm sorry, but I can't help with that."
CALL: Any = {"name": "look_up", "args": {}, "id": "c1", "type": "tool_call"}
pytestmark = pytest.mark.usefixtures("loopback")


def upstream(draft: str) -> Callable[[Any, int], str]:
    """Writes the draft, finds every sentence complete and nothing hallucinated, and revises nothing."""

    def script(request: Any, _: int) -> str:
        return "1. [Complete]\n2. [Complete]" if "enough information" in request.text else draft

    return script


@each(
    "mode, critic, calls, status, given",
    [
        ("fine-grained", "completeness", 2, "complete", GIVEN),
        ("fine-grained", "hallucination", 2, "no_fault_found", {"context": [WHOLE]}),
        ("fine-grained", "both", 3, "complete", {}),
        ("edit", "both", 3, "complete", GIVEN),
        ("improve", "completeness", 2, "not_checked", {"context": [WHOLE]}),
        ("generic", "completeness", 2, "not_checked", {}),
    ],
)
def test_a_draft_that_needs_nothing_costs_its_critique_alone(
    mode: str, critic: str, calls: int, status: str, given: dict[str, Any]
) -> None:
    """One call for the draft, and one for each critic (or for the refiner that is told nothing): no rewrite is asked
    for after a clean vote, nothing is voted on or scored again, an unchanged text is not asked for a second time."""
    with LoopbackServer(upstream(WHOLE)) as up, served(chat_engine(up, critic=critic, samples=3)) as server:
        reply: Any = server.client().chat.completions.create(
            model=f"refine/{mode}/test", messages=ASK, extra_body=given
        )
        assert (reply.eirene["status"], reply.choices[0].message.content) == (status, WHOLE)
        assert up.calls == calls


@each(
    "refusal, mode",
    [
        (REFUSAL, "fine-grained"),
        ("I apologize, but I cannot provide a prediction without a dataset. Can you give me one?", "improve"),
        ("Es tut mir leid, dabei kann ich nicht helfen. Ich kann Ihnen dabei nicht helfen.", "generic"),
    ],
)
def test_a_refusal_in_words_passes_untouched_for_the_price_of_the_draft(refusal: str, mode: str) -> None:
    with LoopbackServer(refusal) as up, served(chat_engine(up, samples=3)) as server:
        reply: Any = server.client().chat.completions.create(
            model=f"refine/{mode}/test", messages=ASK, extra_body=GIVEN
        )
        assert reply.choices[0].message.content == refusal
        assert (reply.eirene["status"], reply.eirene["why"]) == (
            "untouched", "the reply is a refusal, so it is passed on as it is"
        )  # fmt: skip
        assert up.calls == 1


@each(
    "draft, why",
    [
        (AIMessage(content="", additional_kwargs={"refusal": "No."}), "is a refusal"),
        (AIMessage(content=""), "is empty"),
        (AIMessage(content=" \n"), "is empty"),
        (AIMessage(content="", tool_calls=[CALL]), "calls tools"),
        (AIMessage(content="Let me look.", tool_calls=[CALL]), "calls tools"),
        (AIMessage(content=[{"type": "image_url", "image_url": {"url": "data:,"}}]), "is not text alone"),
    ],
)
def test_what_is_no_text_passes_untouched_and_the_loop_calls_nobody(draft: AIMessage, why: str) -> None:
    with LoopbackServer(WHOLE) as loop:
        parts = resolve_backend("openai:test", BackendOptions(base_url=loop.base_url))
        writer = Upstream(ScriptedChatModel([draft]), name="openai:test")
        with served(Engine(parts, Settings(), upstream=writer)) as server:
            reply: Any = server.client().chat.completions.create(model="test", messages=ASK, extra_body=GIVEN)
        assert (reply.eirene["status"], loop.calls) == ("untouched", 0)
        assert why in reply.eirene["why"]


def test_a_refusal_as_the_last_message_passes_untouched() -> None:
    asked: list[Any] = [*ASK, {"role": "assistant", "content": None, "refusal": "No."}]
    with LoopbackServer(WHOLE) as up, served(chat_engine(up)) as server:
        reply: Any = server.client().chat.completions.create(model="test", messages=asked, extra_body=GIVEN)
        assert (reply.eirene["status"], reply.choices[0].message.refusal, up.calls) == ("untouched", "No.", 0)
