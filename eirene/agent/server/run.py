"""One run of a server: what is told of it while it is under way, and what came of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

from eirene.agent.server.watching import News

RunState = Literal["running", "done", "failed", "cancelled"]
_MOST_EVENTS = 5_000  # of one run: a hundred rounds of votes, and an end to it


@dataclass(eq=False)
class Run:
    """One request. `data` is the finished run as JSON; until then `events` tell what happens."""

    id: str
    created: int
    model: str
    mode: str
    question: str = ""
    state: RunState = "running"
    status: str = ""
    events: list[str] = field(default_factory=list)
    data: bytes = b""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def tell(self, news: News) -> None:
        """Adds an event and wakes who watches."""
        self.add(as_json(news), is_last=news["kind"] == "ended")

    def add(self, event: str, *, is_last: bool = False) -> None:
        """Adds an event that is JSON already."""
        if len(self.events) < _MOST_EVENTS or is_last:
            self.events.append(event)
        self._wake()

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
    def brief(self) -> News:
        """The line of a list."""
        keys = ("id", "created", "model", "mode", "question", "state", "status")
        return {key: getattr(self, key) for key in keys}

    @property
    def size(self) -> int:
        """About how many bytes are held."""
        return len(self.data) + sum(map(len, self.events)) + len(self.question)

    def end(self, state: RunState, status: str, data: bytes) -> None:
        """The run has ended; `data` holds what came of it."""
        self.state, self.status, self.data = state, status, data
        self.tell({"kind": "ended", "state": state, "status": status})

    @classmethod
    def of_json(cls, data: bytes) -> Run:
        """A finished run as `data` holds it; raises `ValueError`, `TypeError` or `KeyError` for anything else."""
        found = json.loads(data)
        keys = ("id", "created", "model", "mode", "question", "status")
        run = cls(**{key: found[key] for key in keys}, state="done", data=data)
        if not run.size or not isinstance(run.id, str):
            raise ValueError("is no run")
        return run

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def as_json(value: Any) -> str:
    """JSON in its shortest form; models of pydantic as they write themselves."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def ended_run(run: Run, state: RunState, *, status: str, **what: Any) -> bytes:
    """The whole of a run that has ended, as JSON. It may be large: a thread is the place to make it in."""
    return as_json({**run.brief, "state": state, "status": status, **what}).encode("utf-8")


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    raise TypeError(f"{type(value).__name__} is not JSON")
