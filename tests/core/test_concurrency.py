"""Work side by side: no more than there is room for, None waits, a fault is told when the others have ended."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator

import pytest

from eirene.core.concurrency import in_thread, run_bounded
from eirene.text.cancellation import WorkCancelledError, check_cancelled


class Trial:
    """Pieces n that take n turns of the event loop; negative ones raise at their end."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self.now = self.most = 0

    def run(self, pieces: Iterable[int | None], *, room: int) -> list[int]:
        async def pull() -> None:
            async for one in run_bounded(pieces, self.do, room=lambda: room):
                self.came.append(one)

        asyncio.run(pull())
        return self.came

    async def do(self, n: int) -> int:
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(abs(n)):
            await asyncio.sleep(0)
        self.now -= 1
        if n < 0:
            raise ValueError(n)
        return n


def test_pieces_come_as_they_end_and_room_is_kept() -> None:
    """A long piece holds up nobody."""
    trial = Trial()
    assert trial.run([50, 1, 2, 1], room=2) == [1, 2, 1, 50]
    assert trial.most == 2


def test_none_waits_for_something_that_is_under_way() -> None:
    """The work is asked again when an outcome was yielded; there is room, and nothing more is begun."""
    trial = Trial()

    def work() -> Iterator[int | None]:
        for n in (1, 2, 3):
            while len(trial.came) < n - 1:
                yield None
            yield n

    assert trial.run(work(), room=3) == [1, 2, 3]
    assert trial.most == 1


def test_what_is_under_way_is_finished_before_a_fault_is_told() -> None:
    """A piece that raises, and work that does, end the pulling and nothing that was begun."""
    trial = Trial()
    with pytest.raises(ValueError, match="-1"):
        trial.run([5, -1, 5, 7], room=3)
    assert trial.came == [5, 5]

    def work() -> Iterator[int | None]:
        yield 3
        raise OSError("gone")

    trial = Trial()
    with pytest.raises(OSError, match="gone"):
        trial.run(work(), room=2)
    assert trial.came == [3]


def test_work_that_is_abandoned_is_given_time_to_end() -> None:
    """What it uses may then be closed: after the error no thread touches it any more."""
    told = threading.Event()

    def work() -> None:
        try:
            while True:
                check_cancelled()
        except WorkCancelledError:
            told.set()
            raise

    with pytest.raises(TimeoutError):
        in_thread(work, name="left-behind", timeout_s=0.0, grace_s=60.0)
    assert told.is_set()
