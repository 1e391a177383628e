"""Verification: an answer's sentences with verdict and evidence from the passages, and its quotations with their place.

The values that `eirene.verify` returns, and the evidence that models are shown. How they come about is in
`eirene.verification`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from eirene.core.display import Printed
from eirene.core.scores import Probability
from eirene.core.validation import FrozenModel, is_empty, is_none

ClaimWord = Literal["supported", "unclear", "unsupported", "contradicted", "not checked"]
Unit = Literal["passage", "argument"]
"""What an answer is verified against: the passages of a context, or the arguments of perspectives."""
FAULTY: frozenset[ClaimWord] = frozenset({"unsupported", "contradicted"})
QuotationWord = Literal["exact", "altered", "not found", "not checked"]
Offset = Annotated[int, Field(ge=0)]
Number = Annotated[int, Field(ge=1)]


class Evidence(FrozenModel):
    """A place in a passage: `passages[passage - 1][start:end] == text`."""

    passage: Number
    """The passage's number, from 1; or that of the argument, among those of all sides."""
    id: str | None = Field(default=None, exclude_if=is_none)
    """The passage's id, where passages have ids; of an argument its side and number there: `pro, argument 1`."""
    start: Offset
    """The first character in the passage, from 0."""
    end: Offset
    """Behind the last character."""
    text: str
    """The words there: a sentence, or part of one that is longer than 60 words."""


class UnsaidSentence(FrozenModel):
    """A sentence of the passages that bears on the question and that an answer seems to leave out."""

    evidence: Evidence
    """Where it stands."""
    probability: Probability
    """The estimated probability that people would miss it in the answer."""


class NumberedEvidence(FrozenModel):
    """The sentences of the passages that models are shown beside an answer, numbered from 1 in their order."""

    sentences: tuple[Evidence, ...] = ()
    """Those that bear on question and answer, or all."""
    n_given: Annotated[int, Field(ge=0)] = 0
    """How many sentences the passages have."""
    unsaid: tuple[UnsaidSentence, ...] = Field(default=(), exclude_if=is_empty)
    """What the passages say to the question and the answer seems to leave out, likeliest first: refiners are told."""
    cut: str | None = Field(default=None, exclude_if=is_none)
    """Why they are fewer than asked for; null where they are not."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of each sentence's passage; none where the passages have no ids."""
        return tuple(found.id for found in self.sentences if found.id is not None)


class FaultyWords(FrozenModel):
    """Words of a faulty sentence that decide: a passage has others in their place, or none has them."""

    start: Offset
    """Their first character in the answer."""
    end: Offset
    """Behind their last character."""
    text: str
    """The words; empty where some are missing."""
    instead: str | None = Field(default=None, exclude_if=is_none)
    """What the sentence that decides has in their place; null where no passage has the words."""


class ClaimVerdict(FrozenModel):
    """A sentence of the answer, and what the passages say of it."""

    n: Number
    """The sentence's number, from 1, as in a critique."""
    start: Offset
    """Its first character in the answer, from 0."""
    end: Offset
    """Behind its last character."""
    text: str
    """The sentence."""
    verdict: ClaimWord
    """`supported`; `unclear` (at a low risk: hardly supported, or passages dispute it); `unsupported` (no passage
    says it); `contradicted` (one denies it, or with its words in place of a few supports it); or `not checked`."""
    supported: Probability | None = None
    """The verifier's probability that the passages support it; None where it was not checked."""
    contradicted: Probability | None = None
    """The verifier's probability that they contradict it."""
    risk: Probability | None = None
    """The estimated probability that people would mark the sentence as unsupported or contradicted."""
    judged: Probability | None = Field(default=None, exclude_if=is_none)
    """A judge's probability that it is not supported, which risk and verdict then count; null where none was asked."""
    evidence: Evidence | None = None
    """The sentence of a passage that decides; of an unclear or unsupported one, what comes nearest."""
    words: tuple[FaultyWords, ...] = Field(default=(), exclude_if=is_empty)
    """Of a faulty sentence the words that decide, in order; none where all of its words stand in the passages."""
    why: str | None = None
    """Why it was not checked, or why a judge that was asked gave no reading."""
    unread: bool = Field(default=False, exclude_if=is_empty)
    """Whether it may claim something that was not read: it, or a passage, is in a language that is not."""

    @property
    def is_faulty(self) -> bool:
        """Whether it is `unsupported` or `contradicted`."""
        return self.verdict in FAULTY


class WordChange(FrozenModel):
    """Words of a quotation that stand otherwise in the passage."""

    quoted: str
    """The quotation's words; empty where it leaves words out."""
    passage: str
    """The passage's words; empty where the quotation adds words."""


class QuotationCheck(FrozenModel):
    """A quotation in the answer, between double or single quotation marks, looked up in the passages.

    Letters and figures are compared, the signs % $ € £ ¥ ° - + < >, and where sentences end; case, spacing and other
    punctuation are not. One of one or two words is named only where a passage has it.
    """

    n: Number
    """The number of the sentence in which it begins."""
    start: Offset
    """Its first character in the answer, which is a quotation mark."""
    end: Offset
    """Behind its last character."""
    text: str
    """The quotation with its marks."""
    verdict: QuotationWord
    """`exact`: word for word in one passage, with gaps at "..." and "[...]" only, in which no "not" is lost; `altered`:
    but for some words, or in pieces elsewhere; `not found`; or `not checked`, where there are too many."""
    evidence: Evidence | None = None
    """Where it stands; None where it was not found."""
    changes: tuple[WordChange, ...] = ()
    """The words that differ, in order. None where the pieces of an altered quotation are exact, but not in one passage
    in this order."""


class Verification(Printed, FrozenModel):
    """What passages say of an answer, sentence by sentence."""

    id: str | None = Field(default=None, exclude_if=is_none)
    """The row's id, where a row of a data set was verified."""
    answer: str
    """The answer that was checked."""
    passages: Number
    """How many passages it was checked against, or arguments."""
    unit: Unit = Field(default="passage", exclude_if=lambda unit: unit == "passage")
    """Whether these are passages, or arguments of perspectives."""
    claims: tuple[ClaimVerdict, ...]
    """Every sentence of the answer, in order."""
    quotations: tuple[QuotationCheck, ...] = ()
    """Every quotation in the answer, in order."""
    unsaid: tuple[UnsaidSentence, ...] = Field(default=(), exclude_if=is_empty)
    """What the passages say to the question and the answer seems to leave out, likeliest first; none without a
    question."""
    risk: Probability | None = None
    """The estimated probability that people would mark at least one sentence; None where none was checked."""
    verifier: str
    """Encoder, verifier and risk by digest and version: the same gives the same verdicts."""

    @property
    def checked(self) -> tuple[ClaimVerdict, ...]:
        """The sentences that were checked."""
        return tuple(claim for claim in self.claims if claim.verdict != "not checked")

    @property
    def judged(self) -> tuple[ClaimVerdict, ...]:
        """The sentences that a judge was asked about."""
        return tuple(claim for claim in self.claims if claim.judged is not None)

    @property
    def faulty(self) -> tuple[ClaimVerdict, ...]:
        """The sentences that are `unsupported` or `contradicted`."""
        return tuple(claim for claim in self.claims if claim.is_faulty)

    @property
    def unread(self) -> tuple[ClaimVerdict, ...]:
        """The sentences that may claim something, and were not checked: they, or a passage, are in another language."""
        return tuple(claim for claim in self.claims if claim.unread)
