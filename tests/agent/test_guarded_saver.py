"""A checkpointer behind a guard: the same as without it, and left alone by a run that was abandoned."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver

import eirene
from eirene.agent.loop import GuardedSaver
from eirene.text.cancellation import WorkCancelledError, cancel_scope
from tests.agent.loop import BAD, FAULTY, ITEM, ORIGINAL
from tests.scripted_parts import ScriptedRefiner, scripted_parts

CONFIG: Any = {"configurable": {"thread_id": "a", "checkpoint_ns": ""}}


class SyncOnly(InMemorySaver):
    """A checkpointer that is not async, and notes what is done after it was closed; LangGraph makes shallow copies."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = threading.Event()
        self.late: list[str] = []

    async def aget_tuple(self, config: Any) -> Any:
        raise NotImplementedError

    def get_tuple(self, config: Any) -> Any:
        return self._noted("get_tuple", lambda: super(SyncOnly, self).get_tuple(config))

    def put(self, *args: Any) -> Any:
        return self._noted("put", lambda: super(SyncOnly, self).put(*args))

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._noted("put_writes", lambda: super(SyncOnly, self).put_writes(config, writes, task_id, task_path))

    def _noted(self, name: str, call: Callable[[], Any]) -> Any:
        if self.closed.is_set():
            self.late.append(name)
        return call()


class Stuck(ScriptedRefiner):
    """A refiner that holds up its thread until it is let go."""

    def __init__(self) -> None:
        super().__init__([])
        self.begun = threading.Event()
        self.let_go = threading.Event()

    async def refine(self, *_: Any, **__: Any) -> str:
        self.begun.set()
        self.let_go.wait(60)
        return "never shown"


def test_an_abandoned_run_leaves_its_checkpointer_alone() -> None:
    deadline_s = 0.5
    parts = scripted_parts(samples=[FAULTY] * 20, scores={ORIGINAL: BAD})
    while True:
        refiner, saver = Stuck(), SyncOnly()
        stuck = eirene.Parts("x", parts.feedback_model, refiner, parts.detectors)
        record = eirene.refine(ITEM, backend=stuck, deadline_s=deadline_s, checkpointer=saver)
        saver.closed.set()  # as by the end of a `with` around the connection
        refiner.let_go.set()
        _join("eirene-refine")
        assert (record.status, record.answer, saver.late) == ("failed", ORIGINAL, [])
        if refiner.begun.is_set():
            return
        deadline_s *= 2  # on a busy machine it was over before the step began that is to be abandoned


def _join(name: str) -> None:
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join(60)
            assert not thread.is_alive()


def test_settling_waits_for_a_call_that_is_under_way() -> None:
    order, begun, go_on = list[str](), threading.Event(), threading.Event()

    class Slow(InMemorySaver):
        def put(self, *args: Any) -> Any:
            begun.set()
            go_on.wait(60)
            order.append("written")
            return super().put(*args)

    guard = GuardedSaver(Slow())
    put = guard.aput(CONFIG, empty_checkpoint(), {}, {})
    writing = threading.Thread(target=lambda: asyncio.run(put))
    writing.start()
    assert begun.wait(60)
    assert not guard.settle(0.0)
    go_on.set()
    assert guard.settle(60)
    assert order == ["written"]
    writing.join()


async def test_nothing_is_read_or_written_in_a_cancelled_scope() -> None:
    inner = InMemorySaver()
    guard = GuardedSaver(inner)
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: guard.aget_tuple(CONFIG),
        lambda: guard.aput(CONFIG, empty_checkpoint(), {}, {}),
        lambda: guard.aput_writes(CONFIG, [("a", 1)], "task"),
        lambda: guard.aget_delta_channel_history(config=CONFIG, channels=["a"]),
    ]
    with cancel_scope() as scope:
        scope.cancel()
        for call in calls:
            with pytest.raises(WorkCancelledError):
                await call()
    assert not inner.storage
    assert not inner.writes


async def test_older_checkpointers_get_no_task_paths_and_an_allowlist_reaches_all() -> None:
    told: list[Any] = []

    class Older(InMemorySaver):
        def put_writes(self, config: Any, writes: Any, task_id: str) -> None:  # type: ignore[override]
            told.append(task_id)

        def with_allowlist(self, extra_allowlist: Any) -> InMemorySaver:
            told.append(extra_allowlist)
            return self

    guard = GuardedSaver(Older())
    await guard.aput_writes(CONFIG, [], "task", "path")
    assert isinstance(guard.with_allowlist({("eirene", "Item")}), GuardedSaver)
    assert told == ["task", {("eirene", "Item")}]
