"""The service behind the routes: model names, queue, runs, counts, the worker loop, and the end of all that."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar, get_args

from langchain_core.messages import AIMessage, HumanMessage, convert_to_messages

from eirene.agent.loop import SLACK_S
from eirene.agent.server.access import Metrics, ServeOptions
from eirene.agent.server.answers import status_of
from eirene.agent.server.engine import Answer, ChatTask, Engine, Progress
from eirene.agent.server.errors import ApiError, from_input, timed_out
from eirene.agent.server.messages import draft_in, to_langchain
from eirene.agent.server.protocol import ChatRequest, EditsRequest, RunRequest, ServedMode, parse_body
from eirene.agent.server.result import OnRunEvent, RunEvent
from eirene.agent.server.runs import Runs, ServerRun, as_json, ended_run
from eirene.core.concurrency import DaemonExecutor, usable_cores
from eirene.core.errors import InputError
from eirene.core.findings.edits import apply_findings
from eirene.core.history import HistoryTurn
from eirene.core.logs import get_logger

logger = get_logger(__name__)

PREFIX = "refine/"
DRAFT = "draft/"
"""Stands before the name of the model whose replies are passed on unrefined."""
_SERVED: dict[str, ServedMode] = {mode: mode for mode in get_args(ServedMode)}
_CLOSE_S = 1.0
"""Seconds for the other loop to close its connections at the end."""

T = TypeVar("T")


class WorkerLoop:
    """A second event loop, in a thread of its own, for the work of requests: what holds it up holds up no connection.

    Models and detectors compute on their event loop now and then. On the one that serves connections no request would
    be read meanwhile, not even one for `/healthz`. It starts with the first work and ends with `close`; the end of the
    process does not wait for it.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What the coroutine gives, run in the other loop. Cancelled here it is cancelled there, and not waited for."""
        if self._loop is None:
            ready = threading.Event()
            self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),), name="work", daemon=True)
            self._thread.start()
            ready.wait()
        assert self._loop is not None
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def close(self, *, within_s: float) -> None:
        """Cancels what is under way and waits for its end, as long as `within_s`."""
        if self._loop is None or self._stop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        await asyncio.to_thread(self._thread.join, within_s)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        self._loop.set_default_executor(DaemonExecutor(usable_cores()))
        ready.set()
        await self._stop.wait()


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
        self._waiting += 1
        try:
            with self._metrics.waiting.track_inprogress():
                async with asyncio.timeout_at(deadline):
                    await self._places.acquire()
        except TimeoutError:
            raise timed_out(timeout_s) from None
        finally:
            self._waiting -= 1
        began = clock()
        try:
            with self._metrics.in_flight.track_inprogress():
                yield
        finally:
            self._seconds += 0.1 * (clock() - began - self._seconds)
            self._places.release()


class Service:
    """One server's engine, limits and memory. Raises `InputError` for a file of runs that cannot be written."""

    def __init__(self, engine: Engine, options: ServeOptions) -> None:
        self.engine, self.options = engine, options
        self.runs = Runs(keep=options.keep_runs, keep_bytes=options.keep_bytes, path=options.runs)
        self.metrics = Metrics()
        self._stops_at: float | None = None
        self._admission = Admission(concurrency=options.concurrency, queue=options.queue, metrics=self.metrics)
        self._under_way: dict[str, asyncio.Task[None]] = {}
        self._worker = WorkerLoop()

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
        if rest not in (self.engine.model, self.engine.full_name):
            raise self._no_model(model)
        return mode

    @property
    def default_mode(self) -> ServedMode:
        """What a plain name stands for."""
        return _SERVED[self.engine.settings.mode]

    def _no_model(self, model: str) -> ApiError:
        known = ", ".join(self.models)
        return ApiError(
            404, f"the model {model[:200]!r} does not exist; known: {known}", code="model_not_found", param="model"
        )

    def chat_task(self, data: bytes) -> tuple[ChatRequest, ChatTask]:
        """The request in a body, and what it asks for; raises `ApiError`."""
        request = parse_body(data, ChatRequest)
        messages = to_langchain([message.model_dump(exclude_unset=True) for message in request.messages])
        n, seed = request.n or 1, request.seed
        if request.model.startswith(DRAFT) and self.engine.upstream is not None:
            name = request.model.removeprefix(DRAFT)
            if name.startswith(PREFIX):
                raise self._no_model(request.model)
            mode = self.mode_of(name)
            return request, ChatTask(tuple(messages), mode, n=n, seed=seed, request=request, refines=False)
        mode = self.mode_of(request.model)
        draft = draft_in(messages)
        if draft is not None and not str(draft.text).strip() and not draft.additional_kwargs.get("refusal"):
            raise ApiError(400, "the assistant's answer to refine is blank", param="messages", code="invalid_value")
        before = messages if draft is None else messages[:-1]
        return request, ChatTask(tuple(before), mode, draft, request.given, n, seed, request)

    def run_task(self, request: RunRequest) -> ChatTask:
        """What a request of the page asks for; raises `ApiError`."""
        draft = None if request.answer is None else AIMessage(content=request.answer)
        mode = self.default_mode if request.mode is None else request.mode
        if mode not in self.served:
            known = ", ".join(self.served)
            raise ApiError(400, f"mode {mode} is not served here; known: {known}", param="mode", code="invalid_value")
        before = convert_to_messages([_message(turn) for turn in request.history or ()])
        messages = (*before, HumanMessage(content=request.question))
        return ChatTask(messages, mode, draft, request.given, seed=request.seed)

    async def perform(self, run: ServerRun, task: ChatTask, *, live: bool = False) -> Answer:
        """Answers a task in its turn and keeps the run. Raises `ApiError`; `live` tells of every step."""
        deadline = asyncio.get_running_loop().time() + self.options.timeout_s
        try:
            async with self._admission.place(deadline=deadline, timeout_s=self.options.timeout_s):
                if live:
                    run.tell({"kind": "started", "drafts": task.draft is None})
                answer = await self._answered(task, deadline, _reporting(run) if live else None)
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

    async def _answered(self, task: ChatTask, deadline: float, tell: OnRunEvent | None) -> Answer:
        """The engine's answer, made in the other loop; past the deadline what there is, whatever that loop is at."""
        progress, limit_s = Progress(), self.options.timeout_s
        work = self.engine.answer(task, deadline=deadline, timeout_s=limit_s, tell=tell, progress=progress)
        try:
            async with asyncio.timeout_at(deadline + SLACK_S):
                return await self._worker.run(work)
        except TimeoutError:
            return await asyncio.to_thread(self.engine.overdue, task, progress, timeout_s=limit_s)

    def edited(self, request: EditsRequest) -> dict[str, Any]:
        """A text with edits made as mode edit makes them, and which found no place. Raises `ApiError`."""
        findings = [asked.finding for asked in request.findings]
        try:
            made = apply_findings(request.text, findings, removal=self.engine.settings.removal)
        except InputError as error:
            raise from_input(error) from None
        skipped = [n for n, finding in enumerate(findings) if any(finding is other for other in made.skipped)]
        return {"text": made.text, "skipped": skipped}

    def begin(self, model: str, task: ChatTask) -> ServerRun:
        """A new run, to be performed."""
        return self.runs.begin(model=model, mode=task.mode, question=_question(task))

    def start(self, task: ChatTask) -> ServerRun:
        """Begins a run apart from the request that asked for it; who wants to may watch."""
        if len(self._under_way) >= self.options.concurrency + self.options.queue:
            raise ApiError(429, "the server is busy", code="server_busy", retry_after_s=5)
        run = self.begin(self.engine.model, task)

        async def work() -> None:
            try:
                await self.perform(run, task, live=True)
            except ApiError as error:
                logger.info("%s: %d", run.id, error.status)

        run.tell({"kind": "queued"})
        background = asyncio.create_task(work(), name=run.id)
        self._under_way[run.id] = background
        background.add_done_callback(self._done)
        return run

    async def cancel(self, run: ServerRun) -> None:
        """Ends a run that `start` began, and waits for its end; one that has ended stays as it is.

        Raises `ApiError` 409 for a chat: that ends when its client goes away.
        """
        task = self._under_way.get(run.id)
        if task is None:
            if run.state == "running":
                said = "this run answers a chat; it ends when the chat's client closes its connection"
                raise ApiError(409, said, code="not_cancellable", param="run_id")
            return
        task.cancel()
        await asyncio.wait([task])

    def stop(self) -> float | None:
        """From now on the grace runs out; the seconds that it has, None for no bound."""
        self._stops_at = time.monotonic() + self.options.grace_s
        return self.options.grace_s if math.isfinite(self.options.grace_s) else None

    async def close(self) -> None:
        """Waits for the runs that nobody's request holds, for what is left of the grace, and ends the rest."""
        if self._under_way:
            left = self.options.grace_s if self._stops_at is None else max(0.0, self._stops_at - time.monotonic())
            timeout = left if math.isfinite(left) else None
            _, late = await asyncio.wait(set(self._under_way.values()), timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        await self._worker.close(within_s=_CLOSE_S)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._under_way.pop(task.get_name(), None)
        if not task.cancelled() and task.exception() is not None:
            logger.error("%s failed: %s", task.get_name(), type(task.exception()).__name__, exc_info=task.exception())

    def _count(self, answer: Answer, mode: str) -> None:
        self.metrics.spent(answer.usage)
        for choice in answer.choices:
            self.metrics.outcome(status_of(choice), mode)


def _finished(run: ServerRun, answer: Answer) -> bytes:
    told = {key: [getattr(c, key[:-1]) for c in answer.choices] for key in ("records", "items")}
    why = [c.why for c in answer.choices]
    return ended_run(run, "done", status=status_of(answer.choices[0]), **told, why=why)


def _reporting(run: ServerRun) -> OnRunEvent:
    """Tells a run from the other loop's thread, in which the JSON is made as well."""
    loop = asyncio.get_running_loop()

    def tell(event: RunEvent) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(run.add, as_json(event))

    return tell


def _message(turn: HistoryTurn) -> dict[str, str]:
    """A turn as a chat message. What a tool returned names the call that it answers, whatever that was."""
    return {**turn.model_dump(), **({"tool_call_id": "call"} if turn.role == "tool" else {})}


def _question(task: ChatTask) -> str:
    """The start of the last question, for a list."""
    asked: list[Any] = [m.text for m in task.messages if isinstance(m, HumanMessage)]
    return " ".join(str(asked[-1]).split())[:200] if asked else ""
