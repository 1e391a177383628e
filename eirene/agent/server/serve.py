"""Runs the application under uvicorn until it is told to stop, and then lets it finish what is in flight.

What a connection may cost: who comes without a request, reads nothing, or comes when too many are there.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import socket
from collections.abc import Callable, Generator
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from eirene.agent.server.access import to_response
from eirene.agent.server.errors import ApiError
from eirene.agent.server.framing import StrictConnection
from eirene.agent.server.grace import StopSignals
from eirene.agent.server.options import ServeOptions
from eirene.core.concurrency import DaemonExecutor, short_switch_interval, usable_cores
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason

logger = get_logger(__name__)


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to `serve`: it would send them to the process again at the end."""

    def stop(self) -> None:
        """No new connections from its next tick on; what is in flight goes on."""
        self.should_exit = True

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve(app: FastAPI, options: ServeOptions, *, on_ready: Callable[[str], None] | None = None) -> int:
    """Serves until SIGTERM, SIGHUP or SIGINT; returns the exit code, 0 or 130. A second one ends the process at once.

    So does the end of the grace and two seconds more, where something still runs. To be called in the main thread.
    `on_ready` is given the address as soon as connections are taken. Raises `InputError` for an address that is taken
    or is not this machine's.
    """
    with short_switch_interval():
        return asyncio.run(_serve(app, options, on_ready))


def configure(app: FastAPI, options: ServeOptions) -> uvicorn.Config:
    """How uvicorn serves the application: no logs and no headers of its own, no WebSockets, no waiting for ever."""
    return uvicorn.Config(
        app, http=protocol_of(options), ws="none", log_config=None, access_log=False, lifespan="on",
        server_header=False, timeout_keep_alive=75, backlog=1024,
        # It goes to asyncio, which takes fractions of a second as well.
        timeout_graceful_shutdown=options.grace_s if math.isfinite(options.grace_s) else None,  # type: ignore[arg-type]
    )  # fmt: skip


async def _serve(app: FastAPI, options: ServeOptions, on_ready: Callable[[str], None] | None) -> int:
    listener = listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    server = _Server(configure(app, options))
    asyncio.get_running_loop().set_default_executor(DaemonExecutor(usable_cores()))
    signals = StopSignals(app.state.service.grace, server.stop)
    try:
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking through it again would hold up every chat for a tenth second
        if on_ready is not None:
            on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve(sockets=[listener])
    finally:
        signals.restore()
        gc.unfreeze()
    return signals.exit_code


def listen(host: str, port: int) -> socket.socket:
    """A socket that takes connections from now on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as error:
        raise InputError(f"{host} is no address to listen on: {reason(error)}", field="host") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1024)
    except OSError as error:
        listener.close()
        raise InputError(
            f"cannot listen on {host}, port {port}: {reason(error)}; choose another --port", field="port"
        ) from None
    listener.setblocking(False)
    return listener


_TOLD = 64
"""Connections beyond the limit that are told so; those beyond these are closed without a word."""


def protocol_of(options: ServeOptions) -> type[asyncio.Protocol]:
    """uvicorn's protocol, which hangs up on clients that send no request or read no answer, and counts connections.

    The parser is always h11, whatever else is installed: what is refused must not hang on that.
    """

    class Impatient(H11Protocol):
        _no_head: asyncio.TimerHandle | None = None
        _unread: asyncio.TimerHandle | None = None

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.conn = StrictConnection()

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            if len(self.connections) > options.connections + _TOLD:
                transport.abort()
            elif len(self.connections) > options.connections:
                self.app: Any = _full(options.connections)
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
                self._unread = self.loop.call_later(options.read_s, self.transport.abort)

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
                self._no_head = self.loop.call_later(options.head_s, self._hang_up)

        def _hang_up(self) -> None:
            """Closes, and does not wait for ever until a client has read what is still to be sent to it."""
            self.transport.close()
            if self._unread is None:
                self._unread = self.loop.call_later(options.read_s, self.transport.abort)

        def _stop(self, *names: str) -> None:
            for name in names:
                timer = getattr(self, name)
                if timer is not None:
                    timer.cancel()
                    setattr(self, name, None)

    return Impatient


def _full(most: int) -> Any:
    """The application of a connection too many: it answers to every request that there is no room."""
    said = f"the server holds {most} connections, and no more; try again, or use one for several requests"
    response = to_response(ApiError(503, said, code="too_many_connections", retry_after_s=5))
    response.headers["Connection"] = "close"
    return response
