"""A model server that fails by a seeded schedule, and keeps a book of what it sent for every row.

Whether a request fails, and how, is drawn from the seed, its row, its job and its attempt: the same seed gives the same
faults whatever the order in which requests come. Some rows are `stubborn`: there every attempt meets the same fault.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from loopback import number_in

from benchmarks.faults.replies import UNSOUND, asked_for, kinds_for, opposite, sound
from benchmarks.faults.rows import chance
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import (
    BrokenReply,
    HttpError,
    RawReply,
    ScriptedReply,
    ScriptedRequest,
    TextReply,
    completion_body,
)

SLOW_S = 0.2
"""Seconds of a delayed reply."""


def _raw(body: bytes, **headers: str) -> Callable[[ScriptedRequest, str], RawReply]:
    return lambda *_: RawReply.body([body], **headers)


def _quotes_key(status: int, **headers: str) -> Callable[[ScriptedRequest, str], HttpError]:
    """An error that quotes the key of the request."""
    return lambda request, _: HttpError(status, f"no: {request.headers.get('authorization')}", headers=headers)


def _quotes_all(request: ScriptedRequest, _: str) -> RawReply:
    """A refusal in FastAPI's form, with all that came."""
    problem = {"loc": ["body"], "msg": "no", "input": request.body, "ctx": request.headers}
    return RawReply.body([json.dumps({"detail": [problem]}).encode()], status=422)


def _twice(request: ScriptedRequest, true: str) -> RawReply:
    """Two replies to one request, the second of which a client must not take for that to its next."""
    choices = [TextReply(true)] * request.n
    body = json.dumps(completion_body(request, choices)).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
    return RawReply([head + body, head + body])


REPEATS = "repeats"
TRANSPORT: dict[str, Callable[[ScriptedRequest, str], ScriptedReply]] = {
    "drops": lambda *_: BrokenReply("drop"),
    "cuts": lambda *_: BrokenReply("cut"),
    "hangs": lambda *_: BrokenReply("hang"),
    "sends half of a JSON": lambda *_: BrokenReply("garbage"),
    "corrupts bytes": _raw(b'{"choices": [{"message": {"content": "\xff\xfe\x80"}}]}'),
    "lies about gzip": _raw(b"\x00" * 64, content_encoding="gzip"),
    "sends no choices": _raw(b'{"choices": []}'),
    "sends another shape": _raw(b'{"choices": {"0": null}, "usage": "none"}'),
    "sends a web page": lambda *_: RawReply.body([b"<html>busy</html>"], kind="text/html"),
    "sends without end": lambda *_: RawReply.body(itertools.repeat(b" " * 65536, 10_000)),
    REPEATS: _twice,
    "rate-limits": _quotes_key(429, **{"Retry-After": "0.02"}),
    "fails within": _quotes_key(500),
    "is overloaded": _quotes_key(503, **{"Retry-After": "0.02"}),
    "refuses the request": _quotes_all,
    "redirects": lambda *_: HttpError(307, headers={"Location": "http://127.0.0.2:1/v1/chat/completions"}),
}
"""A whole reply by its kind of fault, of the true one."""
DELAYS = "delays"


@dataclass(frozen=True)
class Schedule:
    """What goes wrong and how often: shares in [0, 1] of requests, of choices, and of rows that fail at every
    attempt (`stubborn`) or whose choices mostly do (`bad`).

    `kinds`: names of `TRANSPORT`; None for all.
    """

    seed: int
    transport: float = 0.12
    choices: float = 0.25
    stubborn: float = 0.04
    delayed: float = 0.02
    bad: float = 0.15
    kinds: tuple[str, ...] = tuple(TRANSPORT)

    def whole(self, request: ScriptedRequest, n: int, job: str) -> str | None:
        """The fault of a whole reply; None for none."""
        of = (self.seed, n, job)
        is_stubborn = chance("stubborn", *of) < self.stubborn
        draw = (*of, 0 if is_stubborn else request.attempt, "" if is_stubborn else len(request.text))
        if not is_stubborn and chance("whole", *draw) >= self.transport:
            return None
        return self.kinds[int(chance("kind", *draw) * len(self.kinds))] if self.kinds else None

    def choice(self, request: ScriptedRequest, n: int, job: str, index: int) -> str | None:
        """The fault of one choice; None for none."""
        draw = (self.seed, n, job, request.attempt, request.body.get("seed"), index)
        # In some rows most choices are bad, so that votes are lost as well as won.
        bad = 0.8 if chance("bad", self.seed, n, job) < self.bad else self.choices
        kinds = kinds_for(job)
        if not kinds or chance("choice", *draw) >= bad:
            return None
        return kinds[int(chance("which", *draw) * len(kinds))]


@dataclass
class Book:
    """What was sent: faults by kind, and the sound choices of each row and job."""

    faults: Counter[str] = field(default_factory=Counter)
    sound: dict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))


class FaultServer(LoopbackServer):
    """The server: OpenAI's completions on loopback. `schedule` may be changed between jobs; `book` is what it sent."""

    def __init__(self, schedule: Schedule) -> None:
        super().__init__(self._script)
        self.schedule, self.book = schedule, Book()

    def told(self, request: ScriptedRequest) -> tuple[str, str, str]:
        """What a request wants, the true reply to it, and its opposite."""
        return asked_for(request), sound(request), opposite(request)

    def _script(self, request: ScriptedRequest, index: int) -> ScriptedReply:
        n, (job, true, false) = number_in(request.text), self.told(request)
        fault = self.schedule.whole(request, n, job) if index == 0 else None
        if fault is not None:
            self.book.faults[fault] += 1
            self.book.sound[n, job] += request.n if fault == REPEATS else 0
            return TRANSPORT[fault](request, true)
        fault = self.schedule.choice(request, n, job, index)
        if fault is not None:
            self.book.faults[fault] += 1
            return UNSOUND[fault](request, true, false)
        self.book.sound[n, job] += 1
        return true

    async def _reply(
        self, request: ScriptedRequest, writer: asyncio.StreamWriter, *, gone: Callable[[], Awaitable[bytes]]
    ) -> bool:
        if chance("late", self.schedule.seed, request.text, request.attempt) < self.schedule.delayed:
            self.book.faults[DELAYS] += 1
            await asyncio.sleep(SLOW_S)
        return await super()._reply(request, writer, gone=gone)
