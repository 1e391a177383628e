"""The hallucination critic of the embedded default: what nothing given supports, and what rules can tell apart."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.alignment.comparison import compare
from eirene.critique import Sample
from eirene.fava.kinds import finding_of
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.calibration import Critic, load_critic
from eirene.feedback_model.draws import Draws
from eirene.feedback_model.embedded import NOTHING_GIVEN
from eirene.feedback_model.evidence import gather
from eirene.feedback_model.hallucination_asking import references_of
from eirene.feedback_model.hallucination_rules import RULES_DIGEST, RuleFinding, find_by_rules
from eirene.feedback_model.judgement import Fault, faults_of
from eirene.records import digest
from eirene.usage import Meter

if TYPE_CHECKING:
    from eirene.encoder.runtime import Encodes

_REMEMBERED = 16


def rules_digest() -> str:
    """8 hex digits that change with the rules."""
    return RULES_DIGEST


class EmbeddedHallucination:
    """Findings from an alignment of the answer with what its item gives; calls no model service and costs nothing.

    Parts that nothing given supports are `unverifiable`; names, numbers and dates that differ from the closest given
    sentences are `entity`, negations, opposites and other words in their place `relation`, sentences with words of
    opinion `subjective` (`eirene.feedback_model.hallucination_rules`). Samples differ as those of `EmbeddedFeedback`
    do. Without perspectives and context every sample is invalid and says what would help.
    """

    def __init__(self, encoder: Encodes, *, critic: Critic | None = None) -> None:
        self._encoder = encoder
        self._critic = load_critic() if critic is None else critic
        self._judged: OrderedDict[str, tuple[Fault, ...] | None] = OrderedDict()

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """Yields the samples; nothing goes on `meter`, since nothing is called."""
        faults = await self._faults(request)
        draws = None if faults is None else Draws(faults, len(request.sentences), request.seed, self._critic.point)
        for index in range(start, start + count):
            sample = Sample(invalid=NOTHING_GIVEN) if draws is None else draws.sample(index)
            yield sample.model_copy(update={"critic": "hallucination"})

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
        ruled = find_by_rules(
            request.answer, request.sentences, references_of(request.item), request.item.question, self._encoder
        )
        found = [*_by_rules(ruled), *_unsupported(faults_of(comparison, evidence, self._critic), request.answer, ruled)]
        return tuple(sorted(found, key=lambda f: (f.sentence, -f.margin)))


def _by_rules(ruled: tuple[RuleFinding, ...]) -> Iterator[Fault]:
    for found in ruled:
        yield Fault(found.sentence, found.margin, found.finding.reason, (found.finding,))


def _unsupported(faults: tuple[Fault, ...], answer: str, ruled: tuple[RuleFinding, ...]) -> Iterator[Fault]:
    """What nothing supports, unless a rule has found what is wrong with it and how to mend it."""
    mended = {found.sentence for found in ruled if found.explains}
    for fault in faults:
        first = fault.findings[0]
        if first.kind == "unsupported" and fault.sentence not in mended:
            finding = finding_of("unverifiable", first.start, first.end, text=answer, edit="")
            yield replace(fault, reason=finding.reason, findings=(finding,))
