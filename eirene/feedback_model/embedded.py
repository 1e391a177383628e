"""The feedback model of the embedded default: compares, and draws critiques from what it finds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from eirene.alignment.comparison import compare
from eirene.critique import Sample
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.calibration import Critic, load_critic
from eirene.feedback_model.draws import Draws
from eirene.feedback_model.evidence import gather
from eirene.feedback_model.foreseen import texts_of
from eirene.feedback_model.judgement import Fault, faults_of
from eirene.records import Item, digest
from eirene.usage import Meter

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

NOTHING_GIVEN = "nothing to compare with: give perspectives or context, or choose --backend provider:model"
_REMEMBERED = 16


class EmbeddedFeedback:
    """Critiques from an alignment of the answer with what its item gives; calls no model service and costs nothing.

    The alignment is computed once for an answer, however many critiques are drawn. Without perspectives and context
    every sample is invalid and says what would help.
    """

    def __init__(self, encoder: Encodes, *, critic: Critic | None = None) -> None:
        self._encoder = encoder
        self._critic = load_critic() if critic is None else critic
        self._judged: OrderedDict[str, tuple[Fault, ...] | None] = OrderedDict()

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    def prepare(self, items: Sequence[Item]) -> None:
        """Encodes in large batches what these items will need, into the encoder's cache; changes no critique."""
        self._encoder.encode(list(dict.fromkeys(text for item in items for text in texts_of(item))))

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; nothing goes on `meter`, since nothing is called."""
        faults = await self._faults(request)
        draws = None if faults is None else Draws(faults, len(request.sentences), request.seed, self._critic.point)
        for index in range(start, start + count):
            yield Sample(invalid=NOTHING_GIVEN) if draws is None else draws.sample(index)

    async def _faults(self, request: FeedbackRequest) -> tuple[Fault, ...] | None:
        item = request.item
        key = digest([item.model_dump(mode="json", include={"question", "perspectives", "context"}), request.answer])
        if key not in self._judged:
            self._judged[key] = await asyncio.to_thread(self._judge, request)
            while len(self._judged) > _REMEMBERED:
                self._judged.popitem(last=False)
        return self._judged[key]

    def _judge(self, request: FeedbackRequest) -> tuple[Fault, ...] | None:
        comparison = compare(request.item, request.answer, self._encoder, sentences=request.sentences)
        if comparison is None:
            return None
        evidence = gather(comparison, request.item.question, request.answer, self._encoder)
        return faults_of(comparison, evidence, self._critic)
