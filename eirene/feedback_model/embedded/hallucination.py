"""The hallucination critic of the embedded default: what nothing given supports, and what rules can tell apart."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.core.critique import Sample
from eirene.core.findings.kinds import finding_of
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import naming
from eirene.feedback_model.embedded.calibration import Critic, load_critic
from eirene.feedback_model.embedded.critic import Judged, compared
from eirene.feedback_model.embedded.faults import Fault
from eirene.feedback_model.embedded.rules import RULES_DIGEST, RuleFinding, find_by_rules
from eirene.feedback_model.parsing.tagged import references_of

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes


def rules_digest() -> str:
    """8 hex digits that change with the rules."""
    return RULES_DIGEST


class EmbeddedHallucination:
    """Findings from an alignment of the answer with what its item gives; calls no model service and costs nothing.

    Parts that nothing given supports are `unverifiable`; names, numbers and dates that differ from the closest given
    sentences are `entity`, negations, opposites and other words in their place `relation`, sentences with words of
    opinion `subjective` (`eirene.feedback_model.embedded.rules`). Samples differ as those of `EmbeddedFeedback`
    do. Without perspectives and context every sample is invalid and says what would help,
    as it does where answer or given text is not in English.
    """

    def __init__(self, encoder: Encodes, *, critic: Critic | None = None) -> None:
        self._encoder = encoder
        self._critic = load_critic() if critic is None else critic
        self._judged = Judged(self._judge, self._critic.point)

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; nothing goes on `meter`, since nothing is called."""
        for sample in await self._judged.samples(request, start=start, count=count):
            yield sample.model_copy(update={"critic": "hallucination"})

    def _judge(self, request: FeedbackRequest) -> tuple[Fault, ...] | str:
        faults = compared(request, self._encoder, self._critic)
        if isinstance(faults, str):
            return faults
        ruled = find_by_rules(
            request.answer, request.sentences, references_of(request.item), request.item.question, self._encoder
        )
        found = [*_by_rules(ruled, request), *_unsupported(faults, request, ruled)]
        return tuple(sorted(found, key=lambda f: (f.sentence, -f.margin)))


def _by_rules(ruled: tuple[RuleFinding, ...], request: FeedbackRequest) -> Iterator[Fault]:
    for found in ruled:
        fault = Fault(found.sentence, found.margin, found.finding.reason, (found.finding,))
        yield naming(fault, found.given, request.item)


def _unsupported(
    faults: tuple[Fault, ...], request: FeedbackRequest, ruled: tuple[RuleFinding, ...]
) -> Iterator[Fault]:
    """What nothing supports, unless a rule has found what is wrong with it and how to mend it."""
    mended = {found.sentence for found in ruled if found.explains}
    for fault in faults:
        first = fault.findings[0]
        if first.kind == "unsupported" and fault.sentence not in mended:
            finding = finding_of("unverifiable", first.start, first.end, text=request.answer, edit="")
            yield naming(replace(fault, reason=finding.reason, findings=(finding,)), "", request.item)
