"""The critic by reading: sentences that the passages do not support, each with the sentence that decides.

Sentences are judged as everywhere (`eirene.verification.judging`). One that a few other words make supported is mended;
of the other faulty ones those go that surely nothing supports, the rest is only named.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from eirene.core.critique import Finding, FindingKind
from eirene.core.grounding import given_texts
from eirene.core.usage import Meter
from eirene.feedback_model.base import ConfirmsCorrections, FeedbackRequest
from eirene.feedback_model.citation import cite_passage
from eirene.feedback_model.embedded.faults import AnswerFault
from eirene.feedback_model.embedded.removals import Removals
from eirene.text.clauses import opening_length
from eirene.text.quoting import one_line
from eirene.text.sentences import Sentence
from eirene.verification.claims import claim_of
from eirene.verification.judging import FAULTED, JudgedSentence, judge_of, log_odds
from eirene.verification.mends import Mend, likely_mend

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

VERSION = 13
"""Goes up when the same readings may give other findings; part of the signature."""
_SURE = 3.0
"""Least margin of a faulty sentence, in log odds: no draw of a critique turns a verdict."""
_SHOWN = 240
_JUDGED_BY = 4
"""Sentences of the passages by which a judge confirms a mend, beside the one that carries it."""
_TOLD = 3
"""Reasons that are told where nothing was checked, the most frequent first."""


def faults_by_reading(
    request: FeedbackRequest,
    verifier: ReadsPairs,
    unsupported: FindingKind = "unsupported",
    confirmed: Mapping[int, Mend] = MappingProxyType({}),
) -> tuple[AnswerFault, ...] | str:
    """The sentences of an answer that its item's passages do not support, in order; `unsupported` is the kind of those
    that nothing denies; `confirmed`: see `confirmed_mends`.

    Sentences that claim nothing, and those in another language, are not judged. Why there is no judgement where that
    is all of them.
    """
    item, texts = request.item, [s.text for s in request.sentences]
    judge = judge_of(tuple(item.context or ()), verifier, question=item.query)
    everything = judge.judge(request.answer, texts)
    judged = {i: own for i, own in enumerate(everything) if own.reading is not None}
    judged |= {i: judged[i].mended(mend) for i, mend in confirmed.items()}
    if not judged:
        return _nothing_checked([own for own, text in zip(everything, texts, strict=True) if text])
    readings = {i: own.reading for i, own in judged.items() if own.reading is not None}
    faulty = {i: own for i, own in judged.items() if own.is_faulty}
    left = [i for i, own in faulty.items() if own.mend is None]
    mended = frozenset(i for i, own in judged.items() if own.mend is not None)
    removals = Removals(
        request.answer, item.question, request.sentences, readings, judge.reader, mended, query=item.query
    )
    gone = removals.chosen(left)
    found = []
    for i, own in faulty.items():
        finding = _finding(request.sentences[i], own, gone=i in gone, unsupported=unsupported)
        fault = AnswerFault(i, _margin(own), finding.reason, (finding,))
        found.append(cite_passage(fault, own.evidence.quoted if own.evidence else "", item))
    return tuple(found)


async def confirmed_mends(
    request: FeedbackRequest, verifier: ReadsPairs, judge: ConfirmsCorrections, *, meter: Meter
) -> dict[int, Mend]:
    """Mends in other words than the passages', of sentences (by index) without a surer one, that a judge confirms by
    the sentences of the passages that bear on them. Raises what the judge raises."""
    texts, confirmed = [s.text for s in request.sentences], dict[int, Mend]()
    own = judge_of(tuple(request.item.context or ()), verifier, question=request.item.query)
    judged = await asyncio.to_thread(own.judge, request.answer, texts)
    for i, (text, one) in enumerate(zip(texts, judged, strict=True)):
        if one.reading is None or one.mend is not None or text.startswith("|"):  # a row of a table
            continue
        mend = await asyncio.to_thread(likely_mend, text, one.reading, own.reader, [*texts[:i], *texts[i + 1 :]])
        if mend is not None:
            pieces = [*own.reader.nearest(claim_of(text), _JUDGED_BY), mend.after.evidence]
            given = "\n".join(dict.fromkeys(piece.text for piece in pieces if piece is not None))
            if await judge.confirms(given, text, mend.applied(text), meter=meter):
                confirmed[i] = mend
    return confirmed


def _nothing_checked(judged: Sequence[JudgedSentence]) -> str:
    counted = Counter(own.why for own in judged)
    told = "; ".join(f"{n} {'sentence' if n == 1 else 'sentences'}: {why}" for why, n in counted.most_common(_TOLD))
    return f"nothing in the answer could be checked ({told or 'it has no sentence'})"


def mends_by_reading(request: FeedbackRequest, verifier: ReadsPairs) -> tuple[AnswerFault, ...]:
    """The sentences of an answer to given arguments that a few words of an argument put right, in order."""
    openings = [opening_length(s.text) for s in request.sentences]  # who says it, no argument says
    texts = [s.text[cut:] for s, cut in zip(request.sentences, openings, strict=True)]
    judge = judge_of(given_texts(request.item), verifier, are_sides=True)
    found = []
    for i, own in enumerate(judge.judge(request.answer, texts)):
        if own.mend is not None:
            begins = request.sentences[i].text_start + openings[i]
            finding = _mend_finding(begins, own.mend, f"Given is: {_shown(own)}")
            found.append(AnswerFault(i, _margin(own), finding.reason, (finding,)))
    return tuple(found)


def _margin(judged: JudgedSentence) -> float:
    return max(log_odds(judged.risk or 0.0) - log_odds(FAULTED), _SURE)


def _mend_finding(begins: int, mend: Mend, reason: str) -> Finding:
    return Finding(kind=mend.kind, start=begins + mend.start, end=begins + mend.end, reason=reason, edit=mend.new)


def _shown(judged: JudgedSentence) -> str:
    return "" if judged.evidence is None else f'"{one_line(judged.evidence.text, _SHOWN)}"'


def _finding(sentence: Sentence, judged: JudgedSentence, *, gone: bool, unsupported: FindingKind) -> Finding:
    start, mend = sentence.text_start, judged.mend
    if mend is not None:
        return _mend_finding(start, mend, _reason(judged))
    kind = "contradictory" if judged.verdict == "contradicted" else unsupported
    edit = "" if gone else None
    return Finding(kind=kind, start=start, end=sentence.text_end, reason=_reason(judged), edit=edit)


def _reason(judged: JudgedSentence) -> str:
    if judged.evidence is None:
        return "Not found in the passages."
    said = _shown(judged)
    if judged.verdict == "contradicted":
        return f"The passages say: {said}"
    is_open = judged.reading is not None and judged.reading.framed == "open"
    found = "The passages leave it open" if is_open else "Not found in the passages; the nearest sentence says"
    return f"{found}: {said}"
