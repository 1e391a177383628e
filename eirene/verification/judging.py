"""Judgement: a sentence's verdict and risk by what given texts say; one for `verify`, critics, scores and checks.

The risk is how likely it is that people would mark a sentence, or an answer, as not carried by the given texts: what
the verifier reads and what words and sentence vectors tell, weighed by a logistic regression that is fitted on marked
answers (`benchmarks/fit_reading.py`). Each sees faults that the other misses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eirene.core.memo import Memo
from eirene.core.verification import FAULTY, ClaimWord
from eirene.text.discourse import concludes
from eirene.text.fields import fields_of
from eirene.text.frames import StatementFrame, frame_of, frames_of
from eirene.text.language import other_language
from eirene.text.remembered import memoised
from eirene.text.words import stems
from eirene.verification.claims import MAY_BE_TALK, claim_of, not_checked, talk_chances
from eirene.verification.context import CONTRADICTED, SUPPORTED, ClaimReading, ContextReader
from eirene.verification.mends import Mend, best_mend
from eirene.verification.opposites import denies, exchanges, opposes

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs
    from eirene.verification.framed import ContextPiece

VERSION = "2.23"
"""Goes up when the same texts may be judged otherwise (fit of the risk, rules); part of what judges by it."""
_SUREST = 0.95
_DISPUTED = 0.3
"""Least risk of what one sentence supports and another one denies: not faulted, and not sure."""
_LEFT = 0.2
"""Risk of what no sentence of the texts holds and is no fault to name: low enough to be faulted by no draw."""
_WORDED, _WORDED_FAULTED = 0.5, 0.45
"""Share of a sentence's words that stand in the texts from which it is faulted above this risk alone; below it 5 of 18
such flags were right (`benchmarks/verify_marks.py --part fit`)."""
_TOGETHER = 0.5
"""Support by several sentences at once from which what none supports is no fault: of such sentences people had marked
4 of 25, of the other faulted ones 35 of 74 (RAGTruth, the quarter for fitting)."""
LEAST_DENIED = 0.5
"""Least risk of what the texts deny, or have with another figure."""
FAULTED = 0.35
"""Risk above which a sentence is faulted."""
_SUPPORT, _COSINE, _WORDS, _ANYWHERE, _BIAS = 0.804, -0.889, -0.776, -1.035, 0.136
_SAME_MATTER = 0.35
"""Cosine from which a sentence whose values follow speaks of what the texts do: of inventions with a number it was at
most 0.31."""
_FOLLOWS = 0.2
"""Most risk of such a sentence: that is not faulted."""
_STRANGE = 0.4
"""Least risk of what is not supported and has a value that stands nowhere and follows from nothing."""
_CLOSEST = 1e-4
"""Support is taken as no surer than this."""
_KEPT, _LONGEST = 4, 200_000
"""Judges, and answers of each, that are kept, and characters of the texts of such a judge."""
_SUPPOSED = "is denied, asked or supposed in the answer"


def sentence_risk(reading: ClaimReading) -> float:
    """The chance in (0, 1) that people would mark the sentence of a reading; near 1 without anything to read.

    The verifier does not count: a sentence whose values follow from those of the texts is not at fault by its reading.
    """
    support = min(max(reading.supported, _CLOSEST), 1.0 - _CLOSEST)
    odds = -math.log(support / (1.0 - support))
    of_words = _COSINE * reading.cosine + _WORDS * reading.words + _ANYWHERE * reading.words_anywhere
    risk = 1.0 / (1.0 + math.exp(-(_SUPPORT * odds + of_words + _BIAS)))
    if reading.values.strange and reading.supported < SUPPORTED:
        return max(risk, _STRANGE)
    return min(risk, _FOLLOWS) if reading.values.follows and reading.cosine >= _SAME_MATTER else risk


def answer_risk(risks: Sequence[float]) -> float:
    """The chance that at least one of an answer's sentences would be marked: that of the riskiest, and of the others as
    of so many independent ones as the square root of their number; 0 without any.

    Taken as independent, all of them make a long sound answer look worse than it is (docs/concepts/verifier.md).
    """
    *others, worst = sorted(risks) or [0.0]
    return 1.0 - (1.0 - worst) * math.prod(1.0 - risk for risk in others) ** (1.0 / math.sqrt(len(others) or 1))


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """What becomes of a sentence. `risk` in (0, 1): above `FAULTED` for the faulty ones alone.

    `mend` puts a contradicted sentence right, None where its words are denied as they are. Of what is not checked there
    is `why` alone, and `unread` where it may claim something and is in another language, or a text is.
    """

    verdict: ClaimWord
    why: str | None = None
    reading: ClaimReading | None = None
    mend: Mend | None = None
    risk: float | None = None
    unread: bool = False

    @property
    def is_faulty(self) -> bool:
        """Whether it is `unsupported` or `contradicted`."""
        return self.verdict in FAULTY

    def mended(self, mend: Mend) -> JudgedSentence:
        """The sentence, contradicted, with a mend that another model has confirmed."""
        return replace(self, verdict="contradicted", mend=mend, risk=max(self.risk or 0.0, LEAST_DENIED))

    @property
    def evidence(self) -> ContextPiece | None:
        """The sentence that decides; of an unclear or unsupported one, what comes nearest."""
        decides = self.reading if self.mend is None else self.mend.after
        return None if decides is None else decides.evidence


class SentenceJudge:
    """Judges an answer's sentences by given texts. What is made of the texts is made once.

    `question` may give values that answers compute with. `are_sides`: the texts are arguments of sides, of which one
    may well deny what another says.
    """

    def __init__(
        self, texts: Sequence[str], verifier: ReadsPairs, *, question: str = "", are_sides: bool = False
    ) -> None:
        self.reader = ContextReader(verifier, texts, question)
        self._foreign = {n: language for n, text in enumerate(texts) if (language := other_language(text))}
        self._has_english = len(self._foreign) < len(texts)
        self._are_sides = are_sides
        self._kept: Memo[tuple[str, ...], tuple[JudgedSentence, ...]] = Memo(_KEPT)

    def judge(self, answer: str, sentences: Sequence[str]) -> Sequence[JudgedSentence]:
        """A judgement for every sentence of an answer, in order."""
        known = self._kept.get(key := (answer, *sentences))
        if known is None:
            self._kept.put(key, known := tuple(self._judgements(answer, sentences)))
        return known

    def _judgements(self, answer: str, sentences: Sequence[str]) -> list[JudgedSentence]:
        whole = other_language(answer)
        frames = frames_of(sentences)
        nothing = not_checked(sentences, self.reader.encoder, self.reader.nearness)
        rows = _rows(answer)
        found: list[JudgedSentence | None] = []
        for text, frame, of_talk in zip(sentences, frames, nothing, strict=True):
            unread = self._unread(text, whole)
            why = unread or (None if text in rows else of_talk or _left_open(text, frame))
            found.append(JudgedSentence("not checked", why, unread=unread is not None) if why else None)
        asked = [n for n, judged in enumerate(found) if judged is None]
        claims = [rows.get(sentences[n]) or [_claim(sentences[n], frames[n])] for n in asked]
        readings = iter(self.reader.read([claim for own in claims for claim in own]))
        for n, own in zip(asked, claims, strict=True):
            if sentences[n] in rows:
                judged = (self._judged(claim, next(readings), is_field=True) for claim in own)
                found[n] = max(judged, key=lambda cell: cell.risk or 0.0)
            else:
                reading, others = next(readings), [*sentences[:n], *sentences[n + 1 :]]
                reading, is_sure = self.reader.countered(own[0], reading)
                mend = best_mend(sentences[n], reading, self.reader, others)
                found[n] = self._judged(sentences[n], reading, mend, is_countered=is_sure)
        return [judged for judged in found if judged is not None]

    def _unread(self, sentence: str, answer_language: str | None) -> str | None:
        """Why a sentence cannot be read, whatever it claims."""
        if answer_language is not None:
            return f"the answer reads as {answer_language}, and the verifier reads English"
        if not self._has_english:
            languages = " and ".join(dict.fromkeys(self._foreign.values()))
            return f"the passages read as {languages}, and the verifier reads English"
        language = other_language(sentence)
        return None if language is None else f"the sentence reads as {language}, and the verifier reads English"

    def _judged(
        self,
        sentence: str,
        reading: ClaimReading,
        mend: Mend | None = None,
        *,
        is_field: bool = False,
        is_countered: bool = False,
    ) -> JudgedSentence:
        """The verdict by what is shown: a mend that stands, or words that deny the claim or have another figure.

        The probability of contradiction alone is no ground for the strongest word: what it takes for one is sound as
        often as any sentence.
        """
        risk = sentence_risk(reading) if mend is None else max(sentence_risk(reading), _risk_of_mended(mend))
        is_denied = reading.contradicted >= CONTRADICTED and (
            reading.framed == "denied" or _is_opposed(claim_of(sentence), reading, is_field)
        )
        verdict: ClaimWord
        if mend is not None or is_denied or is_countered:
            verdict, risk = "contradicted", max(risk, LEAST_DENIED)
        elif reading.denying is not None and not self._are_sides:
            verdict, risk = "unclear", min(max(risk, _DISPUTED), FAULTED)
            reading = replace(reading, evidence=reading.denying)
        elif risk > FAULTED and self._is_left(sentence, reading):
            verdict, risk = "unclear", _LEFT
        elif risk > FAULTED:
            verdict = "unsupported"
        else:
            verdict = "supported" if reading.supported >= SUPPORTED and not reading.values.strange else "unclear"
        if verdict != "supported" and self._foreign:  # a text that was not understood may say it
            number, language = next(iter(self._foreign.items()))
            why = f"passage {number + 1} reads as {language}, and the others do not say it"
            return JudgedSentence("not checked", why, unread=True)
        return JudgedSentence(verdict, None, reading, mend, risk)

    def _is_left(self, sentence: str, reading: ClaimReading) -> bool:
        """Whether what no sentence supports is no fault to name: likely talk, a conclusion, or carried by several at
        once; but for values that stand nowhere and follow from nothing."""
        claim = claim_of(sentence)
        if talk_chances([claim], self.reader.encoder)[0] > MAY_BE_TALK:
            return True
        if reading.values.strange:
            return False
        is_worded = reading.words_anywhere >= _WORDED and sentence_risk(reading) <= _WORDED_FAULTED
        if is_worded or concludes(claim):
            return True
        return reading.framed != "denied" and self.reader.together(claim) >= _TOGETHER


@memoised(_KEPT, small=lambda texts, *_, **__: sum(map(len, texts)) <= _LONGEST)
def judge_of(
    texts: tuple[str, ...], verifier: ReadsPairs, *, question: str = "", are_sides: bool = False
) -> SentenceJudge:
    """`SentenceJudge` for these texts; the last ones are kept: critic, record and page judge one answer in turn."""
    return SentenceJudge(texts, verifier, question=question, are_sides=are_sides)


def version_of(verifier: ReadsPairs) -> str:
    """Encoder, verifier and judgement: the same give the same verdicts."""
    return f"verifier={verifier.encoder.digest}/{verifier.digest}/{VERSION}"


def _is_opposed(sentence: str, reading: ClaimReading, is_field: bool) -> bool:
    """Whether the deciding sentence says the opposite, or a field, here or there, has another value."""
    if (evidence := reading.evidence) is None:
        return False
    if evidence.field is not None and denies(evidence.field, sentence):
        return True
    has_field = is_field or (evidence.field is not None and not set(stems(evidence.text)).isdisjoint(stems(sentence)))
    is_other = opposes(evidence.text, sentence) or (has_field and exchanges(evidence.text, sentence))
    return reading.values.chance is None and is_other


def _rows(answer: str) -> dict[str, list[str]]:
    """The rows of an answer's tables as they stand there, each with what its cells claim."""
    rows: dict[str, list[str]] = {}
    for cell in fields_of(answer) if "|" in answer else ():
        if (row := answer[cell.start : cell.end])[:1] == "|":
            rows.setdefault(row, []).append(cell.text)
    return rows


def _left_open(sentence: str, frame: StatementFrame | None) -> str | None:
    is_left_open = frame is not None and frame.kind == "open" and frame_of(sentence) != frame
    return _SUPPOSED if is_left_open else None


def _claim(sentence: str, frame: StatementFrame | None) -> str:
    """What is compared with the texts; of a sentence that the next one denies, or the one before, the denial."""
    claim = claim_of(sentence)
    if frame is None or frame.kind != "denied" or frame_of(claim) is not None:
        return claim
    return f"It is false that {claim[:1].lower()}{claim[1:]}"


def _risk_of_mended(mend: Mend) -> float:
    """The risk of a sentence with a mend that stands: above `FAULTED` by how much it gains, however much of the
    sentence is given. One wrong word in a sentence of the passages is the common case."""
    gain = min(0.5 + mend.margin / 2, _SUREST)
    odds = FAULTED / (1.0 - FAULTED) * gain / (1.0 - gain)
    return odds / (1.0 + odds)


def log_odds(p: float) -> float:
    """The log odds of a probability, which is taken as no surer than one in a million."""
    p = min(max(p, 1e-6), 1.0 - 1e-6)
    return math.log(p / (1.0 - p))
