"""The interface of a detector: (question, given text, answer) -> error scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from eirene.given import Given
from eirene.scores import Scores
from eirene.usage import Meter


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be scored against what was given."""

    question: str
    answer: str
    given: Given


class Detector(Protocol):
    """Scores answers for hallucination and coverage. What it cannot score it returns as `Unscored`, with the reason."""

    @property
    def name(self) -> str:
        """The key of its scores in a record."""
        ...

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The detector's scores of `case.answer`; model calls, failed ones included, go on `meter`."""
        ...
