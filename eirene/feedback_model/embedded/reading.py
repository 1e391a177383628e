"""The critic by reading: sentences that the passages do not support, or contradict, each with the deciding sentence.

The verifier reads every sentence that claims something beside the passages. A faulted sentence is mended in a few words
where that is sure, or goes where that is, or is only named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eirene.core.critique import Finding, FindingKind
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import cite_passage
from eirene.feedback_model.embedded.faults import AnswerFault
from eirene.feedback_model.embedded.mends.mend import Mend, best_mend
from eirene.feedback_model.embedded.removals import Removals
from eirene.text.language import other_language
from eirene.text.quoting import one_line
from eirene.text.sentences import Sentence
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ClaimReading, ContextReader

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

VERSION = 1
"""Goes up when the same readings may give other findings; part of the signature."""
FAULTED = 0.35
"""Probability of support below which a sentence is faulted."""
CONTRADICTED = 0.5
"""Probability of contradiction from which a faulted sentence is contradictory, not just unsupported."""
SPREAD = 1.2
"""What the log odds of support are multiplied by, for those of being faulty: `benchmarks/fit_reading.py`."""
_FAINT = -6.0
_SHOWN = 240


def faults_by_reading(
    request: FeedbackRequest, verifier: ReadsPairs, unsupported: FindingKind = "unsupported"
) -> tuple[AnswerFault, ...]:
    """The sentences of an answer that its item's passages do not support, in order; `unsupported` is their kind.

    Sentences that claim nothing, and those in another language, are not judged.
    """
    reader = ContextReader(verifier, request.item.context or ())
    readings = _readings(request.sentences, reader)
    margins = {i: _margin(reading.supported) for i, reading in readings.items()}
    faulted = [i for i, margin in margins.items() if margin > 0]
    texts = [s.text for s in request.sentences]
    mends = {i: best_mend(texts[i], readings[i], reader, texts[:i] + texts[i + 1 :]) for i in faulted}
    left = [i for i in faulted if mends[i] is None]
    gone = Removals(request.answer, request.item.question, request.sentences, readings, reader).chosen(left)
    found = []
    for i, reading in readings.items():
        if margins[i] <= _FAINT:
            continue
        finding = _finding(request.sentences[i], reading, mends.get(i), gone=i in gone, unsupported=unsupported)
        fault = AnswerFault(i, margins[i], finding.reason, (finding,))
        found.append(cite_passage(fault, reading.evidence.text if reading.evidence else "", request.item))
    return tuple(found)


def _readings(sentences: Sequence[Sentence], reader: ContextReader) -> dict[int, ClaimReading]:
    """The readings of the sentences that claim something, by index."""
    judged = [i for i, s in enumerate(sentences) if s.text and claims_nothing(s.text) is None]
    readings = reader.read([claim_of(sentences[i].text) for i in judged])
    found = dict(zip(judged, readings, strict=True))
    return {i: r for i, r in found.items() if _margin(r.supported) <= 0 or other_language(sentences[i].text) is None}


def _margin(supported: float) -> float:
    """Log odds above the threshold of being faulted."""
    return SPREAD * (_log_odds(FAULTED) - _log_odds(supported))


def _log_odds(p: float) -> float:
    p = min(max(p, 1e-6), 1.0 - 1e-6)
    return math.log(p / (1.0 - p))


def _finding(
    sentence: Sentence, reading: ClaimReading, mend: Mend | None, *, gone: bool, unsupported: FindingKind
) -> Finding:
    reason = _reason(reading)
    if mend is not None:
        start = sentence.text_start + mend.start
        end = sentence.text_start + mend.end
        return Finding(kind=mend.kind, start=start, end=end, reason=reason, edit=mend.new)
    kind = "contradictory" if reading.contradicted >= CONTRADICTED else unsupported
    edit = "" if gone else None
    return Finding(kind=kind, start=sentence.text_start, end=sentence.text_end, reason=reason, edit=edit)


def _reason(reading: ClaimReading) -> str:
    if reading.evidence is None:
        return "Not in the passages."
    said = one_line(reading.evidence.text, _SHOWN)
    if reading.contradicted >= CONTRADICTED:
        return f'The passages say: "{said}"'
    return f'Not in the passages; the nearest sentence says: "{said}"'
