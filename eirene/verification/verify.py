"""`verify`: each sentence of an answer with its verdict, and the sentence of the passages that decides it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.records import PASSAGES
from eirene.core.validation import CheckedModel, described
from eirene.core.verification import ClaimVerdict, ClaimWord, Evidence, Verification
from eirene.models.verifier.shipped import shipped_verifier
from eirene.text.cancellation import cancel_scope
from eirene.text.discourse import is_filler
from eirene.text.language import other_language
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.unicode import Text
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ClaimReading, ContextPiece, ContextReader
from eirene.verification.mends.mend import best_mend
from eirene.verification.quotations import check_quotations
from eirene.verification.risk import FAULTED, answer_risk, sentence_risk
from eirene.verification.risk import VERSION as RISK_VERSION

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

VERSION = 2
"""Goes up when the same readings may give other verdicts; part of the version that `Verification.verifier` names."""
SUPPORTED = 0.5
"""Probability of support from which a sentence counts as supported."""
CONTRADICTED = 0.5
"""Probability of contradiction from which one at fault may count as contradicted."""

_ABOUT_THE_DISCUSSION = "speaks of the discussion, and claims nothing of its matter"


class _AnswerWithContext(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    answer: Text
    context: Annotated[list[Text], Field(min_length=1), PASSAGES]


def verify(
    answer: str,
    context: str | Sequence[Any],
    *,
    passage_ids: Sequence[str] | None = None,
    verifier: ReadsPairs | None = None,
) -> Verification:
    """Reads every sentence of an answer against passages, in English, and looks its quotations up in them.

    `context` takes what an item's `context` takes: a text, texts, a retriever's documents. `passage_ids` has an id for
    each of them, to be named with the evidence. Not checked, with the reason: questions, headings, lead-ins, talk about
    the passages or the discussion ("Opinions differ."), and what is in another language or would have to be read in
    one. Raises `InputError` for a blank answer, for a context without passages, and for ids that do not fit.

    Examples:
        >>> passage = "The bridge was opened in 1932. It carries trains and cars."
        >>> found = verify("The bridge opened in 1932. Is it old?", [passage])
        >>> [claim.verdict for claim in found.claims]
        ['supported', 'not checked']
        >>> found.claims[0].evidence.text
        'The bridge was opened in 1932.'
    """
    given = _AnswerWithContext(answer=answer, context=cast("list[str]", context))
    passages = tuple(given.context)
    ids = _checked_ids(passage_ids, len(passages))
    reader = shipped_verifier() if verifier is None else verifier
    sentences = [s for s in split_sentences(given.answer) if s.text]
    claims = _ClaimJudge(passages, ids, reader).judge(given.answer, sentences)
    risks = [claim.risk for claim in claims if claim.risk is not None]
    return Verification(
        answer=given.answer,
        passages=len(passages),
        claims=tuple(claims),
        quotations=check_quotations(given.answer, sentences, passages, ids),
        risk=answer_risk(risks) if risks else None,
        verifier=f"verifier={reader.encoder.digest}/{reader.digest}/{RISK_VERSION}.{VERSION}",
    )


async def averify(
    answer: str,
    context: str | Sequence[Any],
    *,
    passage_ids: Sequence[str] | None = None,
    verifier: ReadsPairs | None = None,
) -> Verification:
    """`verify` for async callers: the same, in a thread, so that the event loop goes on.

    Examples:
        >>> import asyncio
        >>> asyncio.run(averify("The bridge is red.", "The bridge was painted red.")).claims[0].verdict
        'supported'
    """
    with cancel_scope():  # a thread that nobody waits for any more ends at its next sentence
        return await asyncio.to_thread(verify, answer, context, passage_ids=passage_ids, verifier=verifier)


def _checked_ids(ids: Sequence[str] | None, passages: int) -> Sequence[str | None]:
    if ids is None:
        return [None] * passages
    if isinstance(ids, str) or not all(isinstance(name, str) for name in ids) or len(ids) != passages:
        raise InputError(
            f"passage_ids must be a list of texts, one for each of the {passages} passages, got {described(ids)}",
            field="passage_ids",
        )
    return ids


class _ClaimJudge:
    """Judges sentences against passages. What is made of the passages is made once."""

    def __init__(self, passages: Sequence[str], ids: Sequence[str | None], verifier: ReadsPairs) -> None:
        self._ids = ids
        self._foreign = {n: language for n, text in enumerate(passages) if (language := other_language(text))}
        self._has_english = len(self._foreign) < len(passages)
        self._reader = ContextReader(verifier, passages)

    def judge(self, answer: str, sentences: Sequence[Sentence]) -> list[ClaimVerdict]:
        """A verdict for every sentence, in order."""
        whole = other_language(answer)
        reasons = [self._not_checked(sentence.text, whole) for sentence in sentences]
        claims = [claim_of(s.text) for s, why in zip(sentences, reasons, strict=True) if why is None]
        readings = iter(self._reader.read(claims))
        texts = [sentence.text for sentence in sentences]
        return [
            self._judged(sentence, next(readings), texts[:n] + texts[n + 1 :])
            if why is None
            else _unchecked(sentence, why)
            for n, (sentence, why) in enumerate(zip(sentences, reasons, strict=True))
        ]

    def _not_checked(self, sentence: str, answer_language: str | None) -> str | None:
        if answer_language is not None:
            return f"the answer reads as {answer_language}, and the verifier reads English"
        if not self._has_english:
            languages = " and ".join(dict.fromkeys(self._foreign.values()))
            return f"the passages read as {languages}, and the verifier reads English"
        language = other_language(sentence)
        if language is not None:
            return f"the sentence reads as {language}, and the verifier reads English"
        return claims_nothing(sentence) or (_ABOUT_THE_DISCUSSION if is_filler(sentence) else None)

    def _judged(self, sentence: Sentence, reading: ClaimReading, others: Sequence[str]) -> ClaimVerdict:
        verdict, piece = self._verdict(sentence.text, reading, others)
        if verdict != "supported" and self._foreign:  # a passage that was not understood may say it
            number, language = next(iter(self._foreign.items()))
            return _unchecked(sentence, f"passage {number + 1} reads as {language}, and the others do not say it")
        place = None if piece is None else self._evidence(piece.source, piece.start, piece.end, piece.text)
        return ClaimVerdict(
            **_place(sentence),
            verdict=verdict,
            supported=reading.supported,
            contradicted=reading.contradicted,
            risk=sentence_risk(reading),
            evidence=place,
        )

    def _verdict(
        self, sentence: str, reading: ClaimReading, others: Sequence[str]
    ) -> tuple[ClaimWord, ContextPiece | None]:
        """The verdict with its evidence. Like the critic, it faults only what people are likely to mark.

        The probability of contradiction alone is no ground for the strongest word: what it takes for one is sound as
        often as any sentence. So it must be shown: a mend from the passages makes the sentence supported.
        """
        if reading.supported >= SUPPORTED:
            return "supported", reading.evidence
        if sentence_risk(reading) <= FAULTED:
            return "unclear", reading.evidence
        mend = best_mend(sentence, reading, self._reader, others) if reading.contradicted >= CONTRADICTED else None
        return ("unsupported", reading.evidence) if mend is None else ("contradicted", mend.after.evidence)

    def _evidence(self, source: int, start: int, end: int, text: str) -> Evidence:
        return Evidence(passage=source + 1, id=self._ids[source], start=start, end=end, text=text)


def _unchecked(sentence: Sentence, why: str) -> ClaimVerdict:
    return ClaimVerdict(**_place(sentence), verdict="not checked", why=why)


def _place(sentence: Sentence) -> Any:
    return {"n": sentence.n, "start": sentence.text_start, "end": sentence.text_end, "text": sentence.text}
