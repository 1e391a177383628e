"""The critic by reading: sentences that the passages do not support, each with the sentence that decides.

The verifier reads every sentence that claims something beside the passages. One that a few other words make supported
is mended; of the others those that people would mark (`eirene.verification.risk`) go where that is sure, or are only
named. None of the others is called contradictory: that a sentence is probably contradicted is no ground for it, since
what it is said of is contradicted no more often than any sentence. Only a mend shows it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eirene.core.critique import Finding, FindingKind
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import cite_passage
from eirene.feedback_model.embedded.faults import AnswerFault
from eirene.feedback_model.embedded.removals import Removals
from eirene.text.language import other_language
from eirene.text.quoting import one_line
from eirene.text.sentences import Sentence
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.mends.mend import OLD_SUPPORTED, Mend, best_mend
from eirene.verification.risk import FAULTED, sentence_risk

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

VERSION = 3
"""Goes up when the same readings may give other findings; part of the signature."""
_FAINT = -6.0
_SUREST = 0.95
_SHOWN = 240


def faults_by_reading(
    request: FeedbackRequest, verifier: ReadsPairs, unsupported: FindingKind = "unsupported"
) -> tuple[AnswerFault, ...]:
    """The sentences of an answer that its item's passages do not support, in order; `unsupported` is their kind.

    Sentences that claim nothing, and those in another language, are not judged.
    """
    reader = ContextReader(verifier, request.item.context or ())
    readings = _readings(request.sentences, reader)
    texts = [s.text for s in request.sentences]
    mends = {i: best_mend(texts[i], r, reader, texts[:i] + texts[i + 1 :]) for i, r in readings.items()}
    margins = {i: _margin(r, mends[i]) for i, r in readings.items()}
    left = [i for i, margin in margins.items() if margin > 0 and mends[i] is None]
    mended = frozenset(i for i, mend in mends.items() if mend is not None)
    item = request.item
    may_go = Removals(request.answer, item.question, request.sentences, readings, reader, mended, query=item.query)
    gone = may_go.chosen(left)
    found = []
    for i, reading in readings.items():
        if margins[i] <= _FAINT:
            continue
        finding = _finding(request.sentences[i], reading, mends[i], gone=i in gone, unsupported=unsupported)
        fault = AnswerFault(i, margins[i], finding.reason, (finding,))
        mend = mends[i]
        evidence = reading.evidence if mend is None else mend.after.evidence
        found.append(cite_passage(fault, evidence.text if evidence else "", request.item))
    return tuple(found)


def _readings(sentences: Sequence[Sentence], reader: ContextReader) -> dict[int, ClaimReading]:
    """The readings of the sentences that claim something, by index."""
    judged = [i for i, s in enumerate(sentences) if s.text and claims_nothing(s.text) is None]
    readings = reader.read([claim_of(sentences[i].text) for i in judged])
    found = dict(zip(judged, readings, strict=True))
    doubted = (i for i, r in found.items() if _margin(r, None) > 0 or r.supported <= OLD_SUPPORTED)
    foreign = {i for i in doubted if other_language(sentences[i].text) is not None}
    return {i: r for i, r in found.items() if i not in foreign}


def _margin(reading: ClaimReading, mend: Mend | None) -> float:
    """Log odds of being faulty above the threshold. A mend that stands says so by how much it gains, however much of
    the sentence is given: one wrong word in a sentence of the passages is the common case."""
    margin = _log_odds(sentence_risk(reading)) - _log_odds(FAULTED)
    return margin if mend is None else max(margin, _log_odds(min(0.5 + mend.margin / 2, _SUREST)))


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1.0 - 1e-6)
    return math.log(p / (1.0 - p))


def _finding(
    sentence: Sentence, reading: ClaimReading, mend: Mend | None, *, gone: bool, unsupported: FindingKind
) -> Finding:
    if mend is not None:
        start, end = sentence.text_start + mend.start, sentence.text_start + mend.end
        return Finding(kind=mend.kind, start=start, end=end, reason=_mend_reason(mend), edit=mend.new)
    edit = "" if gone else None
    start, end = sentence.text_start, sentence.text_end
    return Finding(kind=unsupported, start=start, end=end, reason=_reason(reading), edit=edit)


def _mend_reason(mend: Mend) -> str:
    evidence = mend.after.evidence
    assert evidence is not None  # a mend that stands was read beside passages
    return f'The passages say: "{one_line(evidence.text, _SHOWN)}"'


def _reason(reading: ClaimReading) -> str:
    if reading.evidence is None:
        return "Not in the passages."
    return f'Not in the passages; the nearest sentence says: "{one_line(reading.evidence.text, _SHOWN)}"'
