"""The `selfcheck-ngram` and `selfcheck-embedding` detectors: an answer against other answers to the same question.

Reference: Manakul, Liusie and Gales 2023 (SelfCheckGPT), sections 5.1 and 5.3. Sentence scores are averaged over the
answer, as both that paper and ChainPoll's (section 6.1) do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import numpy as np

from eirene.core.scores import Scores, SentenceScore, Unscored, WordScore
from eirene.eval.base import NO_COVERAGE, Need
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.samples import SampledDetector, SampleSource, source_of
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import word_spans

if TYPE_CHECKING:
    from eirene.eval.metrics.bootstrap import Array
    from eirene.models.encoder.runtime import Encodes

HALF_NLL = 6.0
"""Nats that map to an error score of 0.5: about the mean for a passage of 200 words beside 20 samples of it."""

NO_WORDS = "the answer has no words"


class SelfCheckNgram(SampledDetector):
    """Unlikely words: an answer's tokens under a unigram model of other answers and of itself.

    Score: raw `avg_nll` is the mean negative log-probability of the answer's tokens (nats), `max_nll` the mean over
        sentences of the largest; the hallucination score is `max_nll` / (`max_nll` + 6), which keeps the order.
        Sentences and words have scores likewise. Coverage is unscored.
    Needs: samples: the row's (`meta.samples`), or a model that draws them.
    Reference: Manakul et al. 2023, section 5.3; the largest, and n = 1, did best there.
    Examples:
        >>> import asyncio
        >>> from eirene.core.grounding import Grounding
        >>> from eirene.core.usage import Meter
        >>> from eirene.eval.base import Case
        >>> case = Case("Who?", "Ann.", Grounding("derived", ()), samples=("Ann.", "Bob."))
        >>> scores = asyncio.run(SelfCheckNgram(SampleSource()).score(case, meter=Meter()))
        >>> {name: round(value, 3) for name, value in scores.raw.items()}  # p(ann) = 2/6, p(.) = 3/6
        {'avg_nll': 0.896, 'max_nll': 1.099, 'samples': 2.0}
    """

    name = "selfcheck-ngram"

    def __init__(self, source: SampleSource) -> None:
        super().__init__(source, how="n=1,take=max")

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        found = unigram_nlls(answer, samples)
        nlls = [[nll for _, nll in sentence] for sentence in found]
        if not any(nlls):
            return Scores.none(NO_WORDS)
        largest = fmean(max(own) for own in nlls if own)
        return Scores(
            hallucination=bounded(largest, half=HALF_NLL),
            coverage=NO_COVERAGE,
            sentences=tuple(
                SentenceScore(
                    n=n, hallucination=bounded(max(own), half=HALF_NLL) if own else Unscored(unscored="no words")
                )
                for n, own in enumerate(nlls, start=1)
            ),
            words=tuple(
                WordScore(start=start, end=end, score=bounded(nll, half=HALF_NLL))
                for sentence in found
                for (start, end), nll in sentence
            ),
            raw={
                "avg_nll": fmean(nll for own in nlls for nll in own),
                "max_nll": largest,
                "samples": float(len(samples)),
            },
        )


class SelfCheckEmbedding(SampledDetector):
    """Sentences that no sentence of the other answers is close to, by the shipped sentence encoder.

    Score: of a sentence, 1 - the mean over samples of the highest cosine with one of the sample's sentences; of the
        answer, the mean over its sentences. Cosines below 0 could lift it over 1: cut there, raw `disagreement` is not.
        Coverage is unscored.
    Needs: samples: the row's (`meta.samples`), or a model that draws them.
    Reference: the form of SelfCheck-BERTScore (Manakul et al. 2023, section 5.1) with sentence vectors in the place of
        BERTScore: not the published metric. That is `selfcheck-bertscore`.
    """

    name = "selfcheck-embedding"

    def __init__(self, source: SampleSource, encoder: Encodes) -> None:
        super().__init__(source, how=f"encoder={encoder.digest}")
        self._encoder = encoder

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        sentences = spoken(answer)
        cut = [compared_sentences(sample) for sample in samples]
        if not sentences:
            return Scores.none(NO_WORDS)
        own, *others = (self._encoder.encode(c).astype(np.float64) for c in ([s.text for s in sentences], *cut) if c)
        return sentence_scores(sentences, disagreement([own @ vectors.T for vectors in others]), len(samples))


def spoken(answer: str) -> list[Sentence]:
    """The sentences of an answer that are not blank."""
    return [s for s in split_sentences(answer) if s.text]


def sentence_scores(sentences: list[Sentence], values: Array, n_samples: int) -> Scores:
    """Scores of sentences, and their mean as the answer's; over 1 they are cut, in `raw` they are not."""
    mean = float(values.mean())
    return Scores(
        hallucination=min(1.0, max(0.0, mean)),
        coverage=NO_COVERAGE,
        sentences=tuple(
            SentenceScore(n=sentence.n, hallucination=min(1.0, max(0.0, float(value))))
            for sentence, value in zip(sentences, values, strict=True)
        ),
        raw={"disagreement": mean, "samples": float(n_samples)},
    )


SAMPLED: frozenset[Need] = frozenset({"samples"})


@detector("selfcheck-ngram", needs=SAMPLED, about="words that other answers make unlikely")
def _build_ngram(resources: Resources) -> SelfCheckNgram:
    return SelfCheckNgram(source_of(resources))


@detector("selfcheck-embedding", needs=SAMPLED, about="sentences far from those of other answers (encoder)")
def _build_embedding(resources: Resources) -> SelfCheckEmbedding:
    return SelfCheckEmbedding(source_of(resources), resources.encoder)


Spans = list[tuple[int, int]]
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


def unigram_nlls(answer: str, samples: Sequence[str]) -> list[list[tuple[tuple[int, int], float]]]:
    """Each sentence's tokens: offsets in the answer, and the negative log-probability (nats, 0 or more).

    The answer is counted with the samples, which is the smoothing: nothing in it has probability 0. Lower-cased, as the
    authors' code has it.
    """
    sentences = split_sentences(answer)
    texts = [sentence.raw for text in samples for sentence in split_sentences(text)]
    counts = Counter(text[a:b].lower() for text in [*texts, *(s.raw for s in sentences)] for a, b in tokens_of(text))
    total = counts.total()
    return [
        [((s.start + a, s.start + b), math.log(total / counts[s.raw[a:b].lower()])) for a, b in tokens_of(s.raw)]
        for s in sentences
    ]


def compared_sentences(sample: str) -> list[str]:
    """The sentences of a sample that an answer's are compared with: those of 4 tokens or more, or all if none is."""
    found = [s.raw.strip() for s in split_sentences(sample) if s.raw.strip()]
    return [s for s in found if len(tokens_of(s)) >= SHORTEST] or found


def disagreement(closeness: Sequence[Array]) -> Array:
    """1 - the mean over samples of the highest closeness that one of the sample's sentences has (section 5.1).

    `closeness` has for each sample an array (sentences of the answer, sentences of the sample); the result is
    (sentences of the answer,).
    """
    found: Array = 1.0 - np.mean([matrix.max(axis=1) for matrix in closeness], axis=0)
    return found
