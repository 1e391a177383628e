"""`verify`: each sentence of an answer with its verdict, and the sentence of the given texts that decides it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eirene.core.errors import InputError
from eirene.text.language import unsupported_language
from eirene.text.sentences import split_sentences
from eirene.verification.claims import claim_of, claims_nothing
from eirene.verification.context import ContextReader

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import Verifier

SentenceVerdict = Literal["supported", "unsupported", "contradicted", "not judged"]
SUPPORTED = 0.5
"""Probability of support from which a sentence counts as supported."""
CONTRADICTED = 0.5
"""Probability of contradiction from which one that is not supported counts as contradicted."""


@dataclass(frozen=True, slots=True)
class DecidingSentence:
    """The sentence of a given text that decides: the text's index, and offsets into it."""

    source: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class VerifiedSentence:
    """A sentence of the answer (`n` from 1; offsets) and what the given texts say of it.

    `supported` and `contradicted` are probabilities in [0, 1], None where it is not judged, for the reason `why`.
    """

    n: int
    start: int
    end: int
    text: str
    verdict: SentenceVerdict
    supported: float | None = None
    contradicted: float | None = None
    evidence: DecidingSentence | None = None
    why: str | None = None


def verify(answer: str, context: Sequence[str], *, verifier: Verifier | None = None) -> tuple[VerifiedSentence, ...]:
    """Reads every sentence of an answer against passages (or arguments), in English.

    Questions, headings, lead-ins and talk about the passages are not judged, nor is any sentence where answer or
    passages are in another language. Raises `InputError` for passages that are no list of texts, or that hold no word.

    Examples:
        >>> passage = "The bridge was opened in 1932. It carries trains and cars."
        >>> [s.verdict for s in verify("The bridge opened in 1932. Is it old?", [passage])]
        ['supported', 'not judged']
    """
    if isinstance(context, str) or not all(isinstance(text, str) for text in context):
        raise InputError("context must be a list of texts", field="context")
    if not any(text.strip() for text in context):
        raise InputError("context holds no text: give passages to read the answer against", field="context")
    sentences = [s for s in split_sentences(answer) if s.text]
    language = unsupported_language(answer, tuple(context))
    if verifier is None and language is None:
        from eirene.models.encoder import load_encoder
        from eirene.models.verifier.runtime import load_verifier

        verifier = load_verifier(load_encoder())
    reasons = [language or claims_nothing(s.text) for s in sentences]
    judged = [s for s, why in zip(sentences, reasons, strict=True) if why is None]
    readings = iter(ContextReader(verifier, context).read([claim_of(s.text) for s in judged]) if verifier else ())
    found = []
    for sentence, why in zip(sentences, reasons, strict=True):
        place = (sentence.n, sentence.text_start, sentence.text_end, sentence.text)
        if why is not None:
            found.append(VerifiedSentence(*place, "not judged", why=why))
            continue
        reading = next(readings)
        piece = reading.evidence
        evidence = None if piece is None else DecidingSentence(piece.source, piece.start, piece.end, piece.text)
        verdict = verdict_of(reading.supported, reading.contradicted)
        found.append(VerifiedSentence(*place, verdict, reading.supported, reading.contradicted, evidence))
    return tuple(found)


def verdict_of(supported: float, contradicted: float) -> SentenceVerdict:
    """The verdict for the two probabilities."""
    if supported >= SUPPORTED:
        return "supported"
    return "contradicted" if contradicted >= CONTRADICTED else "unsupported"
