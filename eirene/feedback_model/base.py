"""The interface between the loop and whatever writes critiques: a chat model, a local model, the embedded tagger."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from eirene.critique import Sample
from eirene.records import Item
from eirene.sentences import Sentence
from eirene.usage import Meter


@dataclass(frozen=True, slots=True)
class FeedbackRequest:
    """What a critique is asked for: the item, the text to judge (the original or an accepted rewrite), its sentences.

    `seed` is derived for this round; sample i must depend on (seed, i) alone where the model can be seeded.
    """

    item: Item
    answer: str
    sentences: tuple[Sentence, ...]
    seed: int


class FeedbackModel(Protocol):
    """Draws critiques. Implementations are small classes; nobody inherits to share code."""

    @property
    def name(self) -> str:
        """What the record calls this model."""
        ...

    def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields samples `start` to `start + count - 1` in that order; every call, failed or not, goes on `meter`.

        A reply that cannot be read is an invalid sample, not an exception. Raises `BackendError` when the model
        cannot be reached at all.
        """
        ...
