"""A line of progress on standard error, for people at a terminal only.

Progress of a comparison, or an evaluation, on standard error: rows, what became of them, cost. For terminals.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich import progress as rich_progress
    from rich.progress import Progress, TaskID

    from eirene.agent.experiments.compare_rows import CompareRow, JudgedText
    from eirene.agent.state import Event
    from eirene.core.usage import Usage
    from eirene.eval.metrics.detectors import DetectorRow

_DOING = {
    "sample_feedback": "drawing critiques",
    "select_critique": "selecting a critique",
    "review": "showing the critique",
    "refine": "rewriting",
    "rescore": "scoring",
    "gate": "deciding",
}


class Watch:
    """Follows one or more runs through their events; does nothing where nobody watches."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._item = 0
        self._task: TaskID | None = progress.add_task("loading", total=None, count="") if progress is not None else None

    def next_item(self, n: int) -> None:
        """Row `n` begins."""
        self._item = n

    def on_event(self, event: Event) -> None:
        """Shows what the run is at."""
        if self._progress is None or self._task is None:
            return
        row = f"row {self._item} of {self._total}, " if self._total > 1 else ""
        if event["kind"] == "node_started":
            doing = f"{row}round {event['round']}: {_DOING.get(event['node'], event['node'])}"
            self._progress.update(self._task, description=doing, count="")
        elif event["kind"] == "sample":
            self._progress.update(self._task, count=f"{event['n']} of {event['total']}")

    def advance(self, n: int, doing: str, *, total: int | None = None) -> None:
        """Row `n` of a plain count is done; `total` where it was not known before."""
        if self._progress is not None and self._task is not None:
            total = self._total if total is None else total
            self._progress.update(self._task, total=total, completed=n, description=doing, count=f"{n} of {total}")

    def count(self, n: int, doing: str) -> None:
        """`n` things are done, of which nobody knows how many there will be."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, total=None, description=doing, count=f"{n}")


@contextmanager
def watch(total: int) -> Iterator[Watch]:
    """A progress line for `total` rows that is gone when it ends."""
    if not sys.stderr.isatty():
        yield Watch(None, total)
        return
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from eirene.cli.terminal import console

    columns = (
        SpinnerColumn("line"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        yield Watch(progress, total)


class RowsProgress:
    """Counts rows and judged texts; shows them where somebody watches."""

    def __init__(self, shown: rich_progress.Progress | None, total: int) -> None:
        self._shown = shown
        self._task = None if shown is None else shown.add_task("comparing", total=total, said="")
        self._statuses: Counter[str] = Counter()
        self._judged = 0
        self._cost_usd: float | None = 0.0
        self._calls = 0

    def on_row(self, row: CompareRow) -> None:
        """A row has been made and is on disk."""
        self._statuses[row.record.status] += 1
        self._count(row.record.usage)
        if self._shown is not None and self._task is not None:
            self._shown.update(self._task, advance=1, said=self._said())

    def on_judged(self, judged: JudgedText) -> None:
        """A text has been judged."""
        self._judged += 1
        self._count(judged.usage)
        if self._shown is not None and self._task is not None:
            self._shown.update(self._task, description="judging", said=self._said())

    def _count(self, usage: Usage) -> None:
        self._calls += usage.calls
        unknown = self._cost_usd is None or usage.cost_usd is None
        self._cost_usd = None if unknown else (self._cost_usd or 0.0) + (usage.cost_usd or 0.0)

    def _said(self) -> str:
        counts = [f"{count} {status}" for status, count in self._statuses.most_common()]
        counts += [f"{self._judged} judged"] if self._judged else []
        money = "" if not self._calls else ", price unknown" if self._cost_usd is None else f", ${self._cost_usd:.4f}"
        return ", ".join(counts) + (f"; {self._calls:,} calls{money}" if self._calls else "")


@contextmanager
def watch_rows(total: int) -> Iterator[RowsProgress]:
    """A progress line for `total` rows that is gone when it ends."""
    with _watched() as shown:
        yield RowsProgress(shown, total)


@contextmanager
def watch_answers(total: int) -> Iterator[Callable[[DetectorRow], None]]:
    """A progress line for `total` rows of detectors; gives what is to hear of each row."""
    counts: Counter[str] = Counter()
    calls = 0
    with _watched() as shown:
        task = None if shown is None else shown.add_task("scoring", total=total, said="")

        def on_row(row: DetectorRow) -> None:
            nonlocal calls
            counts[row.detector] += 1
            calls += row.usage.calls
            if shown is not None and task is not None:
                said = ", ".join(f"{name} {count}" for name, count in counts.items())
                shown.update(task, advance=1, said=said + (f"; {calls:,} calls" if calls else ""))

        yield on_row


@contextmanager
def _watched() -> Iterator[rich_progress.Progress | None]:
    """A line of progress, None where nobody watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    from eirene.cli.terminal import console

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[said]}", markup=False),
    )
    with RichProgress(*columns, console=console(stderr=True), transient=True) as shown:
        yield shown
