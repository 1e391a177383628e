"""A scripted refiner, for tests and examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from eirene.core.errors import BackendError, ScriptExhaustedError
from eirene.core.usage import Meter, Usage
from eirene.refiners.base import RefineTask

T = TypeVar("T")


class ScriptedRefiner:
    """Returns the scripted rewrites one after the other; an exception in the script is raised.

    Records its tasks in `tasks`. Raises `ScriptExhaustedError` when it is called more often than the script is long.
    """

    name = "scripted"

    def __init__(self, rewrites: Sequence[str | BackendError]) -> None:
        self._left = list(rewrites)
        self.tasks: list[RefineTask] = []

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The next rewrite of the script; counts as one call."""
        self.tasks.append(task)
        return next_of(self._left, f"rewrite for call {len(self.tasks)}", meter)


def next_of(left: list[T | BackendError], what: str, meter: Meter) -> T:
    """The next step of a script, as one call; an exception among the steps is raised."""
    if not left:
        raise ScriptExhaustedError(f"the script has no {what}")
    meter.add(Usage(calls=1))
    step = left.pop(0)
    if isinstance(step, BackendError):
        raise step
    return step
