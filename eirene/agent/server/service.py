"""What stands between the routes and the engine: model names, places, runs, counts.

Lets so many chats run at a time and so many wait; the rest is told to come back.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage

from eirene.agent.loop import SLACK_S
from eirene.agent.server.answers import status_of
from eirene.agent.server.engine import Answer, Engine, Progress, Task
from eirene.agent.server.errors import ApiError, from_input, timed_out
from eirene.agent.server.grace import Grace
from eirene.agent.server.metrics import Metrics
from eirene.agent.server.options import ServeOptions
from eirene.agent.server.protocol import ChatRequest, EditsRequest, RunRequest, ServedMode, draft_in, to_langchain
from eirene.agent.server.run import Run, as_json, ended_run
from eirene.agent.server.runs import Runs
from eirene.agent.server.watching import News, Tell
from eirene.agent.server.worker_loop import WorkerLoop
from eirene.core.errors import InputError
from eirene.core.findings.edits import apply_findings
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record


class Admission:
    """A bounded queue before a bounded number of places."""

    def __init__(self, *, concurrency: int, queue: int, metrics: Metrics) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._concurrency = concurrency
        self._queue = queue
        self._metrics = metrics
        self._waiting = 0
        self._seconds = 1.0  # that a chat takes, as a moving mean: how long a client is asked to wait

    @asynccontextmanager
    async def place(self, *, deadline: float, timeout_s: float) -> AsyncIterator[None]:
        """Holds a place. Raises `ApiError` 429 where the queue is full, 504 where none is free before the deadline."""
        clock = asyncio.get_running_loop().time
        if self._places.locked() and self._waiting >= self._queue:
            raise ApiError(
                429,
                f"the server is busy: {self._concurrency} chats are under way and {self._waiting} wait",
                code="server_busy",
                retry_after_s=self._seconds * (1 + self._waiting / self._concurrency),
            )
        await self._wait(deadline, timeout_s)
        began = clock()
        self._metrics.in_flight.inc()
        try:
            yield
        finally:
            self._metrics.in_flight.dec()
            self._seconds += 0.1 * (clock() - began - self._seconds)
            self._places.release()

    async def _wait(self, deadline: float, timeout_s: float) -> None:
        self._waiting += 1
        self._metrics.waiting.inc()
        try:
            async with asyncio.timeout_at(deadline):
                await self._places.acquire()
        except TimeoutError:
            raise timed_out(timeout_s) from None
        finally:
            self._waiting -= 1
            self._metrics.waiting.dec()


logger = get_logger(__name__)

PREFIX = "refine/"
DRAFT = "draft/"
"""Stands before the name of the model whose replies are passed on unrefined."""
_SERVED: dict[str, ServedMode] = {
    "improve": "improve", "generic": "generic", "fine-grained": "fine-grained", "edit": "edit"
}  # fmt: skip
_CLOSE_S = 1.0
"""Seconds for the other loop to close its connections at the end."""
RenderPage = Callable[[Record, Item], str]
"""Makes a web page of a record."""


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One server's engine, limits and memory."""

    engine: Engine
    options: ServeOptions
    runs: Runs
    metrics: Metrics
    admission: Admission
    under_way: set[asyncio.Task[None]]
    worker: WorkerLoop
    grace: Grace

    @classmethod
    def of(cls, engine: Engine, options: ServeOptions) -> Service:
        """With everything else made anew. Raises `InputError` for a file of runs that cannot be written."""
        metrics = Metrics()
        runs = Runs(keep=options.keep_runs, keep_bytes=options.keep_bytes, path=options.runs)
        admission = Admission(concurrency=options.concurrency, queue=options.queue, metrics=metrics)
        return cls(engine, options, runs, metrics, admission, set(), WorkerLoop(), Grace(options.grace_s))

    @property
    def models(self) -> list[str]:
        """The names that clients may ask for: the model alone has the server's own mode."""
        model = self.engine.model
        drafts = [] if self.engine.upstream is None else [f"{DRAFT}{model}"]
        return [model, *(f"{PREFIX}{mode}/{model}" for mode in self.served), *drafts]

    @property
    def served(self) -> tuple[ServedMode, ...]:
        """The modes that may be asked for: edit where a critic names edits."""
        with_edits = self.engine.settings.critic != "completeness"
        return tuple(mode for mode in _SERVED.values() if mode != "edit" or with_edits)

    def mode_of(self, model: str) -> ServedMode:
        """The mode that a model's name stands for. Raises `ApiError` 404 for a name that is not served."""
        rest, mode = model, self.default_mode
        if model.startswith(PREFIX):
            named, _, rest = model.removeprefix(PREFIX).partition("/")
            if named not in self.served:
                raise self._no_model(model)
            mode = _SERVED[named]
        if rest not in (self.engine.model, self._full_name):
            raise self._no_model(model)
        return mode

    @property
    def default_mode(self) -> ServedMode:
        """What a plain name stands for."""
        return _SERVED[self.engine.settings.mode]

    @property
    def _full_name(self) -> str:
        upstream = self.engine.upstream
        return self.engine.parts.backend if upstream is None else upstream.name

    def _no_model(self, model: str) -> ApiError:
        known = ", ".join(self.models)
        return ApiError(
            404, f"the model {model[:200]!r} does not exist; known: {known}", code="model_not_found", param="model"
        )

    def chat_task(self, request: ChatRequest) -> Task:
        """What a chat request asks for; raises `ApiError`."""
        messages = to_langchain(request.messages)
        if request.model.startswith(DRAFT) and self.engine.upstream is not None:
            name = request.model.removeprefix(DRAFT)
            if name.startswith(PREFIX):
                raise self._no_model(request.model)
            return Task(
                tuple(messages), self.mode_of(name), n=request.n or 1, seed=request.seed, request=request, refines=False
            )
        mode = self.mode_of(request.model)
        draft = draft_in(messages)
        if draft is not None and not str(draft.text).strip() and not draft.additional_kwargs.get("refusal"):
            raise ApiError(400, "the assistant's answer to refine is blank", param="messages", code="invalid_value")
        before = messages if draft is None else messages[:-1]
        return Task(tuple(before), mode, draft, request.given, request.n or 1, request.seed, request)

    def run_task(self, request: RunRequest) -> Task:
        """What a request of the page asks for; raises `ApiError`."""
        draft = None if request.answer is None else AIMessage(content=request.answer)
        mode = self.default_mode if request.mode is None else request.mode
        if mode not in self.served:
            known = ", ".join(self.served)
            raise ApiError(400, f"mode {mode} is not served here; known: {known}", param="mode", code="invalid_value")
        return Task((HumanMessage(content=request.question),), mode, draft, request.given, seed=request.seed)

    async def perform(self, run: Run, task: Task, *, live: bool = False) -> Answer:
        """Answers a task in its turn and keeps the run. Raises `ApiError`; `live` tells of every step."""
        deadline = asyncio.get_running_loop().time() + self.options.timeout_s
        try:
            async with self.admission.place(deadline=deadline, timeout_s=self.options.timeout_s):
                answer = await self._answered(task, deadline, _teller(run) if live else None)
            data = await asyncio.to_thread(_finished, run, answer)
        except ApiError as error:
            await self.runs.finish(run, "failed", status=error.code or "error", **error.body)
            raise
        except asyncio.CancelledError:
            await self.runs.finish(run, "cancelled", status="cancelled")
            raise
        except Exception:
            await self.runs.finish(run, "failed", status="internal_error")
            raise
        self._count(answer, task.mode)
        await self.runs.finish(run, "done", status=status_of(answer.choices[0]), data=data)
        return answer

    async def _answered(self, task: Task, deadline: float, tell: Tell | None) -> Answer:
        """The engine's answer, made in the other loop; past the deadline what there is, whatever that loop is at."""
        progress = Progress()
        work = functools.partial(
            self.engine.answer, task, deadline=deadline, timeout_s=self.options.timeout_s, tell=tell, progress=progress
        )
        try:
            async with asyncio.timeout_at(deadline + SLACK_S):
                return await self.worker.run(work)
        except TimeoutError:
            return await asyncio.to_thread(self.engine.overdue, task, progress, timeout_s=self.options.timeout_s)

    def edited(self, request: EditsRequest) -> dict[str, Any]:
        """A text with edits made as mode edit makes them, and which found no place. Raises `ApiError`."""
        findings = [asked.finding for asked in request.findings]
        try:
            made = apply_findings(request.text, findings, removal=self.engine.settings.removal)
        except InputError as error:
            raise from_input(error) from None
        skipped = [n for n, finding in enumerate(findings) if any(finding is other for other in made.skipped)]
        return {"text": made.text, "skipped": skipped}

    def begin(self, model: str, task: Task) -> Run:
        """A new run, to be performed."""
        return self.runs.begin(model=model, mode=task.mode, question=_question(task))

    def start(self, task: Task) -> Run:
        """Begins a run apart from the request that asked for it; who wants to may watch."""
        if len(self.under_way) >= self.options.concurrency + self.options.queue:
            raise ApiError(429, "the server is busy", code="server_busy", retry_after_s=5)
        run = self.begin(self.engine.model, task)

        async def work() -> None:
            try:
                await self.perform(run, task, live=True)
            except ApiError as error:
                logger.info("%s: %d", run.id, error.status)

        background = asyncio.create_task(work(), name=run.id)
        self.under_way.add(background)
        background.add_done_callback(self._done)
        return run

    async def close(self) -> None:
        """Waits for the runs that nobody's request holds, for what is left of the grace, and ends the rest."""
        if self.under_way:
            _, late = await asyncio.wait(set(self.under_way), timeout=self.grace.left_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self.worker.close(within_s=_CLOSE_S)

    def _done(self, task: asyncio.Task[None]) -> None:
        self.under_way.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s failed: %s", task.get_name(), type(task.exception()).__name__, exc_info=task.exception())

    def _count(self, answer: Answer, mode: str) -> None:
        self.metrics.spent(answer.usage)
        for choice in answer.choices:
            self.metrics.outcome(status_of(choice), mode)


def _finished(run: Run, answer: Answer) -> bytes:
    told = {key: [getattr(c, key[:-1]) for c in answer.choices] for key in ("records", "items")}
    why = [c.why for c in answer.choices]
    return ended_run(run, "done", status=status_of(answer.choices[0]), **told, why=why)


def _teller(run: Run) -> Tell:
    """Tells a run from the other loop's thread, in which the JSON is made as well."""
    loop = asyncio.get_running_loop()

    def tell(news: News) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(run.add, as_json(news))

    return tell


def _question(task: Task) -> str:
    """The start of the last question, for a list."""
    asked: list[Any] = [m.text for m in task.messages if isinstance(m, HumanMessage)]
    return " ".join(str(asked[-1]).split())[:200] if asked else ""
