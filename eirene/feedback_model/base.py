"""The interface of feedback models: a request in, samples of critiques out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from eirene.core.critique import Sample
from eirene.core.grounding import whole_evidence
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.core.verification import NumberedEvidence
from eirene.text.sentences import Sentence

LONGEST_LACK = 200
"""Characters of what a sentence lacks: the twenty words that are asked for, with room to spare."""


@dataclass(frozen=True, slots=True)
class FeedbackRequest:
    """What a critique is asked for: the item, the text to judge (the original or an accepted rewrite), its sentences.

    `seed` is derived for this round; sample i must depend on (seed, i) alone where the model can be seeded.
    `evidence`: the sentences of the passages that a language model is shown; None for all.
    """

    item: Item
    answer: str
    sentences: tuple[Sentence, ...]
    seed: int
    evidence: NumberedEvidence | None = None

    @property
    def shown(self) -> NumberedEvidence:
        """The evidence, all of it where none was chosen."""
        return whole_evidence(self.item) if self.evidence is None else self.evidence


class FeedbackModel(Protocol):
    """Draws critiques. Implementations are small classes; nobody inherits to share code."""

    @property
    def name(self) -> str:
        """What the record calls this model."""

    def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields samples `start` to `start + count - 1` in that order; every call, failed or not, goes on `meter`.

        A reply that cannot be read is an invalid sample, not an exception. Raises `BackendError` when the model
        cannot be reached at all.
        """


@runtime_checkable
class DrawsTogether(Protocol):
    """A feedback model that says whether its samples are a request each; of others `auto` draws all."""

    @property
    def draws_together(self) -> bool:
        """Whether one request gives several samples, as far as is known; the first sample of a draw settles it."""


@runtime_checkable
class ReadsOut(Protocol):
    """A feedback model that can read tags from its token probabilities (`eirene.feedback_model.readout`)."""

    async def read_out(self, request: FeedbackRequest, *, meter: Meter, says: Callable[[str], float] | None) -> Sample:
        """One sample with `chances`; invalid where there are no probabilities. Raises what `draw` raises.

        `says`: how surely the answer says a statement, in [0, 1].
        """


class ConfirmsCorrections(Protocol):
    """A judge that says whether a correction is one."""

    async def confirms(self, given: str, before: str, after: str, *, meter: Meter) -> bool:
        """Whether `given` supports a sentence `after` it was corrected, and not `before`. Raises what `draw` raises."""
        ...


@dataclass(frozen=True, slots=True)
class Scope:
    """What a vote without a find says: what was looked for, and what was not (None where nothing was left out)."""

    nothing_found: str
    unchecked: str | None = None

    def __str__(self) -> str:
        if self.unchecked is None:
            return f"{self.nothing_found}, so nothing was rewritten"
        return f"{self.nothing_found}; {self.unchecked} was not checked"


@runtime_checkable
class LimitedScope(Protocol):
    """A feedback model that looks for a part only of what its kind of critic is asked for, and says so."""

    def scope(self, item: Item) -> Scope | None:
        """What it looks for in answers to `item`; None where that is all."""
