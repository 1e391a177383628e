"""A Ray cluster for the time of a run: one that this process starts on the loopback interface, or one that exists.

What a Ray actor does: builds its own parts once, and makes the rows that it is sent.
"""

from __future__ import annotations

import functools
import logging
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from eirene.agent.batch.processes import environment
from eirene.core.errors import InputError
from eirene.core.extras import importing

LOCAL = "local"
"""The address that stands for a cluster of one's own on this machine."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""No report to Ray's makers; no advice on standard error."""

_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray takes 127.0.0.1 for its node, and binds to nothing else, where it believes that other machines cannot join. It
replaces a loopback address that it is given by the machine's outer one, and would then listen on every interface. Read
when Ray is imported."""

_STORE_BYTES = 100 * 2**20
"""Shared memory for objects: rows and records are small, and go past it."""


@contextmanager
def ray_session(address: str = LOCAL, *, slots: int | None = None) -> Iterator[ModuleType]:
    """The module `ray`, connected; what was started here is ended, and what was joined is only left.

    `address`: `local` starts a cluster with `slots` CPU slots on this machine, reachable from this machine alone and
    with a token of its own; `HOST:PORT` joins the one whose head is there, `auto` the one that runs on this machine. A
    process that is connected already stays so. Raises `MissingExtraError` without Ray, `InputError` for an address at
    which there is no cluster.
    """
    if "://" in address:
        raise InputError(f"a Ray cluster is named by HOST:PORT of its head (or 'local'), got {address!r}", field="ray")
    is_local = address == LOCAL
    with environment(_QUIET | (_ON_LOOPBACK | _token() if is_local else {})):
        ray = _ray()
        if ray.is_initialized():
            yield ray
            return
        with _folder() as folder:
            try:
                own: dict[str, object] = {
                    "num_cpus": slots,
                    "_temp_dir": folder,
                    "object_store_memory": _STORE_BYTES,
                    "include_dashboard": False,
                }
                _init(ray, address, own if is_local else {})
                yield ray
            finally:
                ray.shutdown()


def cluster_slots(ray: ModuleType, kind: str) -> int:
    """How many actors with one `CPU` or `GPU` each the cluster has room for at the moment."""
    return int(ray.cluster_resources().get(kind, 0))


def _ray() -> ModuleType:
    with importing("ray"):
        import ray
    module: ModuleType = ray
    return module


def _init(ray: ModuleType, address: str, options: dict[str, object]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, ValueError) as error:
        raise InputError(f"no Ray cluster could be reached at {address!r}: {error}", field="ray") from None
    finally:
        signal.signal(signal.SIGTERM, before)  # Ray puts its own there, which ends the process on the spot


@functools.cache  # Ray keeps the first one for the life of the process
def _token() -> dict[str, str]:
    """Whoever would talk to the cluster must show it: other users of this machine cannot run code in its processes."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@contextmanager
def _folder() -> Iterator[str]:
    """For sockets, logs and spilled rows, this user's alone; short, since a socket's path has at most 107 bytes."""
    folder = tempfile.mkdtemp(prefix="eirene-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
