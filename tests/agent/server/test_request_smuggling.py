"""Request smuggling: a head that a proxy in front of the server may read otherwise gets a 400 and a closed line."""

from __future__ import annotations

import json
import socket

import pytest

from tests.agent.server.serving import Served, embedded_engine, served

pytestmark = pytest.mark.usefixtures("loopback")
BODY = json.dumps({"text": "Zoos teach.", "findings": []}).encode()
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
START = b"POST /v1/edits HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
GOOD = START + LENGTH + b"\r\n" + BODY
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"

UNCLEAR = {
    "length and chunks": START + b"Content-Length: %d\r\n" % len(CHUNKS) + CHUNKED + b"\r\n" + CHUNKS,
    "chunks and length": START + CHUNKED + b"Content-Length: 4\r\n\r\n" + CHUNKS,
    "the same in HTTP/1.0": START.replace(b"1.1", b"1.0") + LENGTH + CHUNKED + b"\r\n" + CHUNKS,
    "two lengths": START + LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
    "a list of lengths": START + b"Content-Length: %d, 3\r\n\r\n" % len(BODY) + BODY,
    "two encodings": START + CHUNKED + CHUNKED + b"\r\n" + CHUNKS,
    "an encoding that is none": START + b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "a folded line": START + b"X-Note: a\r\n b\r\n" + LENGTH + b"\r\n" + BODY,
    "a folded encoding": START + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n" + CHUNKS,
    "bare line feeds": GOOD.replace(b"\r\n", b"\n"),
    "one bare line feed": START + b"X-Note: a\n" + LENGTH + b"\r\n" + BODY,
    "a bare carriage return": START + b"X-Note: a\rX-Other: b\r\n" + LENGTH + b"\r\n" + BODY,
    "a space before the colon": START + b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "an extension of a chunk without end": START + CHUNKED + b"\r\n5;" + b"a" * 200_000,
    "trailers without end": START + CHUNKED + b"\r\n" + CHUNKS[:-2] + b"a: b\r\n" * 40_000,
}


def answers(server: Served, sent: bytes) -> bytes:
    """All that comes back until the server closes the connection, which it must do."""
    came = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        try:
            line.sendall(sent)
            while piece := line.recv(65536):
                came += piece
        except (ConnectionResetError, BrokenPipeError):  # closed with something of ours unread
            pass
    return came


def test_an_unclear_head_is_refused_and_nothing_behind_it_is_read() -> None:
    with served(embedded_engine()) as server:
        for name, sent in UNCLEAR.items():
            came = answers(server, sent + SMUGGLED)
            assert came.startswith(b"HTTP/1.1 400 "), (name, came)
            assert came.count(b"HTTP/1.1 ") == 1, (name, came)


def test_a_head_that_follows_a_good_request_is_looked_at_as_well() -> None:
    """Sent in one go with it, and byte by byte."""
    with served(embedded_engine()) as server:
        for name in ("bare line feeds", "a folded line", "length and chunks"):
            came = answers(server, GOOD + UNCLEAR[name] + SMUGGLED)
            assert [came[at : at + 12] for at in _found(came, b"HTTP/1.1 ")] == [b"HTTP/1.1 200", b"HTTP/1.1 400"], name
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for byte in UNCLEAR["a folded line"][: -len(BODY)]:
                line.send(bytes([byte]))
            assert line.recv(65536).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "sent",
    [
        GOOD,
        START + CHUNKED + b"\r\n" + CHUNKS,
        START + CHUNKED + b"\r\n%x;note=a\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY),
        START + LENGTH + LENGTH + b"\r\n" + BODY,
        START + LENGTH + b"\r\n" + b'{\n\n "text": "a"}'.ljust(len(BODY)),
    ],
    ids=["length", "chunks", "a chunk with an extension", "the same length twice", "line breaks in the body"],
)
def test_a_clear_head_is_answered(sent: bytes) -> None:
    with served(embedded_engine()) as server:
        last = SMUGGLED.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        came = answers(server, sent + last)
        assert [came[at : at + 12] for at in _found(came, b"HTTP/1.1 ")] == [b"HTTP/1.1 200"] * 2


def _found(text: bytes, what: bytes) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(what, at)]
