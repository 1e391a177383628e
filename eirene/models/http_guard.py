"""HTTP guard of model calls: no redirects to another origin, and a limit on the size of replies.

Works by the event hooks of httpx, which nearly all SDKs are built on (those of OpenAI, Anthropic and Ollama follow
redirects with prompt and key). The hooks do nothing outside a call of ours: a client of the user's may have them.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Any

from eirene.core.errors import AddressError, BackendError, MalformedReplyError, RedirectedError, ReplyTooLargeError
from eirene.models.redaction import redacted, secrets_sent, shown_address, without_keys

DEFAULT_PORTS = {"http": 80, "https": 443}
_SIGNED = "AWS4"  # a signature over the headers, which are not to be changed any more
_DEEPEST, _MOST_OBJECTS = 6, 500  # of what is looked through for clients

_TOKEN_BYTES = 16  # four times what a token of English has: room for escapes
_LOGPROB_BYTES = 256  # a token with its log-probability and its bytes, in JSON
_EVENT_BYTES = 512  # what stands around a token that comes as an event of its own
_ENVELOPE_BYTES = 2**18  # what is no token: ids, usage, an error's message
_DEFAULT_TOKENS, _MOST_TOKENS = 2**15, 2**20


@dataclass(frozen=True, slots=True)
class ReplyLimit:
    """Bytes that a reply may have, unpacked: in one piece, or streamed in events, whose envelopes take more."""

    whole: int
    streamed: int

    @classmethod
    def of(cls, max_tokens: int | None, *, choices: int = 1, top_logprobs: int | None = None) -> ReplyLimit:
        """What so many choices of so many tokens each can take; None is a default far beyond what is ever used."""
        tokens = choices * (_DEFAULT_TOKENS if max_tokens is None else min(max_tokens, _MOST_TOKENS))
        with_logprobs = 0 if top_logprobs is None else (top_logprobs + 1) * _LOGPROB_BYTES
        whole = _ENVELOPE_BYTES + tokens * (_TOKEN_BYTES + with_logprobs)
        return cls(whole, whole + tokens * _EVENT_BYTES)


@dataclass(slots=True)
class GuardedCall:
    """One call under way: what its reply may take, the keys that it sends, why the reply was refused, and its `body`.

    The body is that of the last response, unpacked.
    """

    name: str
    limit: ReplyLimit
    secrets: set[str] = field(default_factory=set)
    refused: BackendError | None = None
    body: bytearray = field(default_factory=bytearray)

    def refuse(self, kind: type[BackendError], said: str) -> BackendError:
        """The error to raise. It is noted as well: clients wrap what is raised in them, or lose it."""
        self.refused = kind(f"{self.name}: {redacted(said, self.secrets)}")
        return self.refused


_CALL: ContextVar[GuardedCall | None] = ContextVar("eirene_guarded_call", default=None)


@contextmanager
def guarded(call: GuardedCall) -> Iterator[GuardedCall]:
    """Every request in the body, in its tasks and threads, is the call's."""
    token = _CALL.set(call)
    try:
        yield call
    finally:
        _CALL.reset(token)


def current_call() -> GuardedCall | None:
    """The call that the code which asks is part of."""
    return _CALL.get()


def guard_clients(root: object) -> None:
    """Puts the hooks on every httpx client that a model or an SDK's client holds; twice is as good as once."""
    for client in _clients_in(root):
        on_request, on_response = _HOOKS[inspect.iscoroutinefunction(client.send)]
        hooks = client.event_hooks
        if on_response not in hooks["response"]:
            # First of all: a hook of the user's may read the reply.
            client.event_hooks = {
                "request": [*hooks["request"], on_request],
                "response": [on_response, *hooks["response"]],
            }


def _clients_in(root: object) -> Iterator[Any]:
    seen, waiting = {id(root)}, deque([(root, 0)])
    while waiting:
        owner, depth = waiting.popleft()
        if hasattr(type(owner), "event_hooks"):
            yield owner
        elif depth < _DEEPEST:
            for value in _attributes(owner):
                if id(value) not in seen and len(seen) < _MOST_OBJECTS:
                    seen.add(id(value))
                    waiting.append((value, depth + 1))


def _attributes(owner: object) -> Iterator[Any]:
    """The objects in an object's attributes, pydantic's private ones among them; no property is run."""
    for held in (getattr(owner, "__dict__", None), getattr(owner, "__pydantic_private__", None)):
        for value in list(held.values()) if isinstance(held, dict) else ():
            if hasattr(value, "__dict__") and not isinstance(value, type | ModuleType | FunctionType):
                yield value


def _on_request(request: Any) -> None:
    call = _CALL.get()
    if call is None:
        return
    call.secrets |= secrets_sent(str(request.url), request.headers.multi_items())
    if not request.headers.get("authorization", "").startswith(_SIGNED):
        request.headers["accept-encoding"] = "gzip"  # of which a piece holds a thousand times as much at most


def _on_response(response: Any) -> None:
    call = _CALL.get()
    if call is not None:
        body = _Body(response, call)
        for piece in response.iter_bytes():
            body.add(piece)
        body.hand_over()


async def _on_request_async(request: Any) -> None:
    _on_request(request)


async def _on_response_async(response: Any) -> None:
    call = _CALL.get()
    if call is not None:
        body = _Body(response, call)
        async for piece in response.aiter_bytes():
            body.add(piece)
        body.hand_over()


_HOOKS = {False: (_on_request, _on_response), True: (_on_request_async, _on_response_async)}


def _refuse_elsewhere(response: Any, call: GuardedCall) -> None:
    if not response.has_redirect_location:
        return
    here, location = response.request.url, response.headers["location"]
    try:
        there = here.join(location)
    except Exception:  # each version of httpx has a class of its own for what is no address
        raise call.refuse(RedirectedError, f"{shown_address(str(here))} redirects to what is no address") from None
    if _origin(here) != _origin(there):
        raise call.refuse(
            RedirectedError,
            f"{shown_address(str(here))} redirects to {shown_address(str(there))}, another scheme, host or port, where "
            "nothing is sent; if that is the right server, name it by base_url",
        )


def _origin(url: Any) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or DEFAULT_PORTS.get(url.scheme)


class _Body:
    """The body of a response, which is read here whole, unless it or its head is refused.

    A stream is no exception: nobody is shown one before its end.
    """

    def __init__(self, response: Any, call: GuardedCall) -> None:
        _refuse_elsewhere(response, call)
        kind = response.headers.get("content-type", "").lower()
        if kind.startswith("text/html") and response.status_code < 300:
            raise call.refuse(
                AddressError,
                "a web page came instead of JSON, so the address (base_url) is not the model's; with OpenAI's protocol "
                "its path mostly ends in /v1",
            )
        packed = response.headers.get("content-encoding", "identity").strip().lower()
        if packed not in ("identity", "gzip", "x-gzip"):
            raise call.refuse(MalformedReplyError, f"the reply is packed as {packed[:40]!r}, which was not asked for")
        self._response, self._call = response, call
        is_streamed = kind.startswith(("text/event-stream", "application/x-ndjson"))
        self._most = call.limit.streamed if is_streamed else call.limit.whole
        call.body = bytearray()

    def add(self, piece: bytes) -> None:
        """Takes in one piece; raises `ReplyTooLargeError` as soon as it is too much."""
        self._call.body += piece
        if len(self._call.body) > self._most:
            raise self._call.refuse(
                ReplyTooLargeError,
                f"the reply has more than {self._most:,} bytes, so reading it was given up; the model's max_tokens "
                "moves this limit",
            )

    def hand_over(self) -> None:
        """Leaves the body, without the call's keys, where the client looks for one that has been read."""
        asked = self._response.request
        self._call.body = bytearray(without_keys(self._call.body, str(asked.url), asked.headers.multi_items()))
        self._response._content = bytes(self._call.body)
