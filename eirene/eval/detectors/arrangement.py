"""The `arrangement` detector: whether what the answer says of the arguments stands where it should."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eirene.alignment import SCORING, load_constants, placement
from eirene.alignment.comparison import compare_sides
from eirene.core.scores import Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, Case
from eirene.text.language import unsupported_language

if TYPE_CHECKING:
    from eirene.eval.resources import Resources
    from eirene.models.encoder.runtime import Encodes

_NO_COVERAGE = "looks at the places of what is said, not at what is missing"


class ArrangementDetector:
    """An argument of one side put in the mouth of another, or made twice, by the same alignment as `alignment`.

    Score: hallucination of a sentence = the probability that its worst clause stands where it should not: it says an
        argument of a perspective in whose part of the answer it does not stand, or says again what was said; of the
        answer = the expected share of such clauses among those that say an argument. Coverage is unscored.
    Needs: two or more perspectives, in English as the answer is.
    Reference: own; docs/detectors.md.
    Example:
        >>> import asyncio
        >>> from eirene.models.encoder import load_encoder
        >>> from eirene.core.grounding import ArgumentGroup, Grounding
        >>> sides = ArgumentGroup("pro", ("Wind power is clean.",)), ArgumentGroup("con", ("Turbines kill birds.",))
        >>> answer = "Supporters say that turbines kill birds. Opponents say that wind energy is clean."
        >>> case = Case("Wind power?", answer, Grounding("perspectives", sides))
        >>> round(asyncio.run(ArrangementDetector(load_encoder()).score(case, meter=Meter())).hallucination)
        1
    """

    name = "arrangement"
    needs = GIVEN

    def __init__(self, encoder: Encodes) -> None:
        self._encoder = encoder

    @property
    def version(self) -> str:
        """The digests of the encoder and of the constants that were fitted for it, and how scores are computed."""
        return f"encoder={self._encoder.digest},scoring={SCORING},constants={load_constants().digest}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; calls no model but the encoder, in a thread so that others may go on."""
        return await asyncio.to_thread(score_arrangement, case, self._encoder)


def build(resources: Resources) -> ArrangementDetector:
    """The detector, for the registry."""
    return ArrangementDetector(resources.encoder)


def score_arrangement(case: Case, encoder: Encodes) -> Scores:
    """What `ArrangementDetector` gives."""
    groups = case.given.groups
    if case.given.source != "perspectives" or len(groups) < 2:
        return Scores.none("needs two perspectives: without sides there is no wrong one")
    if not case.answer.strip():
        return Scores.none("the answer is empty")
    why = unsupported_language(case.answer, case.given.arguments)
    if why is not None:
        return Scores.none(why)
    sides = [(group.name, group.arguments) for group in groups]
    comparison = compare_sides(sides, case.answer, encoder, question=case.question)
    found = placement(comparison, encoder)
    worst = dict.fromkeys(range(len(comparison.alignment.sentences)), 0.0)
    for unit, p in zip(found.atoms, found.wrong, strict=True):
        sentence = comparison.alignment.units[unit].sentence
        worst[sentence] = max(worst[sentence], float(p))
    return Scores(
        hallucination=found.disorder,
        coverage=Unscored(unscored=_NO_COVERAGE),
        sentences=tuple(
            SentenceScore(n=cut.n, hallucination=worst[i]) for i, cut in enumerate(comparison.alignment.sentences)
        ),
    )
