"""HTTP connections: strict framing against request smuggling, timeouts for heads and readers, a limit on how many."""

from __future__ import annotations

import asyncio
import functools
import re
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from eirene.agent.server.access import to_response
from eirene.agent.server.errors import ApiError
from eirene.agent.server.options import ServeOptions

_UNCLEAR = re.compile(rb"(?<!\r)\n|\n[ \t]")
_MAX_HEAD = 64 * 1024
"""Bytes of a head, and of a chunk's own line with its extensions: more are not waited for."""


class StrictConnection(h11.Connection):
    """h11's server connection without its leniency: a proxy in front of the server may read such a head otherwise.

    `next_event` raises `h11.RemoteProtocolError`, which uvicorn answers with 400 and a closed connection, also for
    `Content-Length` beside `Transfer-Encoding`, and for lines of the head that end in a bare LF or are folded.
    """

    def __init__(self) -> None:
        super().__init__(h11.SERVER, max_incomplete_event_size=_MAX_HEAD)

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next event. A head is looked at as soon as it is whole, also one that came with the request before."""
        if self.their_state is h11.IDLE:
            _check_lines(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            _check_length(event)
        return event


def _check_lines(received: bytes) -> None:
    ends = [at for at in (received.find(b"\n\n"), received.find(b"\n\r\n")) if at >= 0]
    if ends and _UNCLEAR.search(received, 0, min(ends) + 1):
        raise h11.RemoteProtocolError("a line of the head is folded, or ends in LF alone")


def _check_length(request: h11.Request) -> None:
    names = {name for name, _ in request.headers}
    if {b"transfer-encoding", b"content-length"} <= names:
        raise h11.RemoteProtocolError("a body has its length from Content-Length or from Transfer-Encoding, not both")


_TOLD = 64
"""Connections beyond the limit that are told so; those beyond these are closed without a word."""


class BoundedConnection(H11Protocol):
    """uvicorn's protocol, which hangs up on clients that send no request or read no answer, and counts connections."""

    _no_head: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def __init__(self, *args: Any, options: ServeOptions, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictConnection()
        self._options = options

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        if len(self.connections) > self._options.connections + _TOLD:
            transport.abort()
        elif len(self.connections) > self._options.connections:
            self.app: Any = _full(self._options.connections)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        """Refuses what cannot be parsed; where an answer is out already, the connection is closed without more."""
        try:
            super().send_400_response(msg)
        except h11.LocalProtocolError:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop("_no_head", "_unread")
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """What was sent lies unread: from now on the client has so many seconds to take most of it."""
        super().pause_writing()
        if self._unread is None:
            self._unread = self.loop.call_later(self._options.read_s, self.transport.abort)

    def resume_writing(self) -> None:
        if not self.transport.is_closing():
            self._stop("_unread")
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._hang_up()

    def _wait_for_head(self) -> None:
        """Counts from the first byte of a head, or from the connection; more bytes of the same gain no time."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop("_no_head")
        elif self._no_head is None:
            self._no_head = self.loop.call_later(self._options.head_s, self._hang_up)

    def _hang_up(self) -> None:
        """Closes, and does not wait for ever until a client has read what is still to be sent to it."""
        self.transport.close()
        if self._unread is None:
            self._unread = self.loop.call_later(self._options.read_s, self.transport.abort)

    def _stop(self, *names: str) -> None:
        for name in names:
            timer = getattr(self, name)
            if timer is not None:
                timer.cancel()
                setattr(self, name, None)


def protocol_of(options: ServeOptions) -> Any:
    """What uvicorn makes of each connection. The parser is always h11, whatever else is installed."""
    return functools.partial(BoundedConnection, options=options)


def _full(most: int) -> Any:
    """The application of a connection too many: it answers to every request that there is no room."""
    said = f"the server holds {most} connections, and no more; try again, or use one for several requests"
    response = to_response(ApiError(503, said, code="too_many_connections", retry_after_s=5))
    response.headers["Connection"] = "close"
    return response
