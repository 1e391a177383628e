"""Why a server could not be reached is told apart, by what the system said, and with what to change."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from eirene.core.errors import AddressError, BackendError, BackendTimeoutError, RequestRefusedError, UnreachableError
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.faults import classify, diagnose
from eirene.models.limits import RetryPolicy
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.prompts import Message
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import RawReply
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, max_wait_s=0.002)


class ConnectError(Exception): ...


class ConnectTimeout(Exception):  # noqa: N818 - httpx's name
    pass


class UnsupportedProtocol(Exception):  # noqa: N818 - httpx's name
    pass


def untrusted(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, f"certificate verify failed: {message}")
    error.verify_code, error.verify_message = code, message
    return error


def tls(reason: str) -> ssl.SSLError:
    error = ssl.SSLError(1, f"[SSL: {reason}]")
    error.reason = reason
    return error


def wrapped(root: BaseException) -> Exception:
    """As httpcore and the SDKs do it: by causes, and once with the root in a context that is not shown."""
    try:
        try:
            raise root
        except BaseException as error:
            raise ConnectError(str(error)) from None
    except ConnectError as inner:
        outer = ConnectError("Connection error.")
        outer.__cause__ = inner
        return outer


FAULTS: list[tuple[BaseException, type[BackendError], bool, str]] = [
    (socket.gaierror(-2, "Name or service not known"), UnreachableError, True, "not known (DNS)"),
    (ConnectionRefusedError(111, "refused"), UnreachableError, True, "connection refused; is the server up"),
    (untrusted(18, "self-signed certificate"), AddressError, False, "not trusted here (self-signed certificate)"),
    (untrusted(62, "Hostname mismatch"), AddressError, False, "for another host"),
    (tls("WRONG_VERSION_NUMBER"), AddressError, False, "http:// rather than https://"),
    (tls("SSLV3_ALERT_HANDSHAKE_FAILURE"), UnreachableError, True, "TLS failed (SSLV3_ALERT_HANDSHAKE_FAILURE)"),
    (ConnectTimeout(), BackendTimeoutError, True, "no connection in time"),
    (UnsupportedProtocol("'ftp://'"), AddressError, False, "no request can be sent to this address"),
    (
        ExceptionGroup("unhandled errors", [OverflowError("connect(): port must be 0-65535.")]),
        AddressError,
        False,
        "no request can be sent to this address",
    ),
    (UnicodeError("encoding with 'idna' codec failed"), AddressError, False, "no request can be sent"),
]  # fmt: skip


@each("root, kind, retryable, said", FAULTS)
@each("wrap", [wrapped, lambda root: root])
def test_each_has_its_kind_and_says_what_to_change(
    root: BaseException,
    kind: type[BackendError],
    retryable: bool,
    said: str,
    wrap: Callable[[BaseException], Exception],
) -> None:
    fault = classify(wrap(root), name="m at http://host")
    assert fault is not None
    assert (type(fault.error), fault.retryable) == (kind, retryable)
    assert str(fault.error).startswith("m at http://host: ") and said in str(fault.error)
    assert "\n" not in str(fault.error)


def test_what_does_not_tell_is_left_to_others() -> None:
    assert diagnose(ValueError("port")) is None
    assert diagnose(ConnectionResetError("reset")) is None
    assert diagnose(OverflowError("int too large")) is None


async def failed(url: str, *, by_name: bool = True) -> BackendError:
    options = ChatOptions(base_url=url, retry=QUICK)
    model = ChatOpenAI(model="test", base_url=url, api_key=SecretStr("x-key"))
    chat = resolve_chat("openai:test", options=options) if by_name else ChatModel(model, retry=QUICK)
    with pytest.raises(BackendError) as found:
        await chat.send((Message("user", "x"),), sampling=Sampling(), seeds=[1], meter=Meter())
    return found.value


@contextmanager
def nobody() -> Iterator[int]:
    """A port at which nobody listens, held so that nobody can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


async def test_a_server_that_is_down() -> None:
    with nobody() as port:
        error = await failed(f"http://127.0.0.1:{port}/v1")
    assert isinstance(error, UnreachableError)
    assert str(error) == (
        f"openai:test at http://127.0.0.1:{port}/v1: connection refused; is the server up, and is this its port?"
    )


async def test_a_server_without_tls() -> None:
    async def plain(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        error = await failed(url)
    assert isinstance(error, AddressError)
    assert str(error) == (
        f"openai:test at {url}: no TLS is spoken there; does its address begin with http:// rather than https://?"
    )


async def test_a_wrong_path() -> None:
    with LoopbackServer("x") as server:
        error = await failed(f"http://127.0.0.1:{server.port}/v2")
    assert isinstance(error, RequestRefusedError)
    assert f"http://127.0.0.1:{server.port}/v2: HTTP 404: no such path" in str(error)
    assert "it mostly ends in /v1" in str(error)


async def test_a_web_page_is_asked_for_once() -> None:
    page = b"<html><title>Chat</title></html>"
    with LoopbackServer(lambda *_: RawReply.body([page], kind="text/html; charset=utf-8")) as server:
        error = await failed(server.base_url)
        assert server.calls == 1
    assert isinstance(error, AddressError)
    assert server.base_url in str(error) and "a web page came instead of JSON" in str(error)


@each("url", ["ftp://127.0.0.1/v1", "http://127.0.0.1:70000/v1"])
async def test_a_model_object_with_an_address_that_is_none(url: str) -> None:
    error = await failed(url, by_name=False)
    assert isinstance(error, AddressError)
    assert url in str(error)
