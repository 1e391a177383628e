"""Responses that wait: one that ends its work when the client goes, and streams that keep the line alive meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eirene.agent.server.answers import DONE, sse
from eirene.agent.server.errors import CLIENT_GONE, ApiError, internal_error
from eirene.core.logs import get_logger

logger = get_logger(__name__)

T = TypeVar("T")

_COMMENT = ": refining\n\n"
_PART_CHARACTERS = 16 * 1024  # of a stream, in one write


class ClientGoneError(Exception):
    """Nobody waits for the answer any more."""


async def while_client_waits(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`; a client that goes away ends it. Raises `ClientGoneError` then."""
    task = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_gone(request.receive))
    try:
        await _first([task, gone], None)
        if not task.done():
            raise ClientGoneError
        return task.result()
    finally:
        await _end(task, gone)


class WaitingStream(Response):
    """Server-sent events of work that is under way: comments until it is done, then what it gave, in pieces."""

    def __init__(self, work: asyncio.Task[Iterable[str]], *, keep_alive_s: float, headers: dict[str, str]) -> None:
        super().__init__(None, 200, headers, "text/event-stream")
        del self.headers["content-length"]
        self._work = work
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends all of it; a client that goes away ends the work."""
        gone = asyncio.ensure_future(_gone(receive))
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for piece in self._pieces(gone):
                await send({"type": "http.response.body", "body": piece.encode("utf-8"), "more_body": True})
                if gone.done():
                    return
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await _end(self._work, gone)

    async def _pieces(self, gone: asyncio.Future[None]) -> AsyncIterator[str]:
        while not self._work.done():
            yield _COMMENT
            await _first([self._work, gone], self._keep_alive_s)
            if gone.done():
                return
        try:
            pieces = self._work.result()
        # The head is out, so that an error can only be an event; one of ours is no reason to break the stream off.
        except Exception as error:
            if not isinstance(error, ApiError):
                logger.exception("a stream failed: %s", type(error).__name__)
            yield sse((error if isinstance(error, ApiError) else internal_error()).body)
            yield DONE
            return
        for part in _in_parts(pieces):
            yield part
            await asyncio.sleep(0)  # others have their turn between the parts of a long answer


class EventsStream(Response):
    """Server-sent events as they come."""

    def __init__(self, events: AsyncIterator[str], *, keep_alive_s: float) -> None:
        super().__init__(None, 200, None, "text/event-stream")
        del self.headers["content-length"]
        self._events = events
        self._keep_alive_s = keep_alive_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Sends them until they end or the client goes away."""
        gone = asyncio.ensure_future(_gone(receive))
        coming: asyncio.Future[str] | None = None
        try:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while not gone.done():
                if coming is None:
                    coming = asyncio.ensure_future(anext(self._events))
                await _first([coming, gone], self._keep_alive_s)
                text = _COMMENT
                if coming.done():
                    if isinstance(coming.exception(), StopAsyncIteration):
                        break
                    text, coming = f"data: {coming.result()}\n\n", None
                await send({"type": "http.response.body", "body": text.encode("utf-8"), "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            await _end(gone, *([] if coming is None else [coming]))


async def soon(task: asyncio.Task[T], request: Request, *, within_s: float) -> bool:
    """Whether the work is done, or its client gone, within so many seconds."""
    gone = asyncio.ensure_future(_gone(request.receive))
    try:
        await _first([task, gone], within_s)
        if gone.done() and not task.done():
            await _end(task)
            raise ClientGoneError
        return task.done()
    finally:
        await _end(gone)


def nobody_there() -> Response:
    """What a client that is gone gets; the metrics see its status."""
    return Response(status_code=CLIENT_GONE)


def _in_parts(pieces: Iterable[str]) -> Iterator[str]:
    """The pieces, joined up to so many characters: they are all there, and a write for each word would cost more."""
    part: list[str] = []
    characters = 0
    for piece in pieces:
        part.append(piece)
        characters += len(piece)
        if characters >= _PART_CHARACTERS:
            yield "".join(part)
            part, characters = [], 0
    if part:
        yield "".join(part)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first(futures: Sequence[asyncio.Future[Any]], timeout_s: float | None) -> None:
    await asyncio.wait(futures, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)


async def _end(*futures: asyncio.Future[Any]) -> None:
    """Cancels what is not done and waits until it has ended."""
    for future in futures:
        future.cancel()
    await asyncio.wait(futures)
    for future in futures:
        if not future.cancelled():
            future.exception()  # looked at, so that asyncio does not report it as forgotten
