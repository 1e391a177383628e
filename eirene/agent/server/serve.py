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

from eirene.agent.server.access import ServeOptions
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


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to `serve`: it would send them to the process again at the end."""

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
    """How uvicorn serves the application: no logs and no headers of its own, no WebSockets, no waiting for ever.

    The parser is always h11, whatever else is installed: it refuses more of what is unclear.
    """
    return uvicorn.Config(
        app, http="h11", ws="none", log_config=None, access_log=False, lifespan="on", server_header=False,
        timeout_keep_alive=75, backlog=1024, limit_concurrency=options.connections + 1,
        # It goes to asyncio, which takes fractions of a second as well.
        timeout_graceful_shutdown=options.grace_s if math.isfinite(options.grace_s) else None,  # type: ignore[arg-type]
    )  # fmt: skip


async def _serve(app: FastAPI, options: ServeOptions, on_ready: Callable[[str], None] | None) -> int:
    listener = listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    server, ended = _Server(configure(app, options)), threading.Event()
    loop, outputs = asyncio.get_running_loop(), Terminals()
    loop.set_default_executor(DaemonExecutor(usable_cores()))
    code = 0

    def stop(number: int) -> None:
        """Begins the grace at the first signal; a second one ends the process, by the operating system."""
        nonlocal code
        outputs.lost(number)
        code = 130 if number == signal.SIGINT else 0
        grace_s = app.state.service.stop()
        server.should_exit = True
        for known in before:
            signal.signal(known, signal.SIG_DFL)
        if grace_s is not None:
            end_process_within(grace_s + _MARGIN_S, code, unless=ended)

    def pass_on(number: int, _: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop, number)

    before = {number: signal.signal(number, pass_on) for number in stop_signals()}
    try:
        if on_ready is not None:
            on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve(sockets=[listener])
    finally:
        ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
    return code


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
