"""Progress on standard error: one bar for all commands at a terminal; elsewhere a line now and then on long runs."""

from __future__ import annotations

import sys
import time
from collections import Counter
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
"""Seconds to the first line where nobody watches; each next one comes after twice the time, up to the longest."""


class Watch:
    """Shows what is being done, how far it is, the time that it took, and a remark; where nobody watches, lines."""

    def __init__(self, progress: Progress | None, doing: str, total: int) -> None:
        self._progress, self._doing, self._total = progress, doing, total
        self._task = None if progress is None else progress.add_task(doing, total=None, count="", remark="")
        self._item = self._done = 0
        self._counts: Counter[str] = Counter()
        self._usage: Usage | None = None
        self._wait_s, self._next = _FIRST_S, time.monotonic() + _FIRST_S

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

    def next_item(self, n: int) -> None:
        """Row `n` begins."""
        self._item = n

    def on_event(self, event: Event) -> None:
        """Shows what a run of the loop is at."""
        row = f"row {self._item} of {self._total}, " if self._total > 1 else ""
        if event["kind"] == "node_started":
            self._doing = f"{row}round {event['round']}: {_DOING.get(event['node'], event['node'])}"
            self.update(self._doing)
        elif event["kind"] == "sample":
            self.update(self._doing, count=f"{event['n']} of {event['total']}")

    def advance(self, n: int, doing: str, *, total: int | None = None) -> None:
        """`n` rows are done; `total` where it was not known before."""
        total = self._total if total is None else total
        self.show(doing, n, total, lambda: f"{n:,} of {total:,}")

    def show(self, doing: str, n: int, total: int | None, line: Callable[[], str]) -> None:
        """`n` of `total` is done, which `line` says in words: on the bar, or where nobody watches now and then."""
        if self.is_shown:
            self.update(doing, done=n, total=total, remark=line())
        elif time.monotonic() >= self._next:
            say(f"{doing}: {line()}")
            self._wait_s = min(self._wait_s * 2, _LONGEST_S)
            self._next = time.monotonic() + self._wait_s

    def count(self, n: int, doing: str) -> None:
        """`n` things are done, of which nobody knows how many there will be."""
        self.update(doing, count=f"{n}")

    def add(self, name: str, usage: Usage, *, is_row: bool = True, doing: str | None = None) -> None:
        """One more `name`, such as a status, and what it cost; a row of the total unless told otherwise."""
        from eirene.views.facts import cost

        self._counts[name] += 1
        self._done += is_row
        self._usage = usage if self._usage is None else self._usage + usage
        remark = ", ".join(f"{count} {name}" for name, count in self._counts.most_common())
        remark += f"; {cost(self._usage, summed=True)}" if self._usage.calls else ""
        count = f"{self._done} of {self._total}"
        self.update(doing or self._doing, done=self._done, total=self._total, count=count, remark=remark)

    def add_scored(self, row: DetectorRow) -> None:
        """One more row of a detector."""
        self.add(row.detector, row.usage)


@contextmanager
def watch(total: int, doing: str = "loading") -> Iterator[Watch]:
    """Progress of `total` rows, by a bar that is gone when it ends."""
    if not sys.stderr.isatty():
        yield Watch(None, doing, total)
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
        yield Watch(progress, doing, total)


class BatchWatch:
    """Follows a batch: a bar at a terminal, a line now and then elsewhere."""

    def __init__(self, shown: Watch) -> None:
        self._show = shown.show
        self._began = time.monotonic()

    def on_look(self, n: int) -> None:
        """`n` rows of the data have been read."""
        if not n % 1000:
            self._show("checking the data", n, None, lambda: f"{n:,} rows")

    def on_scan(self, done: int, size: int) -> None:
        """So many bytes of a journal without its index have been read."""
        self._show("reading the journal", done, size, lambda: f"{done / 2**20:,.0f} of {size / 2**20:,.0f} MiB")

    @property
    def passed_s(self) -> float:
        """Seconds since rows began to be made."""
        return time.monotonic() - self._began

    def start(self) -> None:
        """Rows begin to be made."""
        self._began = time.monotonic()

    def on_row(self, batch: Batch, record: Record) -> None:
        """A row is on disk."""
        done, passed = batch.n_rows - batch.n_left, max(self.passed_s, 1e-9)
        self._show("refining", done, batch.n_rows, lambda: batch_line(batch, batch.made.rows / passed))


@contextmanager
def watch_batch() -> Iterator[BatchWatch]:
    """Progress of a batch, or of reading its journal."""
    with watch(0, "") as shown:
        yield BatchWatch(shown)


def batch_line(batch: Batch, rate: float) -> str:
    """The line of a batch that makes `rate` rows a second: what there is, what it cost, what is left."""
    from eirene.views.facts import cost

    statuses, rows = batch.totals.statuses, batch.made.rows
    ended = sum(statuses.values())
    parts = [f"{batch.n_rows - batch.n_left:,} of {batch.n_rows:,} rows"]
    # Of many rows side by side the first to end says little: until as many have ended as were begun at once, a rate
    # would be too low by as much, and the time left too long.
    is_known = rows > max(1, len(batch.under_way))
    parts.append(f"{rate:.1f} rows/s" if is_known else "")
    parts.append(f"{100 * statuses['accepted'] / ended:.0f} % accepted" if ended else "")
    parts.append(f"{statuses['failed']:,} failed" if statuses["failed"] else "")
    parts.append(cost(batch.totals.usage, summed=True) if batch.totals.usage.calls else "")
    parts.append(f"{_duration(batch.n_left / rate)} left" if rate and is_known else "")
    return ", ".join(part for part in parts if part)


def _duration(seconds: float) -> str:
    """Seconds in the largest units that say enough."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
