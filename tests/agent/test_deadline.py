"""A deadline bounds the work: what overruns is left behind, and the user has the original and the reason in time."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

import eirene
from eirene.core.records import Record
from eirene.text.cancellation import WorkCancelledError, check_cancelled
from tests.agent.loop import BAD, FAULTY, ITEM, ORIGINAL
from tests.rows import each
from tests.scripted_parts import ScriptedRefiner, scripted_parts


class Stuck(ScriptedRefiner):
    """A refiner that does not come back until it is let go, and never looks at the clock."""

    def __init__(self, wait: Callable[[threading.Event], Any]) -> None:
        super().__init__([])
        self._wait = wait
        self.let_go = threading.Event()
        self.came_back = threading.Event()

    async def refine(self, *_: Any, **__: Any) -> str:
        try:
            found = self._wait(self.let_go)
            if asyncio.iscoroutine(found):
                await found
        finally:
            self.came_back.set()
        return "never shown"


def on_the_loop(let_go: threading.Event) -> None:
    let_go.wait(60)


async def in_a_thread(let_go: threading.Event) -> None:
    await asyncio.to_thread(let_go.wait, 60)


async def against_cancelling(let_go: threading.Event) -> None:
    while not let_go.is_set():
        try:
            await asyncio.sleep(0.01)
        except asyncio.CancelledError:
            continue


@contextmanager
def stuck(wait: Callable[[threading.Event], Any]) -> Iterator[tuple[Stuck, eirene.Parts]]:
    parts = scripted_parts(samples=[FAULTY] * 20, scores={ORIGINAL: BAD})
    refiner = Stuck(wait)
    try:
        yield refiner, eirene.Parts("x", parts.feedback_model, refiner, parts.detectors)
    finally:
        refiner.let_go.set()
        assert refiner.came_back.wait(60)


def is_late(record: Record) -> bool:
    assert record.error is not None
    return (record.status, record.error.kind, record.answer) == ("failed", "Deadline", ORIGINAL)


@each(
    "wait, saver",
    [(against_cancelling, None), (in_a_thread, InMemorySaver), (on_the_loop, "sqlite"), (in_a_thread, "sqlite")],
)
def test_refine_comes_back_before_what_overruns(wait: Any, saver: Any) -> None:
    """Also where the step holds up its event loop, or does not let itself be cancelled."""
    with SqliteSaver.from_conn_string(":memory:") as sqlite, stuck(wait) as (refiner, parts):
        checkpointer = sqlite if saver == "sqlite" else saver and saver()
        record = eirene.refine(ITEM, backend=parts, deadline_s=0.3, checkpointer=checkpointer)
        assert not refiner.let_go.is_set()
        assert is_late(record)
        assert len(record.rounds) <= 1


def test_refine_comes_back_inside_a_running_loop_as_well() -> None:
    async def inside(parts: eirene.Parts) -> Record:
        return eirene.refine(ITEM, backend=parts, deadline_s=0.3)

    with stuck(on_the_loop) as (refiner, parts):
        assert is_late(asyncio.run(inside(parts)))
        assert not refiner.let_go.is_set()


async def test_arefine_leaves_a_thread_behind() -> None:
    with stuck(in_a_thread) as (refiner, parts):
        assert is_late(await eirene.arefine(ITEM, backend=parts, deadline_s=0.3))
        assert not refiner.let_go.is_set()


def test_what_was_left_behind_ends_at_its_next_look() -> None:
    ended = threading.Event()

    def work() -> None:
        try:
            while True:
                check_cancelled()
        except WorkCancelledError:
            ended.set()
            raise

    async def computes(_: threading.Event) -> None:
        await asyncio.to_thread(work)

    with stuck(computes) as (_, parts):
        assert is_late(eirene.refine(ITEM, backend=parts, deadline_s=0.3))
        assert ended.wait(60)


def test_the_process_ends_though_a_thread_was_left_behind() -> None:
    script = (
        "import threading, eirene, asyncio\n"
        "from tests.scripted_parts import scripted_parts\n"
        "class Stuck:\n"
        "    name = 'stuck'\n"
        "    async def refine(self, *_, **__): await asyncio.to_thread(threading.Event().wait)\n"
        "parts = scripted_parts()\n"
        "parts = eirene.Parts('x', parts.feedback_model, Stuck(), parts.detectors)\n"
        "print(eirene.refine({'question': '?', 'answer': 'A.'}, backend=parts, mode='improve', deadline_s=0.2).why)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "deadline_s = 0.2" in done.stdout
