"""What the embedded critics share: an answer is compared with what its item gives once, and critiques are drawn."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from eirene.alignment.comparison import compare
from eirene.blocking import off_loop
from eirene.critique import Sample
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.calibration import Critic, OperatingPoint
from eirene.feedback_model.citing import naming
from eirene.feedback_model.draws import Draws
from eirene.feedback_model.evidence import gather
from eirene.feedback_model.judgement import Fault, faults_of
from eirene.given import NOTHING_GIVEN, given_texts
from eirene.language import not_read
from eirene.records import digest, found_ids

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

_REMEMBERED = 16

Judge = Callable[[FeedbackRequest], tuple[Fault, ...] | str]
"""The faults of an answer, those of one sentence with the surest first; or why it cannot be judged."""


def compared(request: FeedbackRequest, encoder: Encodes, critic: Critic) -> tuple[Fault, ...] | str:
    """The faults that an alignment of the answer with what its item gives shows.

    Why there is none: nothing is given, or the answer or what is given is not in English.
    """
    why = not_read(request.answer, given_texts(request.item))
    if why is not None:
        return f"{why}; give a model as the backend"
    comparison = compare(request.item, request.answer, encoder, sentences=request.sentences)
    if comparison is None:
        return NOTHING_GIVEN
    faults = faults_of(comparison, gather(comparison, request.item.question, request.answer, encoder), critic)
    return tuple(naming(f, (f.findings[0].edit or "") if _is_missing(f) else "", request.item) for f in faults)


def _is_missing(fault: Fault) -> bool:
    return all(finding.kind == "missing" for finding in fault.findings)


class Judged:
    """Judges an answer in a thread of its own, remembers the faults of the last few, and draws critiques from them."""

    def __init__(self, judge: Judge, point: OperatingPoint) -> None:
        self._judge = judge
        self._point = point
        self._known: OrderedDict[str, tuple[Fault, ...] | str] = OrderedDict()

    async def samples(self, request: FeedbackRequest, *, start: int, count: int) -> Iterator[Sample]:
        """Draws `start` and after, `count` of them; where nothing can be judged each is invalid and says why."""
        found, numbers = await self._faults(request), range(start, start + count)
        if isinstance(found, str):
            return iter([Sample(invalid=found)] * count)
        draws = Draws(found, len(request.sentences), request.seed, self._point)
        return iter(await off_loop(lambda: list(map(draws.sample, numbers)), characters=len(request.answer)))

    async def _faults(self, request: FeedbackRequest) -> tuple[Fault, ...] | str:
        item = request.item
        given = item.model_dump(mode="json", include={"question", "perspectives", "context"})
        key = digest([given, list(found_ids(item)), request.answer])
        if key not in self._known:
            self._known[key] = await asyncio.to_thread(self._judge, request)
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return self._known[key]
