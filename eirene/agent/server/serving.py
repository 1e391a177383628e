"""Runs the application under uvicorn until it is told to stop, and then lets it finish what is in flight."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import math
import os
import signal
import socket
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from fastapi import FastAPI

from eirene.agent.server.connections import protocol_of
from eirene.agent.server.options import ServeOptions
from eirene.blocking import switching_often
from eirene.errors import InputError
from eirene.io import reason
from eirene.stop_signals import stop_signals

logger = logging.getLogger(__name__)


class _Server(uvicorn.Server):
    """uvicorn's server, which leaves the signals to `serve`: it would send them to the process again at the end."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def serve(app: FastAPI, options: ServeOptions, *, on_ready: Callable[[str], None] | None = None) -> int:
    """Serves until SIGTERM, SIGHUP or SIGINT, and returns the exit code: 0 or 130. A second signal waits for nothing.

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
        timeout_graceful_shutdown=max(1, round(options.grace_s)) if math.isfinite(options.grace_s) else None,
    )  # fmt: skip


def _usable_cores() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return usable or 1


async def _serve(app: FastAPI, options: ServeOptions, on_ready: Callable[[str], None] | None) -> int:
    listener = listen(options.host, options.port)
    host, port = listener.getsockname()[:2]
    server = _Server(configure(app, options))
    stopped_by: set[int] = set()

    def stop(number: int) -> None:
        server.force_exit = bool(stopped_by)
        server.should_exit = True
        stopped_by.add(number)

    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(_usable_cores(), thread_name_prefix="eirene"))
    signals = stop_signals()
    for number in signals:
        loop.add_signal_handler(number, stop, number)
    try:
        gc.collect()
        gc.freeze()  # what is loaded by now stays: looking through it again would hold up every chat for a tenth second
        if on_ready is not None:
            on_ready(f"http://{f'[{host}]' if ':' in host else host}:{port}")
        await server.serve(sockets=[listener])
    finally:
        for number in signals:
            loop.remove_signal_handler(number)
        gc.unfreeze()
    return 130 if signal.SIGINT in stopped_by else 0


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
