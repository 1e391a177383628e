"""The flags of evaluations that draw critiques, a row for each answer: where rows are kept, how many at once."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from eirene.cli.progress import watch

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts

Journal = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Keep a row for each answer here; a rerun goes on from it.")
]
Concurrency = Annotated[int, typer.Option(help="Answers under way at once.")]
RetryFailed = Annotated[bool, typer.Option("--retry-failed", help="Try the failed rows of the journal again.")]
Draws = Annotated[int, typer.Option(help="Bootstrap resamples.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class RowFlags:
    """How rows are made and kept."""

    out: Journal = None
    concurrency: Concurrency = 8
    retry_failed: RetryFailed = False

    def make(
        self,
        run: Callable[..., Coroutine[Any, Any, T]],
        cases: Sequence[object],
        parts: Parts,
        *,
        settings: Settings,
    ) -> T:
        """What `run` (such as `aevaluate_feedback`) makes of the cases, with a line of progress."""
        import asyncio

        numbers = count(1)
        with watch(len(cases)) as progress:
            return asyncio.run(
                run(
                    cases, parts, settings=settings, journal=self.out, concurrency=self.concurrency,
                    retry_failed=self.retry_failed,
                    on_row=lambda _: progress.advance(next(numbers), "drawing critiques"),
                )
            )  # fmt: skip
