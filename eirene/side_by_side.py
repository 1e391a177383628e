"""Work done side by side: as many pieces under way as there is room for, each pulled when its place is free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from typing import Any, TypeVar

_W = TypeVar("_W")
_R = TypeVar("_R")


async def side_by_side(
    work: Iterable[_W | None], do: Callable[[_W], Coroutine[Any, Any, _R]], *, room: Callable[[], int]
) -> AsyncGenerator[_R, None]:
    """Yields what `do` makes of each piece, as the pieces end; no more than `room()` of them are under way.

    None among the work: no more until something has been yielded; it must not come while nothing is under way. Where a
    piece, or the work itself, raises, those under way are finished and yielded, and then it is raised. Closing the
    generator, or cancelling the task that waits for it, ends what is under way at once.
    """
    waiting = iter(work)
    under_way: set[asyncio.Task[_R]] = set()
    fault: BaseException | None = None
    try:
        while True:
            if fault is None:
                try:
                    _fill(under_way, waiting, do, room)
                except Exception as error:  # the work's own, such as a file that is gone: told when all is finished
                    fault = error
            if not under_way:
                break
            done, under_way = await asyncio.wait(under_way, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                fault = fault or task.exception()
                if task.exception() is None:
                    yield task.result()
        if fault is not None:
            raise fault
    finally:
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)


def _fill(
    under_way: set[asyncio.Task[_R]],
    waiting: Iterator[_W | None],
    do: Callable[[_W], Coroutine[Any, Any, _R]],
    room: Callable[[], int],
) -> None:
    while len(under_way) < room():
        piece = next(waiting, None)
        if piece is None:
            return
        under_way.add(asyncio.create_task(do(piece)))
