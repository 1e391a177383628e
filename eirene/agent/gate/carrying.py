"""Carrying: how surely given texts carry a claim. By alignment and words; the verifier has a check of its own.

A claim is a sentence or a clause that an edit brings in, the premises are the arguments or the passages' sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from eirene.alignment import Constants, align, load_constants
from eirene.alignment.align import frozen, is_small
from eirene.alignment.calibration import Logistic
from eirene.alignment.comparison import passage_sentences
from eirene.alignment.features import PROTOTYPES, measure
from eirene.core.memo import memoised
from eirene.text.words import stems

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

Array = NDArray[np.float64]
Vectors = NDArray[np.float32]

BY_ARGUMENTS = ("support", "says", "says_missing", "unknown", "question", "claimless", "own", "precision")
BY_PASSAGES = ("support", "unknown", "question", "claimless", "own", "precision")

# Fitted once: arguments on NPOV training answers and on ArgKP training topics (which the encoder was not trained on),
# passages on RAGTruth answers, both against unsupported sentences of those sets and foreign ones of ten kinds, written
# for it. benchmarks/fit_gate_support.py fits the like without ArgKP and with other weights: not these very numbers.
_ARGUMENTS = Logistic((7.49, -2.97, 6.76, 3.22, 5.45, -4.57, 7.55, 1.73), -10.4)
_PASSAGES = Logistic((3.81, 0.1, 3.82, 0.89, 0.47, 5.4), -6.0)

_NEAREST = 3
"""The passages' sentences nearest to a claim: one claim may draw on several."""


@dataclass(frozen=True, slots=True)
class Carried:
    """For each of n claims the probability, in [0, 1], that the premises support it, and that they contradict it."""

    supported: Array
    contradicted: Array


@dataclass(frozen=True, eq=False)
class CarriedByMeaning:
    """How surely claims are carried, by the sentence encoder and by words; it knows nothing of contradiction (0).

    `before`: the text that a rewrite started from, for arguments; who says one that was missing there is more likely to
    be carried by it than one who says something beside all of them. None for passages.
    """

    question: str
    encoder: Encodes
    before: str | None

    def __call__(self, premises: Sequence[str], claims: Sequence[str]) -> Carried:
        """The probabilities for claims without their openings ("Critics add that")."""
        if not claims or not premises:
            return Carried(np.zeros(len(claims)), np.zeros(len(claims)))
        if self.before is None:
            supported = _PASSAGES(self.by_passages(premises, claims))
        else:
            supported = _ARGUMENTS(self.by_arguments(premises, claims))
        return Carried(supported, np.zeros(len(claims)))

    @cached_property
    def _constants(self) -> Constants:
        return load_constants()

    def by_arguments(self, arguments: Sequence[str], claims: Sequence[str]) -> Vectors:
        """The measures `BY_ARGUMENTS` of each claim, [n, 8]."""
        found = measure(
            arguments,
            claims,
            self.encoder,
            question=self.question,
            evidence=None,
            blend=self._constants.blend,
            said=np.zeros((len(arguments), len(claims)), np.bool_),
        )
        says = self._constants.says(found.says())
        missing = align(arguments, self.before or "", self.encoder, question=self.question).p_missing
        words = _GivenWords.of(tuple(arguments), self.question)
        best = found.closeness.argmax(axis=0)
        own = [stems(claim) for claim in claims]
        columns = (
            found.support,
            says.max(axis=0),
            (says * missing[:, None]).max(axis=0),
            [words.unknown(claim) for claim in own],
            self._question(claims),
            self._constants.claimless(found.claimless()),
            self._own(arguments, claims).max(axis=0),
            [words.shared(claim, [int(a)]) for claim, a in zip(own, best, strict=True)],
        )
        return np.stack([np.asarray(c, np.float32) for c in columns], axis=-1)

    def by_passages(self, sentences: Sequence[str], claims: Sequence[str]) -> Vectors:
        """The measures `BY_PASSAGES` of each claim, [n, 6]."""
        words = _GivenWords.of(tuple(sentences), self.question)
        cosine = self.encoder.encode(sentences) @ self.encoder.encode(claims).T
        nearest = np.argsort(-cosine, axis=0, kind="stable")[:_NEAREST]
        own = [stems(claim) for claim in claims]
        precision = [words.shared(claim, rows.tolist()) for claim, rows in zip(own, nearest.T, strict=True)]
        said = self.encoder.encode(claims)
        prototype = self._prototypes(said)
        support = cosine.max(axis=0)
        columns = (
            support,
            [words.unknown(claim) for claim in own],
            self._question(claims),
            self._constants.claimless(np.stack([prototype, support], axis=-1)),
            self._own(sentences, claims).max(axis=0),
            precision,
        )
        return np.stack([np.asarray(c, np.float32) for c in columns], axis=-1)

    def _prototypes(self, said: Vectors) -> Vectors:
        return np.asarray((said @ self.encoder.encode(PROTOTYPES).T).max(axis=1), np.float32)

    def _question(self, claims: Sequence[str]) -> Vectors:
        return np.asarray(self.encoder.encode(claims) @ self.encoder.encode([self.question])[0], np.float32)

    def _own(self, premises: Sequence[str], claims: Sequence[str]) -> Vectors:
        """Cosines of what premises and claims say beyond the question's topic, which all of them share; [P, n]."""
        topic = self.encoder.encode([self.question])[0]
        given, said = (_without(self.encoder.encode(texts), topic) for texts in (premises, claims))
        return np.asarray(given @ said.T, np.float32)


def _without(vectors: Vectors, direction: Vectors) -> Vectors:
    rest = vectors - np.outer(vectors @ direction, direction)
    return np.asarray(rest / np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-9), np.float32)


@dataclass(frozen=True, slots=True)
class _GivenWords:
    """The stems of given texts, one set each; `asked` are the question's, which say nothing."""

    texts: tuple[frozenset[str], ...]
    asked: frozenset[str]
    all: frozenset[str]

    @classmethod
    def of(cls, given: tuple[str, ...], question: str) -> _GivenWords:
        return _given_words(given=given, question=question)

    def unknown(self, claim: Sequence[str]) -> float:
        """The share of a claim's distinct stems that no given text has, nor the question."""
        words = set(claim)
        return len(words - self.all) / max(len(words), 1)

    def shared(self, claim: Sequence[str], rows: Sequence[int]) -> float:
        """The share of its distinct stems, the question's left out, that stand in one of some given texts."""
        words = set(claim) - self.asked
        near = frozenset().union(*(self.texts[row] for row in rows))
        return len(words & near) / max(len(words), 1)


@memoised(16, small=is_small)
def _given_words(*, given: tuple[str, ...], question: str) -> _GivenWords:
    texts = tuple(frozenset(stems(text)) for text in given)
    asked = frozenset(stems(question))
    return frozen(_GivenWords(texts, asked, asked.union(*texts)))


@memoised(16, small=is_small)
def premises_of(*, source: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """What may carry a claim: the arguments, or all sentences of the passages; blank ones left out."""
    if source == "context":
        return passage_sentences(given)
    return tuple(dict.fromkeys(" ".join(text.split()) for text in given if text.strip()))
