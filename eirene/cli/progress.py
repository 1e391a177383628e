"""Progress on standard error: one bar for all commands, shown at a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eirene.cli.terminal import console, say

if TYPE_CHECKING:
    from rich.progress import Progress

    from eirene.agent.batch.engine import Batch
    from eirene.agent.state import Event
    from eirene.core.records import Record
    from eirene.core.usage import Usage
    from eirene.eval.metrics.detectors import DetectorRow

_DOING = {
    "sample_feedback": "drawing critiques",
    "select_critique": "selecting a critique",
    "review": "showing the critique",
    "refine": "rewriting",
    "check": "checking edits",
    "rescore": "scoring",
    "gate": "deciding",
}
_FIRST_S, _LONGEST_S = 10.0, 300.0
"""Seconds to a batch's first line where nobody watches; each next one comes after twice the time, up to the longest."""
_WINDOW_S = 60.0


class Bar:
    """What is being done, how far it is, the time that it took, and a remark; does nothing where nobody watches."""

    def __init__(self, progress: Progress | None, doing: str) -> None:
        self._progress = progress
        self._task = None if progress is None else progress.add_task(doing, total=None, count="", remark="")

    @property
    def is_shown(self) -> bool:
        """Whether somebody watches."""
        return self._progress is not None

    def update(
        self, doing: str, *, done: int | None = None, total: int | None = None, count: str = "", remark: str = ""
    ) -> None:
        """Shows that `done` of `total` is done; `count` says it in words."""
        if self._progress is not None and self._task is not None:
            self._progress.update(
                self._task, description=doing, completed=done, total=total, count=count, remark=remark
            )

    def close(self) -> None:
        """Takes the bar off the terminal, before something else is said."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


@contextmanager
def bar(doing: str) -> Iterator[Bar]:
    """A bar that is gone when it ends."""
    if not sys.stderr.isatty():
        yield Bar(None, doing)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
        TextColumn("{task.fields[remark]}", markup=False),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        yield Bar(progress, doing)


class RunWatch:
    """Follows one or more runs of the loop through their events, or a plain count."""

    def __init__(self, shown: Bar, total: int) -> None:
        self._bar = shown
        self._total = total
        self._item = 0
        self._doing = ""

    def next_item(self, n: int) -> None:
        """Row `n` begins."""
        self._item = n

    def on_event(self, event: Event) -> None:
        """Shows what the run is at."""
        row = f"row {self._item} of {self._total}, " if self._total > 1 else ""
        if event["kind"] == "node_started":
            self._doing = f"{row}round {event['round']}: {_DOING.get(event['node'], event['node'])}"
            self._bar.update(self._doing)
        elif event["kind"] == "sample":
            self._bar.update(self._doing, count=f"{event['n']} of {event['total']}")

    def advance(self, n: int, doing: str, *, total: int | None = None) -> None:
        """Row `n` of a plain count is done; `total` where it was not known before."""
        total = self._total if total is None else total
        self._bar.update(doing, done=n, total=total, count=f"{n} of {total}")

    def count(self, n: int, doing: str) -> None:
        """`n` things are done, of which nobody knows how many there will be."""
        self._bar.update(doing, count=f"{n}")


@contextmanager
def watch(total: int) -> Iterator[RunWatch]:
    """Progress of `total` rows."""
    with bar("loading") as shown:
        yield RunWatch(shown, total)


class TallyWatch:
    """Counts rows by what became of them, or by who scored them, and what they cost."""

    def __init__(self, shown: Bar, doing: str, total: int) -> None:
        from eirene.core.usage import Usage

        self._bar, self._doing, self._total = shown, doing, total
        self._counts: Counter[str] = Counter()
        self._done = 0
        self._usage = Usage()

    def add(self, name: str, usage: Usage, *, is_row: bool = True, doing: str | None = None) -> None:
        """One more `name`; a row of the total unless told otherwise."""
        from eirene.views.facts import cost

        self._counts[name] += 1
        self._done += is_row
        self._usage += usage
        remark = ", ".join(f"{count} {name}" for name, count in self._counts.most_common())
        remark += f"; {cost(self._usage)}" if self._usage.calls else ""
        count = f"{self._done} of {self._total}"
        self._bar.update(doing or self._doing, done=self._done, total=self._total, count=count, remark=remark)


@contextmanager
def watch_rows(doing: str, total: int) -> Iterator[TallyWatch]:
    """Progress of `total` rows that are counted by name."""
    with bar(doing) as shown:
        yield TallyWatch(shown, doing, total)


@contextmanager
def watch_detectors(total: int) -> Iterator[Callable[[DetectorRow], None]]:
    """Progress of `total` rows of detectors; gives what is to be told of each row."""
    with watch_rows("scoring", total) as progress:
        yield lambda row: progress.add(row.detector, row.usage)


class Pace:
    """How fast things come, over the last minute, so that a slow start is forgotten."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque([(time.monotonic(), 0)])

    def at(self, n: int) -> float:
        """Things a second, where the `n`-th has come; 0 as long as nothing is known."""
        now = time.monotonic()
        if now - self._seen[-1][0] > _WINDOW_S / 100:
            self._seen.append((now, n))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        began, before = self._seen[0]
        return (n - before) / (now - began) if now > began else 0.0


class BatchWatch:
    """Follows a batch: a bar at a terminal, a line now and then elsewhere."""

    def __init__(self, shown: Bar) -> None:
        self._bar = shown
        self._wait_s, self._next = _FIRST_S, time.monotonic() + _FIRST_S
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
        self._show("refining", done, batch.n_rows, lambda: batch_line(batch, self._pace.at(batch.made.rows)))

    def _show(self, doing: str, n: int, total: int | None, line: Callable[[], str]) -> None:
        if self._bar.is_shown:
            self._bar.update(doing, done=n, total=total, remark=line())
        elif time.monotonic() >= self._next:
            say(f"{doing}: {line()}")
            self._wait_s = min(self._wait_s * 2, _LONGEST_S)
            self._next = time.monotonic() + self._wait_s


@contextmanager
def watch_batch() -> Iterator[BatchWatch]:
    """Progress of a batch, or of reading its journal."""
    with bar("") as shown:
        yield BatchWatch(shown)


def batch_line(batch: Batch, rate: float) -> str:
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
    parts.append(f"{_duration(batch.n_left / rate)} left" if rate and is_known else "")
    return ", ".join(part for part in parts if part)


def _duration(seconds: float) -> str:
    """Seconds in the largest units that say enough."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
