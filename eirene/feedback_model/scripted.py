"""A feedback model that reads its samples off a script, for tests and documentation. No model stands behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from eirene.critique import Sample
from eirene.errors import BackendError, ScriptExhaustedError
from eirene.feedback_model.base import FeedbackRequest
from eirene.usage import Meter, Usage


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
            if not self._left:
                raise ScriptExhaustedError(f"the script has no sample for number {start + n + 1} of this request")
            meter.add(Usage(calls=1))
            step = self._left.pop(0)
            if isinstance(step, BackendError):
                raise step
            yield step
