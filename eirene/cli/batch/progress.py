"""Progress of a batch on standard error: a line that moves at a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eirene.cli.terminal import console, say

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from eirene.agent.batch.engine import Batch
    from eirene.core.records import Record

_FIRST_S, _LONGEST_S = 10.0, 300.0
"""Seconds to the first line where nobody watches; each next one comes after twice the time, up to the longest."""
_WINDOW_S = 60.0


class Pace:
    """How fast things come, over the last minute, so that a slow start is forgotten."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque([(clock(), 0)])

    def at(self, n: int) -> float:
        """Things a second, where the `n`-th has come; 0 as long as nothing is known."""
        now = self._clock()
        if now - self._seen[-1][0] > _WINDOW_S / 100:
            self._seen.append((now, n))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        return (n - before) / (now - began) if now > began else 0.0


class Lines:
    """Says a line now and then: soon at first, then seldom."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wait_s = _FIRST_S
        self._next = clock() + _FIRST_S

    def say(self, line: Callable[[], str]) -> None:
        """Says it if it is time."""
        if self._clock() >= self._next:
            say(line())
            self._wait_s = min(self._wait_s * 2, _LONGEST_S)
            self._next = self._clock() + self._wait_s


class Watch:
    """Follows a batch."""

    def __init__(self, shown: RichProgress | None) -> None:
        self._shown = shown
        self._task = None if shown is None else shown.add_task("", total=None, said="")
        self._lines = Lines()
        self._pace = Pace()

    def on_look(self, n: int) -> None:
        """`n` rows of the data have been read."""
        if not n % 1000:
            self._show("checking the data", n, None, lambda: f"{n:,} rows")

    def on_scan(self, done: int, size: int) -> None:
        """So many bytes of a journal without its index have been read."""
        self._show("reading the journal", done, size, lambda: f"{done / 2**20:,.0f} of {size / 2**20:,.0f} MiB")

    def start(self) -> None:
        """Rows begin to be made."""
        self._pace = Pace()

    def on_row(self, batch: Batch, record: Record) -> None:
        """A row is on disk."""
        done = batch.n_rows - batch.n_left
        self._show("refining", done, batch.n_rows, lambda: said(batch, self._pace.at(batch.made.rows)))

    def _show(self, doing: str, n: int, total: int | None, said: Callable[[], str]) -> None:
        if self._shown is not None and self._task is not None:
            self._shown.update(self._task, description=doing, completed=n, total=total, said=said())
        else:
            self._lines.say(lambda: f"{doing}: {said()}")


def said(batch: Batch, rate: float) -> str:
    """The line of a batch that makes `rate` rows a second: what there is, what it cost, what is left."""
    from eirene.views.facts import cost

    statuses, rows = batch.made.statuses, batch.made.rows
    parts = [f"{batch.n_rows - batch.n_left:,} of {batch.n_rows:,} rows"]
    # Of many rows side by side the first to end says little: until as many have ended as were begun at once, a rate
    # would be too low by as much, and the time left too long.
    is_known = rows > max(1, len(batch.under_way))
    parts.append(f"{rate:.1f} rows/s" if is_known else "")
    parts.append(f"{100 * statuses['accepted'] / rows:.0f} % accepted" if rows else "")
    parts.append(f"{statuses['failed']:,} failed" if statuses["failed"] else "")
    parts.append(cost(batch.totals.usage) if batch.totals.usage.calls else "")
    parts.append(f"{duration(batch.n_left / rate)} left" if rate and is_known else "")
    return ", ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Seconds in the largest units that say enough."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


@contextmanager
def watch() -> Iterator[Watch]:
    """A line of progress that is gone when it ends, where somebody watches."""
    if not sys.stderr.isatty():
        yield Watch(None)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("{task.fields[said]}", markup=False),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        yield Watch(shown)
