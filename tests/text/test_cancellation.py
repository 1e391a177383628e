"""Work that was left behind ends: every long computation looks, between its blocks, whether anybody waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from eirene.agent.check.rows import verified
from eirene.alignment.comparison import compare, place_of
from eirene.alignment.features import WordWeights, overlap
from eirene.core.concurrency import DaemonExecutor, in_thread, run_blocking
from eirene.core.records import parse_item
from eirene.feedback_model.embedded.critic import Draws
from eirene.feedback_model.embedded.evidence import load_critic
from eirene.models.encoder import load_encoder
from eirene.text.cancellation import WorkCancelledError, cancel_scope, check_cancelled
from eirene.text.clauses import units_of
from eirene.text.sentences import split_sentences

ITEM = parse_item(
    {
        "question": "Trams?",
        "answer": "Trams are quiet and buses are cheap.",
        "perspectives": [{"name": "a", "arguments": ["Trams are quiet."]}, {"name": "b", "arguments": ["No rails."]}],
    }
)
ENCODER = load_encoder(cached_texts=0)
SENTENCES = split_sentences(ITEM.answer)
COMPARISON: Any = compare(ITEM, ITEM.answer, ENCODER)
LONG: dict[str, Callable[[], object]] = {
    "encoding": lambda: ENCODER.encode(["a text"]),
    "cutting sentences": lambda: split_sentences(" ".join([ITEM.answer] * 300)),  # too long to be remembered
    "cutting clauses": lambda: units_of(ITEM.answer, SENTENCES),
    "counting words": lambda: overlap(["a tram"], ["a tram"], WordWeights(["a tram"], None)),
    "placing": lambda: place_of(COMPARISON, 0),
    "drawing": lambda: Draws((), 1, 0, load_critic().point).sample(0),
}


@pytest.mark.parametrize("name", LONG)
def test_long_work_ends_once_nobody_waits(name: str) -> None:
    with cancel_scope() as scope:
        LONG[name]()
        scope.cancel()
        with pytest.raises(WorkCancelledError):
            LONG[name]()
    LONG[name]()


def test_a_scope_that_is_left_cancels_those_inside_it_in_threads_too() -> None:
    async def begin() -> asyncio.Future[None]:
        with cancel_scope():
            work = asyncio.ensure_future(asyncio.to_thread(until_cancelled))
            await asyncio.to_thread(begun.wait)
        return work

    def until_cancelled() -> None:
        with cancel_scope():
            begun.set()
            while True:
                check_cancelled()

    async def both() -> None:
        with pytest.raises(WorkCancelledError):
            await (await begin())

    begun = threading.Event()
    asyncio.run(both())


async def test_a_row_that_nobody_waits_for_is_not_verified_to_its_end() -> None:
    begun, left, work = threading.Event(), threading.Event(), list[Future[Any]]()

    class Holding(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            work.append(super().submit(lambda: (begun.set(), left.wait(60), fn(*args, **kwargs))))
            return work[0]

    await verified(ITEM, None)  # what is read from is loaded
    with Holding(1) as executor:
        asyncio.get_running_loop().set_default_executor(executor)
        reading = asyncio.ensure_future(verified(ITEM.model_copy(update={"answer": "Trams are loud."}), None))
        await asyncio.sleep(0)
        assert begun.wait(60)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        left.set()
        assert isinstance(work[0].exception(60), WorkCancelledError)


def test_a_thread_gives_what_its_work_gives() -> None:
    assert in_thread(lambda: 3, name="t") == 3
    with pytest.raises(ZeroDivisionError):
        in_thread(lambda: 1 // 0, name="t")


def test_who_waits_no_longer_cancels_the_coroutine_too() -> None:
    """A call of a model that is under way then is ended rather than paid for."""
    ended = threading.Event()

    async def call() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    with pytest.raises(TimeoutError):
        run_blocking(call, name="t", timeout_s=0.2)
    assert ended.wait(60)


def test_daemon_threads_work_side_by_side_and_are_used_again() -> None:
    executor, barrier = DaemonExecutor(2), threading.Barrier(2)
    meeting = [executor.submit(barrier.wait, 60) for _ in range(2)]
    assert sorted(future.result(60) for future in meeting) == [0, 1]
    names = {executor.submit(lambda: threading.current_thread().name).result(60) for _ in range(20)}
    assert len(names) <= 2
    executor.shutdown()
