"""Log-probabilities of a text from a server that echoes, by the real `openai` client against loopback."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from eirene.core.errors import AuthError, BackendError, BackendTimeoutError, MalformedReplyError, UnreachableError
from eirene.core.grounding import Grounding
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.likelihood import GptScore
from eirene.models.limits import RetryPolicy
from eirene.models.token_scores import EchoScorer
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest, TextReply

pytestmark = pytest.mark.usefixtures("loopback")

ASK = (Message("user", "how are you"),)
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)


def echoed(request: ScriptedRequest, _: int) -> ScriptedReply:
    """Words with their white space as tokens; the log-probability of each is minus its length."""
    prompt = request.body["prompt"]
    found = [(m.group(), m.start()) for m in re.finditer(r"\s*\S+\n?", prompt + " more")]
    tokens = [token for token, _ in found]
    return TextReply(
        prompt + " more",
        logprobs={
            "tokens": tokens,
            "token_logprobs": [None, *(-float(len(t)) for t in tokens[1:])],
            "top_logprobs": [None, *({t: -float(len(t)), "x": -0.5} for t in tokens[1:])],
            "text_offset": [at for _, at in found],
        },
    )


def scorer(server: LoopbackServer, **options: Any) -> EchoScorer:
    return EchoScorer("base", base_url=server.base_url, retry=QUICK, **options)


async def test_the_texts_tokens_come_back_and_no_others() -> None:
    meter = Meter()
    with LoopbackServer(echoed) as server:
        found = await scorer(server).score(ASK, "I am fine", top=5, meter=meter)
        body = server.requests[0].body
    assert [(t.start, t.end, t.logprob, t.top) for t in found] == [
        (0, 1, -1.0, (-1.0, -0.5)), (1, 4, -3.0, (-3.0, -0.5)), (4, 9, -5.0, (-5.0, -0.5)),
    ]  # fmt: skip
    assert (body["prompt"], body["echo"], body["logprobs"]) == ("how are you\nI am fine", True, 5)
    assert (meter.total.calls, meter.total.input_tokens) == (1, 6)


async def test_gptscore_runs_on_it() -> None:
    with LoopbackServer(echoed) as server:
        found = await GptScore(scorer(server)).score(Case("Q?", "I am fine", Grounding("derived", ())), meter=Meter())
    assert found.raw == {"mean_logprob": -3.0, "tokens": 3.0}


async def test_what_passes_is_tried_again_and_counted() -> None:
    meter = Meter()
    with LoopbackServer(lambda r, i: HttpError(503) if r.number < 3 else echoed(r, i)) as server:
        await scorer(server).score(ASK, "fine", top=1, meter=meter)
        assert (server.calls, meter.total.calls, meter.total.retries) == (3, 3, 2)


def without(name: str, value: float | None = None) -> Any:
    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        found = echoed(request, index)
        assert isinstance(found, TextReply) and found.logprobs is not None
        return TextReply(found.text, logprobs=None if name == "logprobs" else {**found.logprobs, name: [value] * 6})

    return script


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        (lambda *_: HttpError(401, "no"), AuthError),
        (lambda *_: HttpError(500), UnreachableError),
        (lambda *_: BrokenReply("drop"), UnreachableError),
        (lambda *_: "only what is new", MalformedReplyError),
        (without("logprobs"), MalformedReplyError),
        (without("token_logprobs"), MalformedReplyError),
        (without("token_logprobs", math.nan), MalformedReplyError),
        (lambda *_: HttpError(400, "maximum context length is 2048 tokens"), BackendError),
    ],
)
async def test_a_server_that_does_not_echo_is_an_error(script: Any, kind: type[BackendError]) -> None:
    with LoopbackServer(script) as server, pytest.raises(kind):
        await scorer(server).score(ASK, "I am fine", top=1, meter=Meter())


async def test_openais_own_server_without_a_key_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(AuthError, match="set OPENAI_API_KEY"):
        await EchoScorer("babbage-002").score(ASK, "fine", top=1, meter=Meter())


async def test_a_late_reply_is_an_error() -> None:
    with LoopbackServer(echoed, latency_s=0.5) as server, pytest.raises(BackendTimeoutError):
        await scorer(server, timeout_s=0.02).score(ASK, "fine", top=1, meter=Meter())
