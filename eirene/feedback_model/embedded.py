"""The feedback model of the embedded default: compares, and draws critiques from what it finds."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from eirene.critique import Sample
from eirene.feedback_model.base import FeedbackRequest, Reach
from eirene.feedback_model.calibration import Critic, load_critic
from eirene.feedback_model.foreseen import texts_of
from eirene.feedback_model.judged import Judged, compared
from eirene.records import Item
from eirene.usage import Meter

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes


_OF_PASSAGES = Reach(
    "no sentence was found unsupported by the passages", "whether something of the passages is missing"
)
"""Which of the passages' sentences an answer ought to use, closeness cannot tell (docs/embedded.md)."""


class EmbeddedFeedback:
    """Critiques from an alignment of an English answer with what its item gives; calls no model and costs nothing.

    The alignment is computed once for an answer, however many critiques are drawn. Without perspectives and context,
    and in another language than English, every sample is invalid and says what would help.
    """

    def __init__(self, encoder: Encodes, *, critic: Critic | None = None) -> None:
        self._encoder = encoder
        critic = load_critic() if critic is None else critic
        self._judged = Judged(lambda request: compared(request, encoder, critic), critic.point)

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    def reach(self, item: Item) -> Reach | None:
        """Against passages it looks for what they do not support; against arguments for all that a critic is to."""
        return _OF_PASSAGES if item.context and not item.perspectives else None

    def prepare(self, items: Sequence[Item]) -> None:
        """Encodes in large batches what these items will need, into the encoder's cache; changes no critique."""
        self._encoder.encode(list(dict.fromkeys(text for item in items for text in texts_of(item))))

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; nothing goes on `meter`, since nothing is called."""
        for sample in await self._judged.samples(request, start=start, count=count):
            yield sample
