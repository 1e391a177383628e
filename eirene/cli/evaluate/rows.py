"""Evaluations that draw critiques, a row for each answer: the flags of where rows are kept and how many run at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from eirene.cli import flags
from eirene.cli.progress import watch

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts

T = TypeVar("T")
Journal = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Keep a row for each answer here; a rerun resumes from it.")
]
Concurrency = Annotated[int, typer.Option(help="Answers at once.")]


@dataclass(frozen=True, kw_only=True)
class RowFlags:
    """How rows are made and kept."""

    out: Journal = None
    concurrency: Concurrency = 8
    retry_failed: flags.RetryFailed = False

    def make(
        self, run: Callable[..., Coroutine[Any, Any, T]], cases: Sequence[object], parts: Parts, *, settings: Settings
    ) -> T:
        """What `run` (such as `aevaluate_feedback`) makes of the cases, with a line of progress."""
        import asyncio

        numbers = count(1)
        with watch(len(cases)) as progress:
            work = run(
                cases, parts, settings=settings, journal=self.out, concurrency=self.concurrency,
                retry_failed=self.retry_failed, on_row=lambda _: progress.advance(next(numbers), "drawing critiques"),
            )  # fmt: skip
            return asyncio.run(work)
