"""The runner of this process: rows side by side in one event loop, as many as the provider's limit has use for."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

from eirene.agent.batch.one_row import one_row
from eirene.agent.batch.runner import Outcome, Work
from eirene.agent.settings import Settings
from eirene.agent.shared_detectors import shared
from eirene.agent.state import Parts
from eirene.models.limits import Limiter
from eirene.side_by_side import side_by_side

KEPT_A_ROW = 4
"""Scores that a detector remembers for each row under way: those of its own texts, in all rounds. Rows share none."""


class LocalRunner:
    """Refines rows in this process.

    `limiter` is the one that the parts' chat model has: twice as many rows as it lets calls through are under way, so
    that rows that compute leave no call's place empty. Without one (the embedded parts only compute) it is one row.
    """

    def __init__(self, parts: Parts, settings: Settings, *, limiter: Limiter | None = None) -> None:
        kept = KEPT_A_ROW * (1 if limiter is None else 2 * limiter.max_concurrent)
        self._parts = replace(parts, detectors=tuple(shared(d, kept=kept) for d in parts.detectors))
        self._settings = settings
        self._limiter = limiter

    async def run(self, work: Iterable[Work | None]) -> AsyncGenerator[Outcome, None]:
        """Yields the outcomes as they come; where one, or the work itself, raises, those under way are finished."""
        made = side_by_side(
            work, lambda piece: one_row(piece, parts=self._parts, settings=self._settings), room=lambda: self._room
        )
        async with aclosing(made) as outcomes:
            async for outcome in outcomes:
                yield outcome

    @property
    def _room(self) -> int:
        return 1 if self._limiter is None else 2 * self._limiter.now
