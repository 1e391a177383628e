"""The runner of many machines: Ray actors that each have the models, on a cluster of one's own or one that exists.

These are actors, not a dataset of Ray's: a dataset is cut into blocks before it runs, and hands a block on when all of
its rows are done. Here rows are pulled from an iterator that may end at any row (a limit, Ctrl-C), each is journaled as
soon as it is made, and a row that kills its actor must be told from those beside it.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import re
import secrets
import signal
import socket
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, cast

from eirene.agent.batch.pool import Pool, PoolShape, WorkerDiedError
from eirene.agent.batch.processes import environment
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.batch.worker import Inherited, MakeParts, Replies, RowWorker, log_here
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import InputError, WorkerError
from eirene.core.extras import importing
from eirene.core.logs import get_logger
from eirene.data.json_rows import reason

logger = get_logger(__name__)

_PATIENCE_S = 30.0
"""Seconds without a slot for an actor before a line says so."""


class RayRunner:
    """Refines rows in Ray actors, which build their parts with `make`, which is pickled.

    `shape` says how many there are, how many calls each works on at once, and how many rows a call has.

    Needs a process that is connected (`ray_session`); `parts` and `settings` are this process's, and an actor whose
    own parts make for another hash is refused (another version of Eirene, another model of that name). When an actor
    dies, another does again what it had not finished; a row that takes three with it, the last one alone, becomes a
    failed record. No more rows are held than actors work on.
    """

    def __init__(
        self, ray: ModuleType, make: MakeParts, settings: Settings, *, parts: Parts, shape: PoolShape, gpus: float
    ) -> None:
        self._ray, self._make, self._settings = ray, make, settings
        self._parts, self._shape, self._gpus = parts, shape, gpus

    def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields the outcomes as they come. Raises `WorkerError` where an actor cannot begin."""
        shape = self._shape
        remote = self._ray.remote(RowWorker).options(
            num_cpus=1.0, num_gpus=self._gpus, max_concurrency=shape.calls,
            max_restarts=0, max_task_retries=0,  # a death must be seen here, to be counted against its rows
        )  # fmt: skip
        common = RowHash(self._parts, self._settings).common

        def new() -> _Actor:
            actor = remote.remote(self._make, self._settings, Inherited.here())
            return _Actor(self._ray, actor, common)

        # Where rows only compute, one more call than it works on waits at an actor, so that it is never without work.
        waiting = replace(shape, calls=max(2, shape.calls))
        return Pool(work, new, self._settings, shape=waiting, parts=lambda: self._parts).run()


@dataclass(frozen=True, slots=True)
class _Actor:
    """One actor. `common`: what rows of this process's parts hang on."""

    ray: ModuleType
    actor: Any
    common: list[Any]

    async def begin(self) -> None:
        """Waits until it has its models, which must be those of this process."""
        begun = asyncio.ensure_future(self._reply(self.actor.begin.remote()))
        done, _ = await asyncio.wait({begun}, timeout=_PATIENCE_S)
        if not done:
            said = "an actor has not begun after %g s: it waits for a slot with a CPU (and GPU), or for its models"
            logger.warning(said, _PATIENCE_S)
        reply, logged = await begun
        log_here(logged)
        if isinstance(reply, str):
            raise WorkerError(f"an actor could not begin: {reply}")
        if reply != self.common:
            raise WorkerError(
                f"an actor's models are not those of this process ({reply[1:]} there, {self.common[1:]} here): install "
                "the same version of Eirene and the same models on all machines of the cluster"
            )

    async def rows(self, rows: list[RowWork]) -> AsyncIterator[Replies]:
        """Sends rows and waits for what comes of them all."""
        yield cast("Replies", await self._reply(self.actor.rows.remote(rows)))

    def end(self) -> None:
        """Ends it."""
        with suppress(self.ray.exceptions.RayError):  # the cluster is gone, and the actor with it
            self.ray.kill(self.actor)

    async def _reply(self, promised: Any) -> Any:
        errors = self.ray.exceptions
        try:
            return await asyncio.wrap_future(promised.future())
        except errors.RayTaskError as error:
            raise WorkerError(f"an actor failed: {error.cause!r}") from error
        except errors.RayError as error:
            raise WorkerDiedError(str(error).partition("\n")[0] or type(error).__name__) from error


LOCAL = "local"
"""The address that stands for a cluster of one's own on this machine."""

AUTO = "auto"
"""The address that stands for a cluster that runs on this machine already."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""No report to Ray's makers; no advice on standard error."""

_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray takes 127.0.0.1 for its node, and binds to nothing else, where it believes that other machines cannot join. It
replaces a loopback address that it is given by the machine's outer one, and would then listen on every interface. Read
when Ray is imported."""

_ONE_TRY = {"RAY_gcs_server_port_wait_time_s": "1", "RAY_py_gcs_connect_timeout_s": "10"}
"""Ray asks a head once, and not twenty times for 30 s each: what listens there may be no head at all. Both count for
joining alone; whoever set them otherwise is heeded."""

_CONNECT_S = 5.0
"""Seconds within which a machine answers that is there."""

_ADDRESS = re.compile(r"(?P<host>[^\s/:\[\]]+|\[[^\s/\[\]]+\]):(?P<port>[0-9]{1,5})")

_WANTED = (
    "wanted is HOST:PORT of a head (port 6379 unless it was given another), its token if it has one "
    "(RAY_AUTH_MODE=token, RAY_AUTH_TOKEN), and the same versions of Ray and Python as here"
)

_STORE_BYTES = 100 * 2**20
"""Shared memory for objects: rows and records are small, and go past it."""


@contextmanager
def ray_session(address: str = LOCAL, *, slots: int | None = None) -> Iterator[ModuleType]:
    """The module `ray`, connected; what was started here is ended, and what was joined is only left.

    `address`: `local` starts a cluster with `slots` CPU slots on this machine, reachable from this machine alone and
    with a token of its own; `HOST:PORT` joins the one whose head is there, `auto` the one that runs on this machine. A
    process that is connected already stays so. Raises `MissingExtraError` without Ray, `InputError` for an address at
    which there is no cluster to join, within half a minute.
    """
    head = None if address in (LOCAL, AUTO) else _head(address)
    is_local = address == LOCAL
    more = _ON_LOOPBACK | _token() if is_local else {k: v for k, v in _ONE_TRY.items() if k not in os.environ}
    with environment(_QUIET | more):
        with importing("ray"):
            import ray
        if ray.is_initialized():
            yield ray
            return
        if head is not None:
            _check_listening(ray, *head)
        with _folder() as folder:
            own = {
                "num_cpus": slots,
                "_temp_dir": folder,
                "object_store_memory": _STORE_BYTES,
                "include_dashboard": False,
            }
            try:
                _init(ray, address, own if is_local else {})
                yield ray
            finally:
                ray.shutdown()


def cluster_slots(ray: ModuleType, kind: str) -> int:
    """How many actors with one `CPU` or `GPU` each the cluster has room for at the moment."""
    return int(ray.cluster_resources().get(kind, 0))


def _head(address: str) -> tuple[str, int]:
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found["port"]) < 2**16:
        raise InputError(
            f"a Ray cluster is named by HOST:PORT of its head (or 'local', or 'auto'), got {address!r}", field="ray"
        )
    return found["host"].strip("[]"), int(found["port"])


def _check_listening(ray: ModuleType, host: str, port: int) -> None:
    """Raises `InputError` at once where Ray would try for minutes: nothing listens, no such host, no answer."""
    if host in ("localhost", "127.0.0.1", "::1"):  # in place of which Ray takes the machine's outer address
        host = ray.util.get_node_ip_address()
    try:
        socket.create_connection((host, port), timeout=_CONNECT_S).close()
    except (OSError, ValueError) as error:  # ValueError: no name of a host, which no DNS can be asked for
        why = f"no answer in {_CONNECT_S:g} s" if isinstance(error, TimeoutError) else reason(error)
        raise InputError(
            f"no Ray cluster could be reached at {host}:{port}: {why}; name HOST:PORT as `ray start --head` shows it",
            field="ray",
        ) from None


def _init(ray: ModuleType, address: str, options: dict[str, Any]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:  # RuntimeError: another version of Ray or Python
        said = " ".join(str(error).split())
        if address == LOCAL:
            raise InputError(f"no Ray cluster could be started on this machine: {said}", field="ray") from None
        said = said.partition(". ")[0]  # what follows is about flags of Ray's own commands
        raise InputError(f"no Ray cluster could be joined at {address!r}: {said}; {_WANTED}", field="ray") from None
    finally:
        signal.signal(signal.SIGTERM, before)  # Ray puts its own there, which ends the process on the spot


@functools.cache  # Ray keeps the first one for the life of the process
def _token() -> dict[str, str]:
    """Whoever would talk to the cluster must show it: other users of this machine cannot run code in its processes."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def _folder() -> tempfile.TemporaryDirectory[str]:
    """For sockets, logs and spilled rows, this user's alone; short, since a socket's path has at most 107 bytes."""
    place = "/tmp" if os.path.isdir("/tmp") else None
    return tempfile.TemporaryDirectory(prefix="eirene-ray-", dir=place, ignore_cleanup_errors=True)
