"""The ways into Eirene that a model server's faults are driven through, in this process: a function each.

Each takes rows and a server, and gives what a user gets for every row. `refine`, `batch`, `compare`, `score`, `check`,
the chat model and the middleware are called as a user calls them, with retries and time limits as they come but for
the seconds of an attempt.
"""

from __future__ import annotations

import json
import logging
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, TypeVar

from harness import read_rows
from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from openai import DefaultHttpxClient

import eirene
from benchmarks.faults.ledger import Out
from benchmarks.faults.rows import KEY, question, row
from benchmarks.faults.server import FaultServer
from eirene.agent.detectors import with_detectors
from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.eval.resources import Resources

SAMPLES = 4
POLLS = 5
TIMEOUT_S = 5.0
"""Seconds of an attempt: what hangs costs as many."""
CALLS = 64
_TIMES = 9
"""How often a command that ended is run again."""
T = TypeVar("T")
Job = Callable[[Sequence[int], FaultServer], list[Out]]
_LOOP: dict[str, Any] = {"samples": SAMPLES, "stop": "none", "max_rounds": 1}


def options(server: FaultServer) -> eirene.BackendOptions:
    """How the server is reached."""
    return eirene.BackendOptions(base_url=server.base_url, timeout_s=TIMEOUT_S, concurrency=CALLS)


def critics(server: FaultServer) -> eirene.Parts:
    """Who critiques and rewrites; nothing is scored but by the model, so that most of the time goes into calls."""
    return replace(eirene.resolve_backend("openai:test", options(server)), detectors=(), verifier=None)


def rewriters(server: FaultServer) -> eirene.Parts:
    """The same with the detectors that go with a backend, so that rewrites are accepted."""
    return replace(eirene.resolve_backend("openai:test", options(server)), verifier=None)


def judged(server: FaultServer) -> eirene.Parts:
    """The same, with a polled judge."""
    return with_detectors(critics(server), ["chainpoll"], judge(server))


def judge(server: FaultServer) -> Resources:
    """A judge on the server."""
    how = {"polls": POLLS, "concurrency": CALLS, "timeout_s": TIMEOUT_S}
    return Resources(judge_model="openai:test", base_url=server.base_url, **how)


def batch(
    rows: Sequence[int], server: FaultServer, parts: Callable[[FaultServer], eirene.Parts] = critics
) -> list[Out]:
    """The journal of a batch; each of three runs is given a third more of the rows, and does the rest alone."""
    models = parts(server)  # that have had an answer take a web page for one call's fault
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "out.jsonl"
        for part in (1, 2, 3):
            given = [row(n) for n in rows[: -(-len(rows) * part // 3)]]
            _again(lambda given=given: eirene.batch(given, out=journal, backend=models, settings=_LOOP))
        return [Out.of_record(line) for line in read_rows(journal)]


def _again(command: Callable[[], T]) -> T:
    """What a command gives that is run again where it ended, as one does who is told that an address looks wrong."""
    for _ in range(_TIMES):
        try:
            return command()
        except PERMANENT_ERRORS:
            continue
    return command()


def batch_jumping(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """The same, while the clock on the wall jumps."""
    with jumping_clock():
        return batch(rows, server)


@contextmanager
def jumping_clock() -> Iterator[None]:
    """`time.time` goes forwards and backwards, by up to a year at a look."""
    true, jumps = time.time, cycle((0.0, -3600.0, 86400.0, -3.2e7, 3.2e7, 0.5, -0.5))
    time.time = lambda: true() + next(jumps)
    try:
        yield
    finally:
        time.time = true


def compare(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """The rows of one mode of two; the ledger knows a row once."""
    with tempfile.TemporaryDirectory() as folder:
        given, models, modes = [row(n) for n in rows], critics(server), ("fine-grained", "improve")
        _again(lambda: eirene.compare(given, out=folder, backend=models, modes=modes, settings=_LOOP))
        made = [line["record"] for line in read_rows(Path(folder) / "rows.jsonl") if line["mode"] == modes[0]]
    return [Out.of_record(record) for record in made]


def score(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """The judge's scores."""
    given, models = [row(n) for n in rows], judge(server)
    found = _again(lambda: eirene.score(given, detectors="chainpoll", resources=models))
    made = [scores["chainpoll"].model_dump(mode="json") for scores in found]
    return [Out(n, json.dumps(scores), scores=scores) for n, scores in zip(rows, made, strict=True)]


def check(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """The judge's scores in a baseline."""
    given, models = [row(n) for n in rows], judge(server)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "baseline.jsonl"
        _again(lambda: eirene.check(given, detectors="chainpoll", resources=models, write_baseline=str(file)))
        made = [(int(r["id"].removeprefix("i")), r) for r in read_rows(file)[1:]]
    return [Out(n, json.dumps(r), scores=r["scores"]["chainpoll"]) for n, r in made]


def refine(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """A record each, some side by side."""
    parts = judged(server)
    one = partial(eirene.refine, backend=parts, settings=_LOOP)
    return _side_by_side(lambda n: Out.of_record(one(row(n)).model_dump(mode="json")), rows)


def chat_model(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """What a chat model with the loop around it replies."""
    with _inner(server) as inner:
        model = eirene.RefiningChatModel(inner, backend=critics(server), settings=_LOOP)

        def one(n: int) -> Out:
            reply = model.invoke(question(n))
            return of_text(n, reply.text, reply.response_metadata["eirene"])

        return _side_by_side(one, rows)


def middleware(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """What an agent replies at the end."""
    around = eirene.RefineMiddleware(backend=critics(server), settings=_LOOP, full_trace=True)
    with _inner(server) as inner:
        agent = create_agent(inner, [], middleware=[around])

        def one(n: int) -> Out:
            state = agent.invoke({"messages": [{"role": "user", "content": question(n)}]})
            (record,) = state["eirene"]
            return of_text(n, state["messages"][-1].text, record)

        return _side_by_side(one, rows)


@contextmanager
def _inner(server: FaultServer) -> Iterator[Any]:
    """A model of the caller's own, with connections of its own, and retries as its client makes them."""
    with DefaultHttpxClient() as client:
        yield init_chat_model(
            "openai:test", base_url=server.base_url, api_key=KEY, max_retries=4, timeout=TIMEOUT_S, http_client=client
        )


def of_text(n: int, text: str, record: Mapping[str, Any]) -> Out:
    """What a chat gives: the text that is shown, and the record behind it."""
    return replace(Out.of_record({**record, "id": f"i{n}"}), shown=text)


def _side_by_side(one: Callable[[int], Out], rows: Iterable[int]) -> list[Out]:
    """Each row's, eight at a time; an error that a caller is told is what came out for its row."""

    def told(n: int) -> Out:
        try:
            return one(n)
        except EireneError as error:
            return Out(n, str(error), error=error.kind)
        except Exception as error:  # of the draft's own client, which is the caller's
            raised = traceback.extract_tb(error.__traceback__)[-1].filename
            if "site-packages" not in raised and Path(raised).parent.name != "json":
                raise
            return Out(n, "", error=f"draft: {type(error).__name__}")

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(told, rows))


JOBS: dict[str, tuple[Job, float, int]] = {
    "batch": (batch, 0.69, 500),
    "batch with a jumping clock": (batch_jumping, 0.10, 500),
    "batch with a judge": (partial(batch, parts=judged), 0.05, 200),
    "compare": (compare, 0.04, 200),
    "score": (score, 0.05, 300),
    "check": (check, 0.03, 200),
    "refine": (refine, 0.015, 100),
    "chat model": (chat_model, 0.02, 100),
    "middleware": (middleware, 0.015, 100),
}
"""Each job, with its share of the items and how many of them a part has."""


class Heard(logging.Handler):
    """Keeps what is logged: all of Eirene's, and warnings of others."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Keeps a line."""
        if record.name.startswith("eirene") or record.levelno >= logging.WARNING:
            self.lines.append(self.format(record))

    @classmethod
    @contextmanager
    def all(cls) -> Iterator[Heard]:
        """For as long as it is open."""
        heard, root, ours = cls(), logging.getLogger(), logging.getLogger("eirene")
        level = ours.level
        root.addHandler(heard)
        ours.setLevel(logging.DEBUG)
        try:
            yield heard
        finally:
            root.removeHandler(heard)
            ours.setLevel(level)
