"""Runs the application under uvicorn until it is told to stop, and then lets it finish what is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import math
import socket
from collections.abc import Callable, Generator

import uvicorn
from fastapi import FastAPI

from eirene.agent.server.connections import protocol_of
from eirene.agent.server.grace import StopSignals
from eirene.agent.server.options import ServeOptions
from eirene.blocking import DaemonExecutor, switching_often, usable_cores
from eirene.errors import InputError
from eirene.io import reason
from eirene.logs import get_logger

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
    with switching_often():
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
