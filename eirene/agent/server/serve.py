"""Runs the application under uvicorn until a signal stops it; what is in flight then finishes within a grace period."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import socket
import threading
from collections.abc import Callable, Generator
from types import FrameType

import uvicorn
from fastapi import FastAPI

from eirene.agent.server.connections import protocol_of
from eirene.agent.server.options import ServeOptions
from eirene.agent.server.service import Grace
from eirene.core.concurrency import DaemonExecutor, usable_cores
from eirene.core.errors import InputError
from eirene.core.process import Terminals, settings_for_rows, stop_signals
from eirene.data.json_rows import reason

_MARGIN_S = 2.0
"""Seconds beyond the grace for cancelled work to end, before the process ends without it."""


def end_process_within(seconds: float, code: int, *, unless: threading.Event | None = None) -> None:
    """Ends the process with this code when the time is up, whatever its threads are at; not where `unless` is set."""
    ended = threading.Event() if unless is None else unless

    def end() -> None:
        if not ended.wait(seconds):
            os._exit(code)  # the streams may be locked by a thread that hangs; what was written to stderr is out

    threading.Thread(target=end, name="eirene-end", daemon=True).start()


class StopSignals:
    """SIGINT, SIGTERM and SIGHUP in a server: the first begins the grace and calls `stop`, then all act by default.

    So a second one ends the process at once, by the operating system: no code of ours has to have its turn.
    """

    def __init__(self, grace: Grace, stop: Callable[[], None]) -> None:
        self._grace, self._stop = grace, stop
        self._first: int | None = None
        self._asked, self._ended = threading.Event(), threading.Event()
        # It waits from the start: a handler must not begin a thread, since what it interrupts may just be doing that.
        threading.Thread(target=self._watch, name="eirene-grace", daemon=True).start()
        self._outputs = Terminals()
        self._before = {number: signal.signal(number, self._handle) for number in stop_signals()}

    @property
    def exit_code(self) -> int:
        """130 after SIGINT, else 0."""
        return 130 if self._first == signal.SIGINT else 0

    def restore(self) -> None:
        """Puts back the handlers that were there before; the grace ends nothing any more."""
        self._ended.set()
        self._asked.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._outputs.lost(number)
        self._first = number
        self._grace.begin()
        self._stop()
        self._asked.set()
        for known in self._before:
            signal.signal(known, signal.SIG_DFL)

    def _watch(self) -> None:
        self._asked.wait()
        left_s = self._grace.left_s
        if left_s is not None:
            end_process_within(left_s + _MARGIN_S, self.exit_code, unless=self._ended)


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
    with settings_for_rows():
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
        if on_ready is not None:
            on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve(sockets=[listener])
    finally:
        signals.restore()
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
