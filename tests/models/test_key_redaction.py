"""A key that the server quotes back stands nowhere in the error, whichever way the client was given it."""

from __future__ import annotations

import base64
import json
import logging
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import PrivateAttr, SecretStr

from eirene.core.errors import BackendError
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.limits import RetryPolicy
from eirene.models.redaction import HIDDEN
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import BrokenReply, HttpError, RawReply, ScriptedReply, ScriptedRequest
from tests.canary import assert_hidden
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

KEY = "mine.CANARY/9f3k+2m=x"
QUICK = RetryPolicy(attempts=2, first_wait_s=0.001, max_wait_s=0.002)
ASK = (Message("user", "the prompt"),)


class Bare(BaseChatModel):
    """A model whose client nobody knows, and which raises what it is told."""

    url: str
    _client: Any = PrivateAttr()

    @property
    def _llm_type(self) -> str:
        return "bare"

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        with httpx.Client(headers={"X-Key": KEY}) as self._client:
            reply = self._client.post(f"{self.url}/chat/completions", json={"messages": [{"content": "x"}]})
        if reply.status_code == 418:
            raise AttributeError(f"a bug, with {reply.text}")
        if reply.status_code != 200:
            raise RuntimeError(reply.text) from httpx.HTTPStatusError(KEY, request=reply.request, response=reply)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply.text))])


def openai(url: str, **more: Any) -> BaseChatModel:
    return ChatOpenAI(**{"model": "test", "base_url": url, "api_key": SecretStr("x"), **more})


WAYS: dict[str, Callable[[str], BaseChatModel]] = {
    "argument": lambda url: openai(url, api_key=KEY),
    "secret": lambda url: openai(url, api_key=SecretStr(KEY)),
    "function": lambda url: openai(url, api_key=lambda: KEY),
    "headers": lambda url: openai(url, default_headers={"X-Gate": KEY}),
    "query": lambda url: openai(url, default_query={"gate": KEY}),
    "cookie": lambda url: openai(url, default_headers={"Cookie": f"session={KEY}"}),
    "address": lambda url: openai(url.replace("//", "//me:mine.CANARY9f3k2mx@")),
    "azure": lambda url: openai(url, default_headers={"api-key": KEY}),
}


def echo(request: ScriptedRequest, _: int) -> ScriptedReply:
    names = ("authorization", "x-gate", "cookie", "api-key")
    return HttpError(400, "sent: " + " ".join(request.headers[name] for name in names if name in request.headers))


def assert_no_key(error: BaseException) -> None:
    told = "".join(traceback.format_exception(error))
    found: BaseException | None = error
    while found is not None:
        told += repr(found) + str(getattr(found, "reply", ""))
        found = found.__cause__ or found.__context__
    assert_hidden(told)
    for form in (base64.b64encode(KEY.encode()).decode()[:20], "bWluZS5DQU5BUl"):
        assert form not in told


async def failure_of(model: BaseChatModel) -> BaseException:
    with pytest.raises(Exception) as caught:  # whatever it is, it shows no key
        await ChatModel(model, retry=QUICK).send(ASK, sampling=Sampling(), seeds=[1], meter=Meter())
    return caught.value


@pytest.mark.parametrize("way", WAYS)
async def test_a_key_of_any_provenance_is_hidden(way: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="eirene")
    with LoopbackServer(echo) as server:
        error = await failure_of(WAYS[way](server.base_url))
    assert isinstance(error, BackendError) and HIDDEN in str(error)
    assert_no_key(error)
    assert_hidden(caplog.text)


async def test_the_key_of_the_environment_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with LoopbackServer(echo) as server:
        chat = resolve_chat("openai:test", options=ChatOptions(base_url=server.base_url, retry=QUICK))
        with pytest.raises(BackendError, match="HTTP 400") as caught:
            await chat.send(ASK, sampling=Sampling(), seeds=[1], meter=Meter())
        assert_no_key(caught.value)


def quoting(make: Callable[[str], ScriptedReply]) -> Callable[[ScriptedRequest, int], ScriptedReply]:
    return lambda request, _: make(request.headers["authorization"].removeprefix("Bearer "))


A_KEY_IN_ANY: list[Any] = [
    lambda key: RawReply.body([json.dumps({"error": {"message": key, "code": 500}}).encode()]),
    lambda key: RawReply.body([json.dumps({"choices": [{"message": {"role": key, "content": 1}}]}).encode()]),
    lambda key: RawReply.body([json.dumps({"choices": [], "error": [key]}).encode()]),
    lambda key: RawReply.body([json.dumps({"choices": [key]}).encode()]),
    lambda key: RawReply.body([f"<html>{key}</html>".encode()]),
    lambda key: RawReply.body([b"{}"], Content_Encoding=key),
    lambda key: RawReply([f"HTTP/1.1 {key}\r\n\r\n".encode()]),
    lambda key: RawReply([f"HTTP/1.1 200 OK\r\n{key}\r\n\r\n".encode()]),
    lambda key: HttpError(307, headers={"Location": f"http://127.0.0.2/{key}"}),
    lambda key: HttpError(307, headers={"Location": f"{key}://{key}"}),
    lambda key: HttpError(302, headers={"Location": f"http://{key}.example/"}),
    lambda key: HttpError(500, key * 300, headers={"Retry-After": "0"}),
    lambda key: HttpError(409, f"{'a' * 290}{key}"),
    lambda key: BrokenReply("garbage"),
]


async def test_a_key_in_any_part_of_a_reply_is_hidden() -> None:
    for make in A_KEY_IN_ANY:
        with LoopbackServer(quoting(make)) as server:
            assert_no_key(await failure_of(openai(server.base_url, api_key=KEY)))


@each("status", [401, 418, 599])
async def test_a_client_that_nobody_knows_hides_what_looks_like_a_key(status: int) -> None:
    """It makes its own connections, so that its key is not seen: by its looks it is."""
    script = HttpError(status, "no: sk-CANARY-0123456 and Bearer CANARY0123456789", headers={"Retry-After": "0"})
    with LoopbackServer(lambda *_: script) as server:
        error = await failure_of(Bare(url=server.base_url))
    assert "no: " in str(error)
    assert_hidden(str(error))


async def test_of_an_answer_the_whole_key_is_hidden_and_the_like_of_one_is_not() -> None:
    """A server may repeat in its reply what it was sent."""
    for text, key in (
        ("Put sk-proj-abcdef0123456789 into OPENAI_API_KEY, and mine.CANARY/9f3k+2m=x too.", KEY),
        ("A local model needs no key.", "local"),
        (f"Bearer {KEY} came.", KEY),
    ):
        with LoopbackServer(text) as server:
            chat = ChatModel(openai(server.base_url, api_key=key), retry=QUICK)
            (reply,) = await chat.send(ASK, sampling=Sampling(), seeds=[1], meter=Meter())
        assert reply.text == text.replace(KEY, "[redacted]")


async def test_of_an_answer_what_another_header_names_stays() -> None:
    """An application says who it is in a header, and its model may speak of it."""
    site = "https://example.org/my-long-application"
    with LoopbackServer(f"Read more at {site}.") as server:
        model = openai(server.base_url, api_key=KEY, default_headers={"HTTP-Referer": site})
        (reply,) = await ChatModel(model, retry=QUICK).send(ASK, sampling=Sampling(), seeds=[1], meter=Meter())
    assert site in reply.text
