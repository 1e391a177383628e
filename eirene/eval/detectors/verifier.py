"""The `verifier` detector: every sentence read against the given texts by the shipped verifier."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from eirene.core.scores import ArgumentScore, Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, Case, where_given
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.text.language import unsupported_language
from eirene.text.sentences import split_sentences
from eirene.verification.claims import claim_of
from eirene.verification.context import ContextReader
from eirene.verification.judging import answer_risk, judge_of, version_of

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import ReadsTokens
    from eirene.models.verifier.runtime import Verifier

NO_COVERAGE = "passages: reads what is said against them, not what is missing"


class VerifierDetector:
    """Each sentence read beside the given texts by a small head on the encoder's token vectors.

    Score: hallucination of a sentence = the chance that people would mark it (`eirene.verification.judging`): whether
        the given texts support it, and how much of it stands there; unscored where it claims nothing (a question, a
        heading, a lead-in); of the answer = the chance that one of its sentences would be marked; coverage of an
        argument = the probability that the answer does not support it, of the answer = the worst argument; of passages
        unscored.
    Needs: given text, in English as the answer is. With source `derived` hallucination is unscored.
    Reference: own; docs/concepts/verifier.md.
    Examples:
        >>> import asyncio
        >>> from eirene.core.grounding import ArgumentGroup, Grounding
        >>> from eirene.models.encoder import load_encoder
        >>> from eirene.models.verifier.runtime import load_verifier
        >>> given = Grounding("context", (ArgumentGroup("context", ("The bridge was opened in 1932.",)),))
        >>> case = Case("When?", "It was opened in 1932. It was opened in 1950.", given)
        >>> scores = asyncio.run(VerifierDetector(load_verifier(load_encoder())).score(case, meter=Meter()))
        >>> [round(s.hallucination) for s in scores.sentences]
        [0, 1]
    """

    name = "verifier"
    needs = GIVEN

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.version = version_of(verifier)

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; calls no model but encoder and head, in a thread so that others may go on."""
        return await asyncio.to_thread(score_verifier, case, self._verifier)


@detector("verifier", needs=GIVEN, about="sentences read against what was given (small verifier)")
def _build_verifier(resources: Resources) -> VerifierDetector:
    from eirene.models.verifier.runtime import load_verifier

    def load() -> Verifier:
        return load_verifier(cast("ReadsTokens", resources.encoder))

    return VerifierDetector(resources.once("verifier", load))


def score_verifier(case: Case, verifier: Verifier) -> Scores:
    """What `VerifierDetector` gives."""
    why = unsupported_language(case.answer, case.given.arguments)
    if why is not None:
        return Scores.none(why)
    if not any(text.strip() for text in case.given.arguments):
        return Scores.none("nothing was given to compare with")
    arguments = () if case.given.source == "context" else _arguments(case, verifier)
    coverage = max((float(a.coverage) for a in arguments if isinstance(a.coverage, float)), default=None)
    missing = Unscored(unscored=NO_COVERAGE) if coverage is None else coverage
    sentences = () if case.given.source == "derived" else _sentences(case, verifier)
    scored = [s.hallucination for s in sentences if isinstance(s.hallucination, float)]
    of_answer = answer_risk(scored) if scored else Unscored(unscored="no sentence of the answer claims anything")
    return where_given(
        case, Scores(hallucination=of_answer, coverage=missing, sentences=sentences, arguments=arguments)
    )


def _sentences(case: Case, verifier: Verifier) -> tuple[SentenceScore, ...]:
    sentences = [s for s in split_sentences(case.answer) if s.text]
    are_sides = case.given.source == "perspectives"
    asked = "" if are_sides else case.query
    judge = judge_of(tuple(case.given.arguments), verifier, question=asked, are_sides=are_sides)
    return tuple(
        SentenceScore(n=s.n, hallucination=Unscored(unscored=own.why or "") if own.risk is None else own.risk)
        for s, own in zip(sentences, judge.judge(case.answer, [s.text for s in sentences]), strict=True)
    )


def _arguments(case: Case, verifier: Verifier) -> tuple[ArgumentScore, ...]:
    """Whether the answer supports each argument: the answer's sentences are the premises."""
    texts = [text for group in case.given.groups for text in group.arguments]
    readings = iter(ContextReader(verifier, [case.answer]).read([claim_of(text) for text in texts]))
    return tuple(
        ArgumentScore(group=group.name, n=n, coverage=1.0 - next(readings).supported)
        for group in case.given.groups
        for n, _ in enumerate(group.arguments, start=1)
    )
