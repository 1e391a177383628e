"""The recent runs: what is under way, what came of the rest, and who watches. Bounded in number and in bytes."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import OrderedDict
from typing import Any

from eirene.agent.server.run import Run, RunState, ended_run
from eirene.agent.server.runs_file import append, read_back


class Runs:
    """The most recent runs, up to so many and so many bytes; the oldest finished ones go first."""

    def __init__(self, *, keep: int, keep_bytes: int, path: str | None = None) -> None:
        self._keep = keep
        self._keep_bytes = keep_bytes
        self._path = path
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._bytes = 0
        self._writing = asyncio.Lock()
        if path is not None:
            for run in read_back(path, keep):
                self._runs[run.id] = run
                self._bytes += run.size
                self._drop_old()

    def begin(self, *, model: str, mode: str, question: str = "") -> Run:
        """A new run with an id that nobody can guess."""
        run = Run(f"run-{secrets.token_hex(16)}", int(time.time()), model, mode, question)
        self._runs[run.id] = run
        return run

    def get(self, run_id: str) -> Run | None:
        """The run, while it is kept."""
        return self._runs.get(run_id)

    def recent(self, limit: int = 50) -> list[Run]:
        """The newest runs first."""
        return list(reversed(self._runs.values()))[:limit]

    async def finish(
        self, run: Run, state: RunState, *, status: str = "", data: bytes | None = None, **what: Any
    ) -> None:
        """Stores what came of a run, drops what is too old, and writes a line where there is a file.

        `data` is what `ended_run` made of it, where that was done before.
        """
        run.end(state, status, ended_run(run, state, status=status, **what) if data is None else data)
        self._bytes += run.size
        self._drop_old()
        if self._path is not None and state == "done":
            async with self._writing:
                await asyncio.to_thread(append, self._path, run.data)

    def _drop_old(self) -> None:
        finished = [run for run in self._runs.values() if run.state != "running"]
        for run in finished[:-1]:  # the newest stays, however large
            if len(finished) <= self._keep and self._bytes <= self._keep_bytes:
                return
            del self._runs[run.id]
            self._bytes -= run.size
            finished = finished[1:]
