"""A scripted server on loopback with OpenAI's completions API, for tests, benchmarks and dry runs.

It answers with what a function says, after a given latency, with or without `n`; it refuses, drops, cuts and garbles on
demand; and it keeps its own count of requests and tokens, to hold a client's count against. Tokens are words.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import socket
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Literal, Self

from eirene.testing.script import (
    BrokenReply,
    HttpError,
    RawReply,
    Script,
    ScriptedRequest,
    TextReply,
    completion_body,
    error_body,
    shared_beginning,
    stream_events,
    token_counts,
)

_READ_LIMIT = 2**24  # bytes of a request's head
_BACKLOG = 512

NPolicy = Literal["takes", "refuses", "ignores"]


class LoopbackServer:
    """The server; use it as a context manager. It runs on a thread of its own, so that any client can be driven.

    `together`: the first so many requests for one choice are held until all of them are there, which proves that they
    are under way at once, and no clock has to. `key` None takes every key. `n` says what becomes of a request for
    several choices; refusals come at once, everything else after `latency_s`. `requests` has all that came, `calls`,
    `input_tokens`, `output_tokens` its count: every request is a call, and tokens are those of replies that were sent
    whole. `sent_raw`: the bytes of `RawReply` ones. `cache_from`: prompts are kept once they are answered, and a later
    one that begins with at least so many of the same words reports these as cached (OpenAI: 1,024 tokens);
    `cached_tokens` is their sum. None: no cache, and no word of one.
    """

    def __init__(
        self,
        script: Script | str,
        *,
        latency_s: float = 0.0,
        n: NPolicy = "takes",
        key: str | None = None,
        together: int = 0,
        cache_from: int | None = None,
    ) -> None:
        self._script: Script = (lambda _request, _index: script) if isinstance(script, str) else script
        self.latency_s = latency_s
        self._n = n
        self._key = key
        self._missing = together
        self._cache_from = cache_from
        self._known: set[tuple[str, ...]] = set()
        self._all_there = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="eirene-loopback", daemon=True)
        self._connections: dict[asyncio.Task[None], socket.socket] = {}
        self._writers: weakref.WeakSet[asyncio.StreamWriter] = weakref.WeakSet()
        self._seen: dict[str, int] = {}
        self.requests: list[ScriptedRequest] = []
        self.input_tokens = 0
        self.output_tokens = 0
        self.cached_tokens = 0
        self.sent_raw = 0
        self.under_way = 0
        self.most_under_way = 0

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._thread.start()
        self._loop.call_soon_threadsafe(self._loop.add_reader, self._listener, self._accept)
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

    def _accept(self) -> None:
        # Not asyncio's own server: closed while it accepts, it leaves a socket behind that nothing closes.
        with contextlib.suppress(BlockingIOError, ConnectionError):  # the client has gone again
            connection, _ = self._listener.accept()
            task = self._loop.create_task(self._connected(connection))
            self._connections[task] = connection
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        connection = self._connections.pop(task)
        if task.cancelled():  # before it had streams, which close it once all is sent
            connection.close()
        elif (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": "the scripted server failed", "exception": error})

    async def _stop(self) -> None:
        self._loop.remove_reader(self._listener)
        self._listener.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        for writer in list(self._writers):  # one that waits for its client to read would outlive the loop
            writer.transport.abort()
        await asyncio.sleep(0)

    async def _connected(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        reader, writer = await _streams(self._loop, connection)
        self._writers.add(writer)
        try:
            # Clients hang up at any point; stopping the server cancels what is still under way.
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._answer(reader, writer):
                    pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Reads one request and answers it; False when the connection is to be closed."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = head.split("\r\n")
        headers = {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        method, path, _ = first.split(" ", 2)
        if (method, path) != ("POST", "/v1/chat/completions"):
            return await _send_error(writer, HttpError(404, f"no such path: {path}"))
        request = self._noted(body, headers)
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self._reply(request, writer, gone=reader.read)
        finally:
            self.under_way -= 1

    def _noted(self, body: bytes, headers: dict[str, str]) -> ScriptedRequest:
        text = body.decode("utf-8")
        self._seen[text] = self._seen.get(text, 0) + 1
        request = ScriptedRequest(len(self.requests) + 1, self._seen[text], json.loads(text), headers)
        self.requests.append(request)
        return request

    async def _reply(
        self, request: ScriptedRequest, writer: asyncio.StreamWriter, *, gone: Callable[[], Awaitable[bytes]]
    ) -> bool:
        refused = self._refusal(request)
        if refused is not None:
            return await _send_error(writer, refused)
        if request.n == 1:
            await self._together()
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        wanted = request.n if self._n == "takes" else 1
        choices: list[TextReply] = []
        for index in range(wanted):
            outcome = self._script(request, index)
            if isinstance(outcome, HttpError):
                return await _send_error(writer, outcome)
            if isinstance(outcome, RawReply):
                return await self._send_raw(writer, outcome)
            if isinstance(outcome, BrokenReply):
                if outcome.how == "hang":
                    await gone()
                return await self._send_broken(writer, outcome, is_stream=bool(request.body.get("stream")))
            choices.append(TextReply(outcome) if isinstance(outcome, str) else outcome)
        counts = token_counts(request, choices, cached=self._cached(request))
        self.input_tokens += counts["prompt_tokens"]  # first: who has the reply may ask for these at once
        self.output_tokens += counts["completion_tokens"]
        if request.body.get("stream"):
            return await _send_stream(writer, stream_events(choices[0], counts))
        return await _send_json(writer, 200, completion_body(request, choices, counts))

    def _cached(self, request: ScriptedRequest) -> int | None:
        """How many words a prompt shares with the beginning of one that was answered; it is kept as well."""
        if self._cache_from is None:
            return None
        words = tuple(request.text.split())
        longest = max((shared_beginning(words, known) for known in self._known), default=0)
        self._known.add(words)
        cached = longest if longest >= self._cache_from else 0
        self.cached_tokens += cached
        return cached

    async def _together(self) -> None:
        self._missing -= 1
        if self._missing <= 0:
            self._all_there.set()
        await self._all_there.wait()

    def _refusal(self, request: ScriptedRequest) -> HttpError | None:
        if self._key is not None and request.headers.get("authorization") != f"Bearer {self._key}":
            return HttpError(401, "Incorrect API key provided", code="invalid_api_key")
        if self._n == "refuses" and "n" in request.body and request.n > 1:
            return HttpError(400, "this server gives one choice a request; leave out 'n'", param="n")
        return None

    async def _send_broken(self, writer: asyncio.StreamWriter, broken: BrokenReply, *, is_stream: bool) -> bool:
        if broken.how == "garbage":
            return await _send(writer, 200, b'{"choices": [{"message": ')
        if broken.how == "cut" and is_stream:
            events = list(stream_events(TextReply("a reply that is cut in the middle"), {}))
            await _send_stream(writer, events[: len(events) // 2], is_whole=False)
        elif broken.how == "cut":
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n")
            writer.write(b'{"choices": [{"message": {"content": "a reply that is cut')
            await writer.drain()
        writer.close()
        return False

    async def _send_raw(self, writer: asyncio.StreamWriter, raw: RawReply) -> bool:
        for piece in itertools.chain([raw.head], raw.pieces):
            writer.write(piece)
            await writer.drain()
            self.sent_raw += len(piece)
            await asyncio.sleep(0)
        writer.close()
        return False


async def _streams(
    loop: asyncio.AbstractEventLoop, connection: socket.socket
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader = asyncio.StreamReader(limit=_READ_LIMIT, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


async def _send_error(writer: asyncio.StreamWriter, error: HttpError) -> bool:
    """Sends an error; True, as the connection stays open. So do the next three."""
    return await _send_json(writer, error.status, error_body(error), error.headers)


async def _send_json(
    writer: asyncio.StreamWriter, status: int, body: object, headers: Mapping[str, str] | None = None
) -> bool:
    return await _send(writer, status, json.dumps(body).encode("utf-8"), headers)


async def _send(
    writer: asyncio.StreamWriter, status: int, body: bytes, headers: Mapping[str, str] | None = None
) -> bool:
    all_headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
    head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in all_headers.items()) + "\r\n"
    writer.write(head.encode("latin-1") + body)
    await writer.drain()
    return True


async def _send_stream(
    writer: asyncio.StreamWriter, events: Iterator[str] | Sequence[str], *, is_whole: bool = True
) -> bool:
    """Sends server-sent events in chunks; without the last chunk where the stream is not whole."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
    for event in events:
        data = f"data: {event}\n\n".encode()
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    if is_whole:
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True
