"""SelfCheckGPT's metrics as functions: how well do other answers to the same question bear an answer out?

Reference: Manakul, Liusie and Gales 2023, sections 5.1 (BERTScore) and 5.3 (n-gram). Sentence scores are averaged over
the answer, as both that paper and ChainPoll's (section 6.1) do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eirene.core.errors import InputError
from eirene.text.sentences import split_sentences
from eirene.text.words import word_spans

if TYPE_CHECKING:
    from eirene.eval.statistics.bootstrap import Array
    from eirene.models.encoder.runtime import Encodes

Spans = list[tuple[int, int]]
Tokens = Callable[[str], Spans]
"""From a text to the offsets of its tokens."""

_START = "<s>"
SHORTEST = 4
"""Tokens of a sample's sentence that count as one; shorter ones say nothing that a sentence could be compared with."""


def tokens_of(text: str) -> Spans:
    """Offsets of words, and of every other character that is no white space by itself."""
    found: Spans = []
    at = 0
    for start, end in word_spans(text):
        found += _marks(text, at, start)
        found.append((start, end))
        at = end
    return found + _marks(text, at, len(text))


def _marks(text: str, start: int, end: int) -> Spans:
    return [(n, n + 1) for n in range(start, end) if not text[n].isspace()]


@dataclass(frozen=True, slots=True)
class TokenNll:
    """A token of the answer by its offsets, and its negative log-probability (nats, 0 or more)."""

    start: int
    end: int
    nll: float


@dataclass(frozen=True, slots=True)
class NgramScores:
    """Negative log-probabilities (nats, 0 or more) of an answer's tokens, sentence by sentence; empty ones have none.

    `avg` and `max` are None where there is no token.
    """

    sentences: tuple[tuple[TokenNll, ...], ...]

    @property
    def avg(self) -> float | None:
        """The mean over all tokens."""
        values = [token.nll for sentence in self.sentences for token in sentence]
        return math.fsum(values) / len(values) if values else None

    @property
    def max(self) -> float | None:
        """The mean over sentences of their largest."""
        values = [max(token.nll for token in sentence) for sentence in self.sentences if sentence]
        return math.fsum(values) / len(values) if values else None


def ngram_scores(answer: str, samples: Sequence[str], *, n: int = 1, tokens: Tokens = tokens_of) -> NgramScores:
    """How unlikely an answer's tokens are under the n-gram model of the samples and the answer itself.

    The answer is counted with them, which is the smoothing: nothing in it has probability 0. An n-gram's probability
    is its share of all n-grams (not conditional on its first n - 1 tokens), lower-cased, each sentence padded at its
    beginning: so the authors' code has it, and for n = 1, their best, the paper as well.
    """
    if n < 1:
        raise InputError(f"n must be at least 1, got {n}", field="n")
    counts: Counter[tuple[str, ...]] = Counter()
    for text in (answer, *samples):
        for sentence in _sentences(text):
            counts.update(gram for gram, _ in _ngrams(sentence, n, tokens))
    total = counts.total()
    return NgramScores(
        tuple(
            tuple(
                TokenNll(offset + start, offset + end, math.log(total / counts[gram]))
                for gram, (start, end) in _ngrams(text, n, tokens)
            )
            for text, offset in _sentences_at(answer)
        )
    )


def _ngrams(sentence: str, n: int, tokens: Tokens) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Each token's n-gram, of which it is the last word, and its offsets."""
    spans = tokens(sentence)
    words = [_START] * (n - 1) + [sentence[start:end].lower() for start, end in spans]
    for at, span in enumerate(spans):
        yield tuple(words[at : at + n]), span


def _sentences_at(text: str) -> list[tuple[str, int]]:
    return [(s.raw, s.start) for s in split_sentences(text)]


def _sentences(text: str) -> list[str]:
    return [sentence for sentence, _ in _sentences_at(text)]


def compared_sentences(sample: str, *, tokens: Tokens = tokens_of) -> list[str]:
    """The sentences of a sample that an answer's are compared with: those of 4 tokens or more, or all if none is."""
    found = [s.strip() for s in _sentences(sample) if s.strip()]
    long = [s for s in found if len(tokens(s)) >= SHORTEST]
    return long or found


def disagreement(closeness: Sequence[Array]) -> Array:
    """1 - the mean over samples of the highest closeness that one of the sample's sentences has (section 5.1).

    `closeness` has for each sample an array (sentences of the answer, sentences of the sample); the result is
    (sentences of the answer,).
    """
    found: Array = 1.0 - np.mean([matrix.max(axis=1) for matrix in closeness], axis=0)
    return found


def embedding_scores(answer: Sequence[str], samples: Sequence[Sequence[str]], encoder: Encodes) -> Array:
    """SelfCheck with cosines of sentence vectors in the place of BERTScore: (sentences of the answer,), in [0, 2]."""
    vectors = encoder.encode(list(answer)).astype(np.float64)
    return disagreement([vectors @ encoder.encode(list(s)).astype(np.float64).T for s in samples])
