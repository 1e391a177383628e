"""The `alignment` and `arrangement` detectors: clauses compared with given arguments by the shipped encoder."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from eirene.alignment import SCORING, Alignment, align, bearing_sentences, load_constants, placement
from eirene.alignment.comparison import compare_sides, passage_sentences
from eirene.core.grounding import Grounding
from eirene.core.scores import ArgumentScore, Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, Case, where_given
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.text.language import unsupported_language

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes


class _EncoderDetector:
    needs = GIVEN

    def __init__(self, encoder: Encodes) -> None:
        self._encoder = encoder
        self.version = f"encoder={encoder.digest},scoring={SCORING},constants={load_constants().digest}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; calls no model but the encoder, in a thread so that others may go on."""
        return await asyncio.to_thread(self._score, case)

    def _score(self, case: Case) -> Scores:
        raise NotImplementedError


class AlignmentDetector(_EncoderDetector):
    """Arguments and the answer's clauses compared by a sentence encoder, calibrated on answers with known errors.

    Score: hallucination of a sentence = the probability that its worst clause was not given; of the answer = its worst
        sentence; coverage of an argument = the probability that the answer does not say it, by mutual alignment; of the
        answer = the worst argument.
    Needs: given text, in English as the answer is. Of passages, coverage looks at the sentences that bear on the
        question, hallucination at all of them. With source `derived` hallucination is unscored.
    Reference: own; docs/concepts/detectors.md.
    Examples:
        >>> import asyncio
        >>> from eirene.models.encoder import load_encoder
        >>> from eirene.core.grounding import ArgumentGroup
        >>> sides = ArgumentGroup("pro", ("Wind power is clean.",)), ArgumentGroup("con", ("Turbines kill birds.",))
        >>> given = Grounding("perspectives", sides)
        >>> case = Case("Wind power?", "Supporters say that wind energy is clean.", given)
        >>> scores = asyncio.run(AlignmentDetector(load_encoder()).score(case, meter=Meter()))
        >>> [round(a.coverage) for a in scores.arguments], round(scores.coverage), round(scores.hallucination)
        ([0, 1], 1, 0)
    """

    name = "alignment"

    def _score(self, case: Case) -> Scores:
        return score_alignment(case, self._encoder)


@detector("alignment", needs=GIVEN, about="meaning of clauses against what was given (encoder)")
def _build_alignment(resources: Resources) -> AlignmentDetector:
    return AlignmentDetector(resources.encoder)


def score_alignment(case: Case, encoder: Encodes) -> Scores:
    """What `AlignmentDetector` gives."""
    why = unsupported_language(case.answer, case.given.arguments)
    if why is not None:
        return Scores.none(why)
    found, names = aligned(case, encoder)
    if not found.arguments:
        return Scores.none("nothing was given to compare with")
    numbers: dict[str, int] = {}
    arguments = []
    for name, p in zip(names, found.p_missing, strict=True):
        numbers[name] = numbers.get(name, 0) + 1
        arguments.append(ArgumentScore(group=name, n=numbers[name], coverage=float(p)))
    worst = found.p_unsupported_sentences.max() if found.sentences else None
    scores = Scores(
        hallucination=Unscored(unscored="the answer is empty") if worst is None else float(worst),
        coverage=float(found.p_missing.max()),
        sentences=tuple(
            SentenceScore(n=sentence.n, hallucination=float(p))
            for sentence, p in zip(found.sentences, found.p_unsupported_sentences, strict=True)
        ),
        arguments=tuple(arguments),
    )
    return where_given(case, scores)


def aligned(case: Case, encoder: Encodes) -> tuple[Alignment, tuple[str, ...]]:
    """The alignment of a case and the group of each of its arguments; passages are taken sentence by sentence."""
    given: Grounding = case.given
    if given.source == "context":
        passages = given.arguments
        chosen = bearing_sentences(passages, case.query, encoder)
        found = align(chosen, case.answer, encoder, question=case.query, evidence=passage_sentences(passages))
        return found, ("context",) * len(chosen)
    names = tuple(group.name for group in given.groups for _ in group.arguments)
    return align(given.arguments, case.answer, encoder, question=case.query), names


_NO_COVERAGE = "looks at the places of what is said, not at what is missing"


class ArrangementDetector(_EncoderDetector):
    """An argument of one side put in the mouth of another, or made twice, by the same alignment as `alignment`.

    Score: hallucination of a sentence = the probability that its worst clause stands where it should not: it says an
        argument of a perspective in whose part of the answer it does not stand, or says again what was said; of the
        answer = the expected share of such clauses among those that say an argument. Coverage is unscored.
    Needs: two or more perspectives, in English as the answer is.
    Reference: own; docs/concepts/detectors.md.
    Examples:
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

    def _score(self, case: Case) -> Scores:
        return score_arrangement(case, self._encoder)


@detector("arrangement", needs=GIVEN, about="arguments under the wrong side, or made twice (encoder)")
def _build_arrangement(resources: Resources) -> ArrangementDetector:
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
    comparison = compare_sides(sides, case.answer, encoder, question=case.query)
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
