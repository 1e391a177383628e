"""Token choice: the log-odds of one token, over a loopback server with the real client; what a server does not give."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eirene.core.errors import AuthError, BackendError
from eirene.core.scores import Unscored, probability
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.token_choice import NO_LOGPROBS, TokenChoice
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, TextReply
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
PROMPT = (Message("user", "Is water wet? Yes or No:"),)


def first_token(drawn: str, /, **top: float) -> TextReply:
    """A reply of one token, with the probabilities of those in its place (`_Yes` is " Yes")."""
    sent = [{"token": word.replace("_", " "), "logprob": math.log(p)} for word, p in top.items()]
    logprob = next((t["logprob"] for t in sent if t["token"] == drawn), math.log(0.5))
    return TextReply(drawn, "length", {"content": [{"token": drawn, "logprob": logprob, "top_logprobs": sent}]})


@contextmanager
def served(script: Callable[..., Any]) -> Iterator[tuple[LoopbackServer, ChatModel]]:
    with LoopbackServer(script) as server:
        options = ChatOptions(base_url=server.base_url, retry=RetryPolicy(attempts=1))
        yield server, resolve_chat("openai:test", options=options)


async def asked(reply: Any, choices: tuple[str, str] = ("Yes", "No")) -> float | Unscored:
    with served(lambda _request, _index: reply) as (_, chat):
        return (await TokenChoice(chat, choices).log_odds([PROMPT], meter=Meter()))[0]


@each(
    "reply, odds",
    [
        (first_token("Yes", Yes=0.6, No=0.2), 0.6 / 0.2),
        (first_token("Yes", Yes=0.3, _yes=0.2, YES=0.1, No=0.1, _no=0.1), 0.6 / 0.2),
        (first_token("The", The=0.7, Yes=0.1, No=0.1), 1.0),
        (first_token("Yes", Yes=0.9, The=0.05, If=0.01), 0.9 / 0.01),  # "No" has at most what "If" has
        (first_token("Yes", Yes=0.9, The=0.09), 0.9 / 0.01),  # and at most what is left
        (first_token("No", No=0.75), 0.25 / 0.75),
    ],
)
async def test_the_odds_are_those_of_the_words_whatever_their_case_and_space(reply: TextReply, odds: float) -> None:
    assert await asked(reply) == pytest.approx(math.log(odds))


async def test_the_case_of_a_letter_counts() -> None:
    assert await asked(first_token("A", A=0.4, a=0.4, B=0.1), ("A", "B")) == pytest.approx(math.log(4.0))


@each(
    "reply, why",
    [
        (first_token("The", The=0.98, Yes=0.005), "says 'The' and none of yes, no"),
        (TextReply("Yes"), NO_LOGPROBS),
        (TextReply("Yes", logprobs={"content": [{"token": "Yes", "logprob": "much"}]}), NO_LOGPROBS),
        (TextReply("Yes", logprobs={"content": [{"token": "Yes", "logprob": 5.0}]}), "the log-probability 5, and none"),
        (
            TextReply(
                "Yes",
                logprobs={
                    "content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": [{"token": "No", "logprob": 1e9}]}]
                },
            ),
            "the log-probability 1e+09, and none is above 0",
        ),
    ],
)
async def test_without_readable_probabilities_the_answer_is_unscored_and_never_even(reply: Any, why: str) -> None:
    found = await asked(reply)
    assert isinstance(found, Unscored) and why in found.unscored


@each("refuses", [True, False])
async def test_a_server_without_probabilities_is_found_out_once_and_said_once(
    refuses: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it refuses the field or passes it over: one line in the log, and no question after that."""
    caplog.clear()

    def script(request: Any, _index: int) -> Any:
        if refuses and "logprobs" in request.body:
            return HttpError(400, "this model does not support logprobs", param="logprobs")
        return "Yes"

    with served(script) as (server, chat), caplog.at_level(logging.WARNING):
        choice = TokenChoice(chat)
        found = await choice.log_odds([PROMPT] * 3, meter=Meter())
        calls = server.calls
        assert {type(f) for f in found} == {Unscored} and not choice.is_readable
        await choice.log_odds([PROMPT], meter=Meter())
        assert server.calls == calls
    assert len([r for r in caplog.records if NO_LOGPROBS in r.message]) == 1


async def test_one_token_is_asked_for_and_many_prompts_come_back_in_order() -> None:
    def script(request: Any, _index: int) -> Any:
        share = float(request.text.split()[-1])
        return first_token("Yes", Yes=share, No=1 - share)

    shares = [0.9, 0.1, 0.5, 0.8]
    with served(script) as (server, chat):
        prompts = [[Message("user", f"How much? {share}")] for share in shares]
        found = await TokenChoice(chat).log_odds(prompts, meter=(meter := Meter()))
        assert {r.body.get("max_completion_tokens", r.body.get("max_tokens")) for r in server.requests} == {1}
    assert [probability(f) for f in found if isinstance(f, float)] == pytest.approx(shares)
    assert meter.total.calls == 4


@each(
    "fault, kind",
    [
        (HttpError(401, "no"), AuthError),
        (HttpError(500, "out of order"), BackendError),
    ],
)
async def test_a_call_that_failed_is_raised(fault: HttpError, kind: type[BackendError]) -> None:
    with served(lambda _request, _index: fault) as (_, chat), pytest.raises(kind):
        await TokenChoice(chat).log_odds([PROMPT] * 2, meter=Meter())


def test_two_words_that_are_one_are_refused() -> None:
    with served(lambda *_: "x") as (_, chat), pytest.raises(ValueError, match="different words, two at least"):
        TokenChoice(chat, ("Yes", " yes"))
