"""Recent runs: their events and results, bounded in number and bytes, and the file that keeps them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import time
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from eirene.agent.server.result import RunEvent
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data.journal import read_at
from eirene.data.json_rows import reason
from eirene.data.line_checksum import sealed, unsealed

logger = get_logger(__name__)

RunState = Literal["running", "done", "failed", "cancelled"]
_TAIL_BYTES = 16 * 2**20  # of the file, which are read back
_TORN = b'{"id":"run-'  # how a line of ours begins
_MOST_LISTED = 50
_MOST_EVENTS = 5_000  # of one run: a hundred rounds of votes, and an end to it


@dataclass(eq=False)
class ServerRun:
    """One request. `data` is the finished run as JSON; until then `events` tell what happens.

    `pages` are the pages of its choices that have been asked for; `token` opens them to a browser, which can send no
    key with a link.
    """

    id: str
    created: int
    model: str
    mode: str
    question: str = ""
    state: RunState = "running"
    status: str = ""
    events: list[str] = field(default_factory=list)
    data: bytes = b""
    pages: dict[int, bytes] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_hex(32))
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, event: RunEvent) -> None:
        """Adds an event and wakes who watches."""
        self.add(as_json(event), is_last=event["kind"] == "ended")

    def add(self, event: str, *, is_last: bool = False) -> None:
        """Adds an event that is JSON already."""
        if len(self.events) < _MOST_EVENTS or is_last:
            self.events.append(event)
        self._news.set()
        self._news = asyncio.Event()

    async def follow(self) -> AsyncIterator[str]:
        """Every event so far as JSON, and those to come until the run has ended."""
        at = 0
        while True:
            while at < len(self.events):
                yield self.events[at]
                at += 1
            if self.state != "running":
                return
            await self._news.wait()

    @property
    def brief(self) -> RunEvent:
        """The line of a list."""
        keys = ("id", "created", "model", "mode", "question", "state", "status")
        return {key: getattr(self, key) for key in keys}

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        texts = (self.data, self.question, *self.events, *self.pages.values())
        return sum(map(len, texts))

    def end(self, state: RunState, status: str, data: bytes) -> None:
        """The run has ended; `data` holds what came of it."""
        self.state, self.status, self.data = state, status, data
        self.tell({"kind": "ended", "state": state, "status": status})

    @classmethod
    def of_json(cls, data: bytes) -> ServerRun:
        """A finished run as `data` holds it; raises `ValueError`, `TypeError` or `KeyError` for anything else."""
        found = json.loads(data)
        keys = ("id", "created", "model", "mode", "question", "status")
        run = cls(**{key: found[key] for key in keys}, state="done", data=data)
        if not run.size or not isinstance(run.id, str):
            raise ValueError("is no run")
        return run


def as_json(value: Any) -> str:
    """JSON in its shortest form; models of pydantic as they write themselves."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def ended_run(run: ServerRun, state: RunState, *, status: str, **what: Any) -> bytes:
    """The whole of a run that has ended, as JSON. It may be large: a thread is the place to make it in."""
    return as_json({**run.brief, "state": state, "status": status, **what}).encode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not JSON")


class Runs:
    """The most recent runs, up to so many and so many bytes; the oldest finished ones go first.

    So they do from the file at `path`, which may have `file_bytes`.
    """

    def __init__(self, *, keep: int, keep_bytes: int, path: str | None = None, file_bytes: int = 256 * 2**20) -> None:
        self._keep = keep
        self._keep_bytes = keep_bytes
        self._path = path
        self._file_bytes = file_bytes
        self._runs: OrderedDict[str, ServerRun] = OrderedDict()
        self._bytes = 0
        self._writing = asyncio.Lock()
        if path is not None:
            for run in read_back(path, keep):
                self._runs[run.id] = run
                self._bytes += run.size
                self._drop_old()

    def begin(self, *, model: str, mode: str, question: str = "") -> ServerRun:
        """A new run with an id that nobody can guess."""
        run = ServerRun(f"run-{secrets.token_hex(16)}", int(time.time()), model, mode, question)
        self._runs[run.id] = run
        return run

    def get(self, run_id: str) -> ServerRun | None:
        """The run, while it is kept."""
        return self._runs.get(run_id)

    def recent(self) -> list[ServerRun]:
        """The newest runs first."""
        return list(reversed(self._runs.values()))[:_MOST_LISTED]

    async def finish(
        self, run: ServerRun, state: RunState, *, status: str = "", data: bytes | None = None, **what: Any
    ) -> None:
        """Stores what came of a run, drops what is too old, and writes a line where there is a file.

        `data` is what `ended_run` made of it, where that was done before.
        """
        run.end(state, status, ended_run(run, state, status=status, **what) if data is None else data)
        self._bytes += run.size
        self._drop_old()
        if self._path is not None and state == "done":
            async with self._writing:
                await asyncio.to_thread(append, self._path, run.data, most=self._file_bytes)

    def keep_page(self, run: ServerRun, choice: int, page: bytes) -> None:
        """Keeps a page with its run, as long as that is kept."""
        if run.id in self._runs:
            run.pages[choice] = page
            self._bytes += len(page)
            self._drop_old()

    def _drop_old(self) -> None:
        finished = [run for run in self._runs.values() if run.state != "running"]
        for run in finished[:-1]:  # the newest stays, however large
            if len(finished) <= self._keep and self._bytes <= self._keep_bytes:
                return
            del self._runs[run.id]
            self._bytes -= run.size
            finished = finished[1:]


def read_back(path: str, keep: int) -> list[ServerRun]:
    """The runs of the last lines; makes the file where there is none, readable by its owner alone.

    Lines that are damaged, or of another version, are left out, and a warning says how many. Raises `InputError` for a
    file that cannot be written, and for one of something else, which stays as it is.
    """
    try:
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            begin = file.seek(max(0, size - _TAIL_BYTES))
            data = file.read(min(size, _TAIL_BYTES))  # a device has no size, and perhaps no end
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be written: {reason(error)}", where=path) from None
    *lines, torn = data.split(b"\n")
    lines = lines[1:] if begin else lines  # the first one may lack its beginning
    lines += [torn] if torn else []
    found = [_read(line) for line in lines[-keep:]]
    runs = [run for run in found if run is not None]
    if lines and not runs and not (len(lines) == 1 and torn.startswith(_TORN)):
        raise InputError("is no file of a server's runs, and is left as it is; name another file", where=path)
    n = len(found) - len(runs) - (bool(torn) and _read(torn) is None)
    if n:
        logger.warning("%d runs in %s are damaged or of another version, and are left out", n, path)
    return runs


def append(path: str, data: bytes, *, most: int) -> None:
    """One line more, never behind a torn one; a file of more than `most` bytes loses its older half first.

    A full disk costs the line, not the answer: the client waits for that.
    """
    try:
        if os.path.isfile(path) and os.path.getsize(path) + len(data) > most:
            _halve(path, most // 2)
        with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
            size = os.fstat(file.fileno()).st_size
            is_torn = size > 0 and read_at(file.fileno(), 1, size - 1) != b"\n"
            file.write(b"\n" * is_torn + sealed(data) + b"\n")
    except OSError as error:
        logger.warning("a run could not be written to %s: %s", path, reason(error))


def _halve(path: str, kept: int) -> None:
    """Leaves the last whole lines of a file, up to so many bytes; a reader sees the old file or the new one."""
    real = os.path.realpath(path)
    new = f"{real}.{secrets.token_hex(4)}.tmp"
    try:
        with (
            open(real, "rb") as old,
            os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
        ):
            begin = old.seek(max(0, os.path.getsize(real) - kept))
            if begin:
                old.readline()  # which lacks its beginning
            shutil.copyfileobj(old, file)
        os.replace(new, real)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new)


def _read(line: bytes) -> ServerRun | None:
    try:
        return ServerRun.of_json(unsealed(line))
    except (ValueError, TypeError, KeyError):
        return None
