"""HTTP guard of model calls: no redirects to another origin, and a limit on the size of replies.

Works by the event hooks of httpx, which nearly all SDKs are built on (those of OpenAI, Anthropic and Ollama follow
redirects with prompt and key). The hooks do nothing outside a call of ours: a client of the user's may have them.
"""

from __future__ import annotations

import inspect
import zlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

from eirene.core.errors import AddressError, BackendError, MalformedReplyError, RedirectedError, ReplyTooLargeError
from eirene.models.redaction import redacted, secrets_sent, shown_address

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SIGNED = "AWS4"  # a signature over the headers, which are not to be changed any more
_DECODED_BYTES = 2**16  # unpacked at a time
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

    The body is that of the last response, unpacked; of one that is streamed nothing is kept.
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
        request.headers["accept-encoding"] = "gzip"  # which can be unpacked a piece at a time


def _on_response(response: Any) -> None:
    call = _CALL.get()
    if call is None:
        return
    _refuse_elsewhere(response, call)
    kind = response.headers.get("content-type", "").lower()
    if kind.startswith("text/html") and response.status_code < 300:
        raise call.refuse(
            AddressError,
            "a web page came instead of JSON, so the address (base_url) is not the model's; with OpenAI's protocol its "
            "path mostly ends in /v1",
        )
    packed = response.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("identity", "gzip", "x-gzip"):
        raise call.refuse(MalformedReplyError, f"the reply is packed as {packed[:40]!r}, which was not asked for")
    is_streamed = kind.startswith(("text/event-stream", "application/x-ndjson"))
    call.body = bytearray()
    meter = _SizeMeter(call, None if is_streamed else call.body, is_packed=packed != "identity")
    response.headers.pop("content-encoding", None)
    response.stream = _metered_class(_stream_class(response.stream))(response.stream, meter)


async def _on_request_async(request: Any) -> None:
    _on_request(request)


async def _on_response_async(response: Any) -> None:
    _on_response(response)


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
    return url.scheme, url.host, url.port or _DEFAULT_PORTS.get(url.scheme)


class _SizeMeter:
    """Unpacks a body and counts what it holds; raises `ReplyTooLargeError` as soon as it is too much.

    What it holds is added to `kept`; None: it is streamed.
    """

    def __init__(self, call: GuardedCall, kept: bytearray | None, *, is_packed: bool) -> None:
        self._call = call
        self._kept = kept
        self._most = call.limit.streamed if kept is None else call.limit.whole
        self._came = self._unpacked = 0
        self._unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS) if is_packed else None

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """What a piece of the body holds."""
        for piece in self._read(data):
            if self._kept is not None:
                self._kept += piece
            yield piece

    def _read(self, data: bytes) -> Iterator[bytes]:
        self._came += len(data)
        self._check(self._came)
        if self._unpacker is None:
            yield data
            return
        piece = b" "
        while data or len(piece) == _DECODED_BYTES:  # a full piece may have left some inside
            try:
                piece = self._unpacker.decompress(data, _DECODED_BYTES)
            except zlib.error:
                raise self._call.refuse(MalformedReplyError, "the reply is said to be gzip, and is not") from None
            data = self._unpacker.unconsumed_tail
            self._unpacked += len(piece)
            self._check(self._unpacked)
            yield piece

    def _check(self, size: int) -> None:
        if size > self._most:
            raise self._call.refuse(
                ReplyTooLargeError,
                f"the reply has more than {self._most:,} bytes, so reading it was given up; the model's max_tokens "
                "moves this limit",
            )


def _stream_class(stream: object) -> type:
    """The class of byte streams that a stream is of: each version of httpx insists on its own."""
    names = ("AsyncByteStream", "SyncByteStream")
    return next(c for c in type(stream).__mro__ if c.__name__ in names)


@cache
def _metered_class(base: type) -> type:
    return type("MeteredStream", (_MeteredAsync if base.__name__ == "AsyncByteStream" else _MeteredSync, base), {})


class _Metered:
    def __init__(self, stream: Any, meter: _SizeMeter) -> None:
        self._stream = stream
        self._meter = meter


class _MeteredAsync(_Metered):
    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            for piece in self._meter.pieces(data):
                yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class _MeteredSync(_Metered):
    def __iter__(self) -> Iterator[bytes]:
        for data in self._stream:
            yield from self._meter.pieces(data)

    def close(self) -> None:
        self._stream.close()
