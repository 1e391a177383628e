"""Unsaid: the passages' sentences that bear on a question and that an answer does not say, likeliest missed first.

The probability that people would miss a sentence is a logistic regression on closeness to question and answer, words
that the answer has of it, and its place, fitted on what they missed (`benchmarks/fit_unsaid.py`). Nothing is read by
the verifier: it told no more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment.align import Logistic, read_json
from eirene.core.verification import UnsaidSentence
from eirene.text.language import other_language
from eirene.text.leaning import pronoun
from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import find_specifics, specifics_index
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.text.values.mention import Mention
    from eirene.verification.context import ContextReader
    from eirene.verification.framed import ContextPiece

MEASURES = ("place", "asked", "worded", "before", "answers", "nearness", "alike", "pronoun")
"""Of a passage's sentence: how far into the passage it stands, 0 to 1 at the eleventh; its cosine with the question
below that of the best, for as much as the answer lacks its words; how much over `_WORDED` of its words the answer has;
the share that the answer has of the sentence before; 1 if a value of the kind that is asked for is new; its cosine with
the whole answer; how much over `_ALIKE` its cosine with a sentence of the answer is; 1 if it begins with a pronoun."""
LEAST = 0.2
"""Probability from which a sentence is named: of those named people had missed three in ten."""
MOST = 3
"""Sentences that are named."""
_WORDED, _ALIKE, _FAR = 0.8, 0.85, 10
_MONTH_OR_YEAR = re.compile(
    r"\b(?:1\d{3}|20\d\d|january|february|march|april|may|june|july|august|september|october|november|december)\b",
    re.IGNORECASE,
)
_WHEN = re.compile(r"when\b|.*\bwhat (?:year|date)\b", re.IGNORECASE)
_WHO_OR_WHERE = re.compile(r"who\b|where\b|.*\bwhat city\b", re.IGNORECASE)
_HOW_MANY = re.compile(r"how (?:many|much|long|old)\b", re.IGNORECASE)


def unsaid_sentences(
    question: str,
    answer: str,
    reader: ContextReader,
    ids: Sequence[str | None] = (),
    *,
    used: Collection[ContextPiece | None] = (),
) -> tuple[UnsaidSentence, ...]:
    """The sentences of the passages of `reader` that an answer seems to leave out, at most `MOST`, likeliest first.

    `ids` has one for each passage, or is empty; none of `used`, the pieces that support the answer, is named. None
    without a question, and where question, answer or passages are not in English. Fields of JSON and tables, and
    questions, are not looked at.
    """
    if not question.strip() or not answer.strip() or other_language(question) or other_language(answer):
        return ()
    p = _shipped()(unsaid_measures(question, answer, reader))
    read = {n for n, text in enumerate(reader.texts) if not other_language(text)}
    likely = [(float(p[k]), reader.pieces[int(k)]) for k in np.argsort(-p, kind="stable") if p[k] >= LEAST]
    named = [(chance, piece) for chance, piece in likely if piece not in used and piece.source in read]
    named = [(chance, piece) for chance, piece in named if piece.field is None and not piece.text.endswith("?")]
    return tuple(UnsaidSentence(evidence=piece.evidence(ids), probability=chance) for chance, piece in named[:MOST])


@lru_cache(maxsize=1)
def _shipped() -> Logistic:
    return Logistic.read(read_json("eirene.verification", "unsaid.json"), "unsaid", MEASURES, file="unsaid.json")


def unsaid_measures(question: str, answer: str, reader: ContextReader) -> NDArray[np.float32]:
    """The measures `MEASURES` of each piece, [pieces, 8]."""
    pieces, vectors = reader.pieces, reader.vectors
    if not pieces:
        return np.zeros((0, len(MEASURES)), np.float32)
    sentences = [s.text for s in split_sentences(answer) if s.text]
    asked, whole, *said = reader.encoder.encode([question, answer, *sentences])
    source = np.array([piece.source for piece in pieces])
    first = np.searchsorted(source, source)  # of the same passage: pieces stand in order
    worded = reader.worded(frozenset(stems(answer)))
    follows = np.arange(len(pieces)) > first
    closeness = vectors @ asked
    alike = (vectors @ np.array(said).T).max(axis=1) if said else np.zeros(len(pieces))
    kind, index = _asks_for(question), specifics_index(answer)
    columns = (
        np.minimum(np.arange(len(pieces)) - first, _FAR) / _FAR,
        (closeness - closeness.max()) * (1.0 - worded),
        np.maximum(worded - _WORDED, 0.0),
        np.where(follows, np.roll(worded, 1), 0.0),
        np.array([any(kind(m, p.text) and not index.holds(m) for m in find_specifics(p.text)) for p in pieces]),
        vectors @ whole,
        np.maximum(alike - _ALIKE, 0.0),
        np.array([pronoun(piece.text) is not None for piece in pieces]),
    )
    return np.stack(columns, axis=-1).astype(np.float32)


def _asks_for(question: str) -> Callable[[Mention, str], bool]:
    """Tells whether a mention in a text is of the kind that a question asks for."""
    if _WHEN.match(question):
        return lambda m, text: not m.is_weak and _MONTH_OR_YEAR.search(text[m.start : m.end]) is not None
    if _WHO_OR_WHERE.match(question):
        return lambda m, text: not m.is_weak and m.kind == "name"
    if _HOW_MANY.match(question):
        return lambda m, text: not m.is_weak and m.kind not in ("name", "quotation")
    return lambda m, text: False
