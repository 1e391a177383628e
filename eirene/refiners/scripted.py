"""A refiner that reads its rewrites off a script, for tests and documentation. No model stands behind it."""

from __future__ import annotations

from collections.abc import Sequence

from eirene.errors import BackendError, ScriptExhaustedError
from eirene.refiners.base import RefineTask
from eirene.usage import Meter, Usage


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
        if not self._left:
            raise ScriptExhaustedError(f"the script has no rewrite for call {len(self.tasks)}")
        meter.add(Usage(calls=1))
        step = self._left.pop(0)
        if isinstance(step, BackendError):
            raise step
        return step
