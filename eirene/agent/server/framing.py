"""HTTP framing: a request whose head two readers may take for different requests is refused (request smuggling)."""

from __future__ import annotations

import re

import h11

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
