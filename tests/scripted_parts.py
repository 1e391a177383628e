"""Scripted parts of a loop: feedback model, refiner and detector with known replies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TypeVar

from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import BackendError, ScriptExhaustedError
from eirene.core.scores import Scores
from eirene.core.usage import Meter, Usage
from eirene.eval.base import NOTHING, Case, Need
from eirene.feedback_model.base import FeedbackRequest
from eirene.refiners.base import RefineTask

T = TypeVar("T")


def scripted_parts(
    *,
    samples: Sequence[Sample | BackendError] = (),
    rewrites: Sequence[str | BackendError] = (),
    scores: Mapping[str, Scores | BackendError] | None = None,
) -> Parts:
    """Parts that give the scripted samples, rewrites and scores (by answer), in this order.

    Their gate has no checks: a rewrite is judged by its scripted scores alone.
    """
    return Parts(
        backend="scripted",
        feedback_model=ScriptedFeedback(samples),
        refiner=ScriptedRefiner(rewrites),
        detectors=(ScriptedDetector(scores or {}),),
        checks=(),
    )


class ScriptedFeedback:
    """Yields the scripted samples one after the other, over all requests; an exception in the script is raised.

    Records its requests in `requests`. Raises `ScriptExhaustedError` when more is asked for than the script holds.
    """

    name = "scripted"

    def __init__(self, samples: Sequence[Sample | BackendError]) -> None:
        self._left = list(samples)
        self.requests: list[FeedbackRequest] = []

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """The next `count` samples of the script; each counts as one call."""
        self.requests.append(request)
        for n in range(count):
            yield _next(self._left, f"sample for number {start + n + 1} of this request", meter)


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
        return _next(self._left, f"rewrite for call {len(self.tasks)}", meter)


def _next(left: list[T | BackendError], what: str, meter: Meter) -> T:
    """The next step of a script, as one call; an exception among the steps is raised."""
    if not left:
        raise ScriptExhaustedError(f"the script has no {what}")
    meter.add(Usage(calls=1))
    step = left.pop(0)
    if isinstance(step, BackendError):
        raise step
    return step


class ScriptedDetector:
    """Gives each answer the scores that the table holds for it; an answer that is not there is unscored.

    Records its cases in `cases`. An exception in the table is raised.
    """

    version = "scripted"

    def __init__(
        self,
        table: Mapping[str, Scores | BackendError],
        *,
        name: str = "scripted",
        needs: frozenset[Need] = NOTHING,
    ) -> None:
        self.name = name
        self.needs = needs
        self._table = dict(table)
        self.cases: list[Case] = []

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of `case.answer` in the table."""
        self.cases.append(case)
        found = self._table.get(case.answer, Scores.none("not in the script"))
        if isinstance(found, BackendError):
            raise found
        return found
