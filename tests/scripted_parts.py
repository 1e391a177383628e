"""Scripted parts of a loop: feedback model, refiner and detector with known replies."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import BackendError
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import NOTHING, Case, Need
from eirene.feedback_model.base import FeedbackRequest
from eirene.testing.parts import ScriptedRefiner, next_of


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
            yield next_of(self._left, f"sample for number {start + n + 1} of this request", meter)


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
