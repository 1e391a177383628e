"""`Loop`: the graph over one set of models and settings, run on any number of items; deadline, events, checkpoints."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.types import Command, Durability, StreamMode

from eirene.agent.critics import critique_from_notes
from eirene.agent.ending import late_state
from eirene.agent.graph import Graph, compile_graph, initial_state
from eirene.agent.record import RowHash, failed_record, make_record
from eirene.agent.settings import Settings
from eirene.agent.spans import run_span
from eirene.agent.state import Event, Json, Parts, State
from eirene.core.concurrency import in_thread, off_loop, run_blocking
from eirene.core.errors import InputError
from eirene.core.records import Item, Record, parse_item
from eirene.core.tracing import Tracing, as_tracing
from eirene.core.validation import described
from eirene.text.cancellation import cancel_scope, check_cancelled
from eirene.text.sentences import split_sentences

OnEvent = Callable[[Event], None]
OnState = Callable[[State], None]
ItemLike = Item | Mapping[str, Any]

T = TypeVar("T")

SLACK_S = 0.5
"""Seconds beyond a deadline after which nobody waits any more for the event loop that should have seen it."""


class Loop:
    """Critique, rewrite, re-score, accept or keep: compiled once for `parts` and `settings`, then run on many items.

    `checkpointer`: one of LangGraph's, which keeps each run under a thread; `"inherited"`: that of the graph in whose
    node the loop runs; without one nothing is kept. With `review` a run stops for a person before the rewriting, which
    takes one of the two. `tracing` has runs make OpenTelemetry spans (docs/guides/tracing.md). Safe to share between
    tasks and threads, as far as the parts are.

    Raises `InputError` for what is no checkpointer, for parts that lack a critic that the settings ask for, and for a
    review in a mode that has no critique.

    Examples:
        >>> import eirene
        >>> loop = eirene.Loop(eirene.resolve_backend("embedded"), eirene.Settings(samples=4))
        >>> loop.run({"question": "Is homework useful?", "answer": "It depends."}).status
        'not_checked'
    """

    def __init__(
        self,
        parts: Parts,
        settings: Settings | None = None,
        *,
        checkpointer: BaseCheckpointSaver[Any] | Literal["inherited"] | None = None,
        review: bool = False,
        tracing: Tracing | bool = False,
    ) -> None:
        given: object = checkpointer  # whatever a caller gave
        if not (given is None or given == "inherited" or isinstance(given, BaseCheckpointSaver)):
            said = f"checkpointer must be one of LangGraph's, such as InMemorySaver(), got {described(checkpointer)}"
            raise InputError(said, field="checkpointer")
        if review and checkpointer is None:
            raise InputError("a review takes a checkpointer, such as InMemorySaver()", field="checkpointer")
        self.parts = parts
        self.settings = Settings() if settings is None else settings
        self._saver = None if isinstance(checkpointer, str) else checkpointer
        self._review = review
        self.tracing = as_tracing(tracing)
        if checkpointer is None:
            self.graph: Graph = _without_checkpoints(parts)(self.settings)
        else:
            self.graph = compile_graph(parts, self.settings, checkpointer=self._saver, review=review)

    async def arun(
        self,
        item: ItemLike,
        *,
        on_event: OnEvent | None = None,
        on_state: OnState | None = None,
        thread_id: str | None = None,
        seed: int | None = None,
        deadline_s: float | None = None,
        config: RunnableConfig | None = None,
    ) -> Record:
        """The record of one item, or of a mapping of its fields.

        `on_event` is told each `Event`, `on_state` the state after each step. `thread_id` names the checkpointer's
        thread (default: the item's id). `seed` and `deadline_s` take the place of the settings'. `config` is
        LangChain's: its callbacks, tags, metadata and `run_name` are those of the run.

        Raises `InputError` for an item that cannot be run, and for a checkpointer that only `run` can use. Whatever
        fails after that ends in a record with status `failed` and the original answer.
        """
        item = self.checked(item)
        if self._saver is not None and not await _is_async(self._saver):
            raise InputError(
                f"{type(self._saver).__name__} works in code that is not async; take its async form, or eirene.refine",
                field="checkpointer",
            )
        start = self.start(item, seed=seed)
        thread = None if self._saver is None else thread_id or item.id
        state = await self.ainvoke(
            start, thread_id=thread, deadline_s=deadline_s, on_event=on_event, on_state=on_state, config=config
        )
        return await off_loop(lambda: self.record(state), characters=len(item.answer))

    def run(
        self,
        item: ItemLike,
        *,
        on_event: OnEvent | None = None,
        thread_id: str | None = None,
        config: RunnableConfig | None = None,
    ) -> Record:
        """`arun` for callers that are not async, inside a running event loop as well; any checkpointer will do.

        It works on an event loop of its own, in a thread in which `on_event` is called too. The deadline holds even
        where that loop stands still (a model or a detector may work without ever waiting): past it the thread is left
        behind, whatever it is at, and uses the checkpointer no more.
        """
        item = self.checked(item)
        start, thread = self.start(item), None if self._saver is None else thread_id or item.id
        reached, limit_s, told = [cast(State, start)], self.settings.deadline_s, self.config(thread, config)
        guard = None if self._saver is None else GuardedSaver(self._saver)

        async def work() -> State:
            graph = self.graph
            if guard is not None and not await _is_async(guard.saver):
                graph = compile_graph(self.parts, self.settings, checkpointer=guard, review=self._review)
            return await self._reached(start, told, graph=graph, on_event=on_event, on_state=reached.append)

        with self._span(start, thread) as ended:
            try:
                state = run_blocking(work, name="eirene-refine", timeout_s=limit_s + SLACK_S)
            except TimeoutError:
                state = late_state(reached[-1], limit_s)
            finally:
                if guard is not None:
                    guard.settle(SLACK_S)
            return self.record(ended(state))

    def start(self, item: ItemLike, *, seed: int | None = None) -> Json:
        """The state in which a run of the item begins. Raises `InputError` for a row that is none."""
        return initial_state(item, self.settings.seed if seed is None else seed)

    def record(self, state: State) -> Record:
        """The record of a run that has ended; raises `InputError` for one that still waits for a review."""
        return make_record(state, parts=self.parts, settings=self.settings.model_copy(update={"seed": state["seed"]}))

    def failed(self, item: Item, error: Exception) -> Record:
        """The record of an item that could not be run at all, and why: status `failed`, the original answer."""
        return failed_record(item, error, parts=self.parts, settings=self.settings)

    def late(self, item: Item, *, deadline_s: float, seed: int | None = None) -> Record:
        """The record of an item for whose run nobody waits any more: failed at the deadline."""
        return self.record(late_state(cast(State, self.start(item, seed=seed)), deadline_s))

    def row_hash(self, item: Item) -> str:
        """16 hex digits for the item, every setting, the models and prompts: the key by which a finished row is found
        again.
        """
        return self._hashes.of(item)

    @functools.cached_property
    def _hashes(self) -> RowHash:
        return RowHash(self.parts, self.settings)

    async def ainvoke(
        self,
        start: Json | Command[Any] | None,
        *,
        thread_id: str | None = None,
        before: State | None = None,
        deadline_s: float | None = None,
        on_event: OnEvent | None = None,
        on_state: OnState | None = None,
        config: RunnableConfig | None = None,
    ) -> State:
        """The state in which a run ends or waits; past the deadline the last one reached, marked as failed.

        `start` comes from `start`, or is what a thread goes on with from the state `before`; the deadline counts from
        here. What runs beside the event loop by then is left behind.
        """
        told = self.config(thread_id, config)
        with self._span(start if before is None else before, thread_id) as ended:
            reached = self._reached(
                start, told, before=before, deadline_s=deadline_s, on_event=on_event, on_state=on_state
            )
            return ended(await reached)

    async def _reached(
        self,
        start: Json | Command[Any] | None,
        config: RunnableConfig,
        *,
        graph: Graph | None = None,
        before: State | None = None,
        deadline_s: float | None = None,
        on_event: OnEvent | None = None,
        on_state: OnState | None = None,
    ) -> State:
        state = cast(State, start) if before is None else before
        limit_s = self.settings.deadline_s if deadline_s is None else deadline_s
        # A thread is on disk before the next step begins: what a person wrote is not lost to a power cut.
        durability: Durability | None = None if before is None else "sync"
        # Events that nobody listens to are not even made: twenty of them a vote are a tenth of a quick run.
        modes: list[StreamMode] = ["values"] if on_event is None else ["custom", "values"]
        try:
            async with asyncio.timeout(limit_s):
                with cancel_scope():  # tells threads that are still at work when the graph is done with
                    async for kind, value in (graph or self.graph).astream(
                        cast(State, start), config, stream_mode=modes, durability=durability
                    ):
                        if kind == "values" and "item" in value:  # not the news of an interrupt
                            state = cast(State, value)
                            if on_state is not None:
                                on_state(state)
                        elif kind == "custom" and on_event is not None:
                            on_event(cast(Event, value))
        except TimeoutError:
            return late_state(state, limit_s)
        return state

    def invoke(self, start: Json) -> State:
        """`ainvoke` in a node of a graph that is not async, whose checkpointer may not be either."""
        reached, limit_s = [cast(State, start)], self.settings.deadline_s

        def work() -> None:
            for state in self.graph.stream(cast(State, start), self.config(), stream_mode="values"):
                check_cancelled()
                if "item" in state:
                    reached.append(cast(State, state))

        with self._span(start, None) as ended:
            try:
                in_thread(work, name="eirene-refine", timeout_s=limit_s, grace_s=SLACK_S)
            except TimeoutError:
                return ended(late_state(reached[-1], limit_s))
            return ended(reached[-1])

    def config(self, thread_id: str | None = None, given: RunnableConfig | None = None) -> RunnableConfig:
        """LangGraph's configuration of a run: what a caller gave, with the loop's limit and thread.

        Raises `InputError` for what is no configuration.
        """
        told: object = given  # whatever a caller gave
        if not isinstance(told, Mapping | None):
            said = f"config must be a mapping such as {{'callbacks': [...], 'tags': [...]}}, got {described(told)}"
            raise InputError(said, field="config")
        config: RunnableConfig = {**(given or {}), "recursion_limit": self.settings.recursion_limit}
        if thread_id is not None:
            config["configurable"] = {**config.get("configurable", {}), "thread_id": thread_id}
        return config

    def _span(self, state: Any, thread_id: str | None) -> AbstractContextManager[Callable[[State], State]]:
        return run_span(state, self.parts, self.settings, tracing=self.tracing, thread_id=thread_id)

    def checked(self, item: ItemLike) -> Item:
        """The item, once everything that a caller may get wrong was looked at, while nothing has been spent.

        Raises `InputError` for a row that is none, and for notes of a person that do not fit its answer.
        """
        item = parse_item(item)
        if self.settings.mode == "human":
            critique_from_notes(item, split_sentences(item.answer), needed=not self._review)
        return item


class GuardedSaver(BaseCheckpointSaver[Any]):
    """The async face of a checkpointer of LangGraph's without one: each call holds up the event loop.

    Inside a scope that was cancelled nothing is read or written any more (`WorkCancelledError`). `settle`, after the
    cancelling, waits for what is under way: from then on the run leaves the checkpointer alone. Its caller may close
    the connection then, and a SQLite connection that is closed during a write takes the whole process with it.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], *, lock: threading.Lock | None = None) -> None:
        super().__init__(serde=saver.serde)
        self.saver = saver
        self._lock = threading.Lock() if lock is None else lock
        self._takes_path = "task_path" in inspect.signature(saver.put_writes).parameters

    def settle(self, timeout_s: float) -> bool:
        """Waits for the call that is under way, if any. False where it has not ended in time."""
        has_ended = self._lock.acquire(timeout=timeout_s)
        if has_ended:
            self._lock.release()
        return has_ended

    @property
    def config_specs(self) -> list[Any]:
        """Those of the checkpointer."""
        return self.saver.config_specs

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.get_tuple(config))

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, new_versions: Any
    ) -> RunnableConfig:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """The checkpointer's, while the run is waited for. Older ones take no `task_path`."""
        path = [task_path] if self._takes_path else []
        self._guarded(lambda: self.saver.put_writes(config, writes, task_id, *path))

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """The checkpointer's, while the run is waited for."""
        return self._guarded(lambda: self.saver.get_delta_channel_history(config=config, channels=channels))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The checkpointer's, which only computes."""
        return self.saver.get_next_version(current, channel)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> BaseCheckpointSaver[Any]:
        """The same over the checkpointer with the allowlist."""
        return GuardedSaver(self.saver.with_allowlist(extra_allowlist), lock=self._lock)

    def _guarded(self, call: Callable[[], T]) -> T:
        with self._lock:
            check_cancelled()
            return call()


@functools.lru_cache(maxsize=1)  # graphs hold the parts' models: those of earlier parts may not fit beside these
def _without_checkpoints(parts: Parts) -> Callable[[Settings], Graph]:
    """Compiling takes longer than a round of the graph itself, and callers make many loops of the same parts.

    No checkpoints, not even those of a graph in whose node this runs.
    """
    return functools.lru_cache(maxsize=64)(functools.partial(compile_graph, parts, checkpointer=False))


async def _is_async(checkpointer: BaseCheckpointSaver[Any]) -> bool:
    """Whether the checkpointer is for async code: those that are not have the methods all the same, which refuse."""
    try:
        await checkpointer.aget_tuple({"configurable": {"thread_id": "", "checkpoint_ns": ""}})
    except NotImplementedError:
        return False
    return True
