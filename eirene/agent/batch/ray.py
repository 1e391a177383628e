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
import shutil
import signal
import socket
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from eirene.agent.batch.pool import Pool
from eirene.agent.batch.processes import environment
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.agent.batch.worker import MakeParts, RowActor, log_here, log_level
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import InputError, WorkerError
from eirene.core.extras import importing
from eirene.core.logs import get_logger
from eirene.core.otlp import WorkerSpans
from eirene.core.records import Record
from eirene.data.json_rows import reason

logger = get_logger(__name__)

_TOGETHER = 2
"""Deaths of its actor after which a row is tried without others beside it. A machine that goes away takes many rows
with it that are not at fault; a death alone names the row."""

_STARTS = 3
"""Tries to start an actor: the machine that it was put on may go away at that moment."""

_PATIENCE_S = 30.0
"""Seconds without a slot for an actor before a line says so."""


@dataclass(frozen=True, slots=True)
class ActorShape:
    """What an actor is given. `side_by_side`: calls that it works on at once; `chunk_rows`: rows a call.

    One more call than that waits at the actor where rows only compute, so that it is never without work.
    """

    side_by_side: int = 1
    chunk_rows: int = 1
    cpus: float = 1.0
    gpus: float = 0.0

    @property
    def calls(self) -> int:
        """Calls that are sent at once."""
        return self.side_by_side + 1 if self.side_by_side == 1 else self.side_by_side


class RayRunner:
    """Refines rows in `workers` Ray actors of one `shape`, which build their parts with `make`.

    Needs a process that is connected (`eirene.agent.batch.ray`); `parts` and `settings` are this process's, and
    an actor whose own parts make for another hash is refused (another version of Eirene, another model of that name).
    When an actor dies, another does again what it had not finished; a row that takes three with it, the last one alone,
    becomes a failed record. No more rows are held than actors work on. `make` is pickled.
    """

    def __init__(
        self, ray: ModuleType, make: MakeParts, settings: Settings, *, parts: Parts, workers: int, shape: ActorShape
    ) -> None:
        self._ray = ray
        self._make = make
        self._settings = settings
        self._parts = parts
        self._workers = workers
        self._shape = shape

    async def run(self, work: Iterable[RowWork | None]) -> AsyncGenerator[RowOutcome, None]:
        """Yields the outcomes as they come. Raises `WorkerError` where an actor cannot begin."""
        pool = Pool(work, self._settings, workers=self._workers)
        handles = [_ActorHandle(self._ray, self._make, self._parts, self._shape, pool) for _ in range(self._workers)]
        async with aclosing(pool.run(handles)) as outcomes:
            async for outcome in outcomes:
                yield outcome


@dataclass(slots=True)
class _ActorHandle:
    """One actor's side in this process; an actor that dies is followed by another."""

    ray: ModuleType
    make: MakeParts
    parts: Parts
    shape: ActorShape
    pool: Pool
    actor: Any = None
    is_dead: bool = False
    calls: dict[asyncio.Future[Any], list[RowWork]] = field(default_factory=dict)
    again: deque[RowWork] = field(default_factory=deque)
    suspects: deque[RowWork] = field(default_factory=deque)

    @property
    def held(self) -> int:
        """Rows that it was given and of which nothing has come."""
        return len(self.again) + len(self.suspects) + sum(map(len, self.calls.values()))

    async def work(self) -> None:
        """Makes rows until there are none left."""
        while True:
            if self.actor is None:
                await self._start()
            if not self.is_dead:
                self._fill()
            if not self.calls:
                if self.pool.source.is_over:
                    return
                await self.pool.source.news()
                continue
            done, _ = await asyncio.wait(self.calls, return_when=asyncio.FIRST_COMPLETED)
            for call in done:
                await self._ended(call)
            if self.is_dead and not self.calls:
                self.end()

    def _fill(self) -> None:
        while len(self.calls) < self.shape.calls and (rows := self._next()):
            call = self.actor.rows.remote(rows)
            self.calls[asyncio.wrap_future(call.future())] = rows

    def _next(self) -> list[RowWork]:
        """The rows of the next call; none while one must be alone."""
        if any(self.pool.deaths(rows[0]) >= _TOGETHER for rows in self.calls.values()):
            return []
        if self.again:
            return [self.again.popleft() for _ in range(min(len(self.again), self.shape.chunk_rows))]
        if self.suspects:
            return [] if self.calls else [self.suspects.popleft()]
        return self.pool.take(self.shape.chunk_rows)

    async def _ended(self, call: asyncio.Future[Any]) -> None:
        errors = self.ray.exceptions
        rows = self.calls.pop(call)
        try:
            replies, logged = call.result()
        except errors.RayTaskError as error:
            raise WorkerError(f"an actor failed at {len(rows)} rows: {error.cause!r}") from error
        except errors.RayError as error:
            self.is_dead = True
            for work in rows:
                await self._lost(work, error)
            return
        for record in logged:
            log_here(record)
        for work, reply in zip(rows, replies, strict=True):
            if isinstance(reply, Record):
                await self.pool.put(RowOutcome(work, reply))
            else:
                await self.pool.fail(reply, rows=1)

    async def _lost(self, work: RowWork, error: Exception) -> None:
        """Counts a death against a row: first it goes again with others, then alone, and then it is a failed record."""
        deaths = self.pool.died(work)
        if deaths < _TOGETHER:
            self.again.append(work)
        elif deaths == _TOGETHER:
            self.suspects.append(work)
        else:
            how = str(error).partition("\n")[0] or type(error).__name__
            await self.pool.give_up(work, f"actors ended at this row, the last one alone with it: {how}", self.parts)

    async def _start(self) -> None:
        errors = self.ray.exceptions
        tracing = WorkerSpans.for_workers()
        remote = self.ray.remote(RowActor).options(
            num_cpus=self.shape.cpus, num_gpus=self.shape.gpus, max_concurrency=self.shape.side_by_side,
            max_restarts=0, max_task_retries=0,  # a death must be seen here, to be counted against its rows
        )  # fmt: skip
        for tried in range(1, _STARTS + 1):
            self.actor, self.is_dead = remote.remote(self.make, self.pool.settings, log_level(), tracing), False
            try:
                reply = await self._begun(asyncio.wrap_future(self.actor.begin.remote().future()))
            except errors.RayTaskError as error:
                raise WorkerError(f"an actor could not begin: {error.cause!r}") from error
            except errors.RayError as error:
                if tried == _STARTS:
                    raise WorkerError(f"{_STARTS} actors ended before their first row, the last: {error}") from error
                continue
            if isinstance(reply, str):
                raise WorkerError(f"an actor could not begin: {reply}")
            if reply != (here := RowHash(self.parts, self.pool.settings).common):
                raise WorkerError(
                    f"an actor's models are not those of this process ({reply[1:]} there, {here[1:]} here): install "
                    "the same version of Eirene and the same models on all machines of the cluster"
                )
            return

    async def _begun(self, reply: asyncio.Future[Any]) -> Any:
        done, _ = await asyncio.wait({reply}, timeout=_PATIENCE_S)
        if not done:
            logger.warning(
                "an actor has not begun after %g s: it waits for a slot with %g CPU and %g GPU, or for its models",
                _PATIENCE_S, self.shape.cpus, self.shape.gpus,
            )  # fmt: skip
        return await reply

    def end(self) -> None:
        """Ends the actor, if there is one."""
        actor, self.actor = self.actor, None
        if actor is not None:
            with suppress(self.ray.exceptions.RayError):  # the cluster is gone, and the actor with it
                self.ray.kill(actor)


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
        ray = _ray()
        if ray.is_initialized():
            yield ray
            return
        if head is not None:
            _check_listening(ray, *head)
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


def _head(address: str) -> tuple[str, int]:
    """Host and port of a cluster's head."""
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


def _init(ray: ModuleType, address: str, options: dict[str, object]) -> None:
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


@contextmanager
def _folder() -> Iterator[str]:
    """For sockets, logs and spilled rows, this user's alone; short, since a socket's path has at most 107 bytes."""
    folder = tempfile.mkdtemp(prefix="eirene-ray-", dir="/tmp" if os.path.isdir("/tmp") else None)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
