"""The rule `auto`: all samples where one request gives them, early stopping where each is a request of its own."""

from __future__ import annotations

from typing import Any

import pytest

from eirene.core.critique import Sample
from eirene.core.errors import BackendError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.sampling import DrawResult, draw_samples
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedRequest
from eirene.text.sentences import split_sentences
from tests.rows import each

ANSWER = "Trams are quiet. Buses are cheap."
pytestmark = pytest.mark.usefixtures("loopback")


def request(number: int = 5) -> FeedbackRequest:
    return FeedbackRequest(Item(question=f"Trams in {number}?", answer=ANSWER), ANSWER, split_sentences(ANSWER), number)


def critique(asked: ScriptedRequest, index: int) -> str:
    """A critique that its seed and place decide: the reasons differ, one in eight finds nothing."""
    mark = asked.body["seed"] + index
    return "1. [Complete]\n2. [Complete]" if mark % 8 == 0 else f"1. [Incomplete] Reasons: No {mark}.\n2. [Complete]"


def feedback_at(server: LoopbackServer) -> ChatFeedback:
    options = ChatOptions(base_url=server.base_url, retry=RetryPolicy(attempts=1))
    return ChatFeedback(resolve_chat("openai:test", options=options))


async def drawn(model: Any, asked: FeedbackRequest, *, stop: Any = "auto", floor: float = 0.0) -> DrawResult:
    return await draw_samples(model, asked, n=20, stop=stop, meter=Meter(), min_consistency=floor)


def torn(asked: ScriptedRequest, index: int) -> str:
    """Every other critique finds nothing."""
    return "1. [Complete]\n2. [Complete]" if index % 2 else f"1. [Complete]\n2. [Incomplete] Reasons: No {index}."


@each(
    "script, stop, floor, asked, rule",
    [
        ("1. [Complete]\n2. [Complete]", "auto", 0.0, [5], "beta"),
        (torn, "auto", 0.0, [5, 15], "beta"),
        ("1. [Complete]\n2. [Complete]", "auto", 0.5, [11], "exact"),
        (torn, "auto", 0.5, [11, 9], "exact"),
        (critique, "none", 0.0, [20], "none"),
    ],
)
async def test_where_n_is_taken_the_rest_is_asked_for_only_where_the_first_do_not_decide(
    script: Any, stop: Any, floor: float, asked: list[int], rule: str
) -> None:
    with LoopbackServer(script) as server:
        found = await drawn(feedback_at(server), request(), stop=stop, floor=floor)
    assert ([r.n for r in server.requests], len(found.samples), found.stop) == (asked, sum(asked), rule)


async def test_where_n_is_refused_drawing_stops_early_and_the_refusal_is_remembered(subtests: pytest.Subtests) -> None:
    """The first item costs the refused request, later ones nothing; their samples are those of the explicit rule."""
    for floor, rule in [(0.0, "beta"), (0.5, "exact")]:
        with subtests.test(floor=floor, rule=rule), LoopbackServer(critique, n="refuses") as server:
            model, calls = feedback_at(server), []
            for number in (5, 6):
                before = server.calls
                found = await drawn(model, request(number), floor=floor)
                calls.append(server.calls - before)
                explicit = await drawn(feedback_at(server), request(number), stop=rule, floor=floor)
                assert (found.samples, found.stop, found.early_stop) == (explicit.samples, rule, True)
                assert calls[-1] == len(found.samples) + (number == 5)
            assert sum(asked.n > 1 for asked in server.requests) == 3  # one of auto, one of each explicit model


async def test_an_item_gives_the_same_samples_first_or_later() -> None:
    """Whoever finds out that `n` is refused draws what those after it draw."""
    with LoopbackServer(critique, n="refuses") as server:
        model = feedback_at(server)
        first, _, again = [await drawn(model, request(number)) for number in (5, 6, 5)]
    assert first == again


async def test_the_one_reply_of_a_server_that_ignores_n_is_the_first_sample() -> None:
    with LoopbackServer(critique, n="ignores") as server:
        model = feedback_at(server)
        found, again = await drawn(model, request()), await drawn(model, request())
    assert (found.samples, found.stop) == (again.samples, "beta")
    assert server.calls == 2 * len(found.samples)


async def test_a_client_without_n_is_never_asked_for_several() -> None:
    model = ScriptedChatModel(lambda _: "1. [Complete]\n2. [Complete]")
    feedback = ChatFeedback(model)
    feedback.chat._fields = feedback.chat._fields - {"n"}
    found = await drawn(feedback, request())
    assert (found.stop, len(found.samples), [call.n for call in model.calls]) == ("beta", 4, [1] * 4)


async def test_a_model_that_says_nothing_of_its_requests_is_asked_once_for_all() -> None:
    class Plain:
        name = "plain"
        asked: list[tuple[int, int]] = []  # noqa: RUF012

        async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> Any:
            self.asked.append((start, count))
            for _ in range(count):
                yield Sample(tags=("Complete", "Complete"), reasons=(None, None))

    model = Plain()
    found = await drawn(model, request())
    assert (model.asked, found.stop, found.early_stop) == ([(0, 20)], "none", False)


async def test_a_server_that_fails_is_an_error_and_no_early_stop() -> None:
    with LoopbackServer(lambda *_: HttpError(500)) as server:
        with pytest.raises(BackendError):
            await drawn(feedback_at(server), request())
        assert server.calls == 1
