"""A scripted server on loopback that speaks OpenAI's completions, chat and plain: for tests, benchmarks and dry runs.

It answers with what a function says, after a given latency, with or without `n`; it refuses, drops, cuts and garbles on
demand; and it keeps its own count of requests and tokens, to hold a client's count against. Tokens are words.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

_ROUNDS_TO_ACCEPT = 5  # of the event loop, from an accepted connection to the task that answers it: three, and two more

NPolicy = Literal["takes", "refuses", "ignores"]


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request that came. `number` counts from 1 over all; `attempt` from 1 over those with the same body."""

    number: int
    attempt: int
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def text(self) -> str:
        """The messages' texts, one under the other, or the prompt."""
        return "\n".join([str(m.get("content", "")) for m in self.body.get("messages", [])] or [self.body["prompt"]])

    @property
    def n(self) -> int:
        """How many choices were asked for."""
        return int(self.body.get("n") or 1)


@dataclass(frozen=True, slots=True)
class Text:
    """One choice: its text, why it ended, and its `logprobs` field in OpenAI's form, if any."""

    text: str
    finish_reason: str = "stop"
    logprobs: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class HttpError:
    """An error in OpenAI's form."""

    status: int
    message: str = "scripted error"
    code: str | None = None
    param: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Broken:
    """A reply that breaks: `drop` before a byte, `cut` in the middle of the body or stream, `garbage` for JSON."""

    how: Literal["drop", "cut", "garbage"]


Outcome = str | Text | HttpError | Broken
Script = Callable[[ChatRequest, int], Outcome]
"""From a request and the index of a choice to that choice; an `HttpError` or `Broken` at index 0 is the whole reply."""


class LoopbackServer:
    """The server; use it as a context manager. It runs on a thread of its own, so that any client can be driven.

    `key` None takes every key. `n` says what becomes of a request for several choices; refusals come at once,
    everything else after `latency_s`. `requests` has all that came, `calls`, `input_tokens`, `output_tokens` its count:
    every request is a call, and tokens are those of replies that were sent whole.
    """

    def __init__(
        self, script: Script | str, *, latency_s: float = 0.0, n: NPolicy = "takes", key: str | None = None
    ) -> None:
        self._script: Script = (lambda _request, _index: script) if isinstance(script, str) else script
        self.latency_s = latency_s
        self._n = n
        self._key = key
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="eirene-loopback", daemon=True)
        self._connections: set[asyncio.Task[None]] = set()
        self._seen: dict[str, int] = {}
        self.requests: list[ChatRequest] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self.under_way = 0
        self.most_under_way = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def base_url(self) -> str:
        """What a client is given."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def calls(self) -> int:
        """How many requests came."""
        return len(self.requests)

    async def _start(self) -> asyncio.Server:
        return await asyncio.start_server(self._connected, "127.0.0.1", 0, limit=2**24, backlog=512)

    async def _stop(self) -> None:
        self._server.close()
        for _ in range(_ROUNDS_TO_ACCEPT):  # a client that has only just connected is to be hung up on as well
            await asyncio.sleep(0)
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # Clients hang up at any point; stopping the server cancels what is still under way.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._answer(reader, writer):
                    pass
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads one request and answers it; False when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ", 2)
        if (method, path) not in (("POST", "/v1/chat/completions"), ("POST", "/v1/completions")):
            return await _send_json(writer, 404, error_body(HttpError(404, f"no such path: {path}")))
        request = self._noted(body, headers)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._reply(request, writer)
        finally:
            self.under_way -= 1

    def _noted(self, body: bytes, headers: dict[str, str]) -> ChatRequest:
        text = body.decode("utf-8")
        self._seen[text] = self._seen.get(text, 0) + 1
        request = ChatRequest(len(self.requests) + 1, self._seen[text], json.loads(text), headers)
        self.requests.append(request)
        return request

    async def _reply(self, request: ChatRequest, writer: asyncio.StreamWriter) -> bool:
        refused = self._refusal(request)
        if refused is not None:
            return await _send_error(writer, refused)
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        wanted = request.n if self._n == "takes" else 1
        choices: list[Text] = []
        for index in range(wanted):
            outcome = self._script(request, index)
            if isinstance(outcome, HttpError):
                return await _send_error(writer, outcome)
            if isinstance(outcome, Broken):
                return await self._send_broken(writer, outcome, is_stream=bool(request.body.get("stream")))
            choices.append(Text(outcome) if isinstance(outcome, str) else outcome)
        usage = _usage(request, choices)
        if request.body.get("stream"):
            goes_on = await _send_stream(writer, _events(choices[0], usage))
        else:
            goes_on = await _send_json(writer, 200, completion_body(request, choices))
        self.input_tokens += usage["prompt_tokens"]
        self.output_tokens += usage["completion_tokens"]
        return goes_on

    def _refusal(self, request: ChatRequest) -> HttpError | None:
        if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
            return HttpError(401, "Incorrect API key provided", code="invalid_api_key")
        if self._n == "refuses" and "n" in request.body and request.n > 1:
            return HttpError(400, "this server gives one choice a request; leave out 'n'", param="n")
        return None

    async def _send_broken(self, writer: asyncio.StreamWriter, broken: Broken, *, is_stream: bool) -> bool:
        if broken.how == "garbage":
            return await _send(writer, 200, b'{"choices": [{"message": ', "application/json")
        if broken.how == "cut" and is_stream:
            events = list(_events(Text("a reply that is cut in the middle"), {}))
            await _send_stream(writer, events[: len(events) // 2], is_whole=False)
        elif broken.how == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
            writer.write(b'{"choices": [{"message": {"content": "a reply that is cut')
            await writer.drain()
        writer.close()
        return False


def _usage(request: ChatRequest, choices: Sequence[Text]) -> dict[str, int]:
    read, written = len(request.text.split()), sum(len(c.text.split()) for c in choices)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}


def completion_body(request: ChatRequest, choices: Sequence[Text]) -> dict[str, Any]:
    """A completion in OpenAI's form."""
    is_plain = "prompt" in request.body
    return {
        "id": f"loopback-{request.number}",
        "object": "text_completion" if is_plain else "chat.completion",
        "created": 0,
        "model": request.body.get("model", "test"),
        "choices": [
            {
                "index": i,
                **({"text": choice.text} if is_plain else {"message": {"role": "assistant", "content": choice.text}}),
                "finish_reason": choice.finish_reason,
                "logprobs": choice.logprobs,
            }
            for i, choice in enumerate(choices)
        ],
        "usage": _usage(request, choices),
    }


def _events(choice: Text, usage: dict[str, int]) -> Iterator[str]:
    """The server-sent events of a streamed reply, a word each."""
    common = {"id": "loopback", "object": "chat.completion.chunk", "created": 0, "model": "test"}
    for word in choice.text.split(" "):
        delta = {"role": "assistant", "content": word + " "}
        yield json.dumps({**common, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    yield json.dumps({**common, "choices": [{"index": 0, "delta": {}, "finish_reason": choice.finish_reason}]})
    yield json.dumps({**common, "choices": [], "usage": usage})
    yield "[DONE]"


def error_body(error: HttpError) -> dict[str, Any]:
    """An error in OpenAI's form."""
    body = {"message": error.message, "type": error.code or "error", "param": error.param, "code": error.code}
    return {"error": body}


async def _send_error(writer: asyncio.StreamWriter, error: HttpError) -> bool:
    return await _send_json(writer, error.status, error_body(error), error.headers)


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str] | None = None
) -> bool:
    return await _send(writer, status, json.dumps(body).encode("utf-8"), "application/json", headers)


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
) -> bool:
    all_headers = {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}
    head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in all_headers.items()) + "\r\n"
    writer.write(head.encode("latin-1") + body)
    await writer.drain()
    return True


async def _send_stream(
    writer: asyncio.StreamWriter, events: Iterator[str] | Sequence[str], *, is_whole: bool = True
) -> bool:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if is_whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
