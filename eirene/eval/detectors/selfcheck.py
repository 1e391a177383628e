"""The `selfcheck-*` detectors: an answer against other answers to the same question (Manakul et al. 2023)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from eirene.core.scores import Scores, SentenceScore, Unscored, WordScore
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.selfcheck_metrics import NgramScores, compared_sentences, embedding_scores, ngram_scores
from eirene.eval.detectors.selfcheck_samples import SampleSource, source_of
from eirene.text.sentences import Sentence, split_sentences

if TYPE_CHECKING:
    from eirene.eval.resources import Resources
    from eirene.eval.statistics.bootstrap import Array
    from eirene.models.encoder.runtime import Encodes

HALF_NLL = 6.0
"""Nats that map to an error score of 0.5: about the mean for a passage of 200 words beside 20 samples of it."""

NO_COVERAGE = "selfcheck looks for hallucinations only"
NO_WORDS = "the answer has no words"


class SelfCheckNgram:
    """Unlikely words: an answer's tokens under an n-gram model of other answers and of itself.

    Score: raw `avg_nll` is the mean negative log-probability of the answer's tokens (nats), `max_nll` the mean over
        sentences of the largest; the hallucination score is raw / (raw + 6) of the one in `take`, which keeps the
        order. Sentences and words have scores likewise. Coverage is unscored.
    Needs: samples: the row's (`meta.samples`), or a model that draws them.
    Reference: Manakul et al. 2023, section 5.3; `take` max and n = 1 did best there.
    Example:
        >>> import asyncio
        >>> from eirene.core.grounding import Grounding
        >>> case = Case("Who?", "Ann.", Grounding("derived", ()), samples=("Ann.", "Bob."))
        >>> scores = asyncio.run(SelfCheckNgram(SampleSource()).score(case, meter=Meter()))
        >>> {name: round(value, 3) for name, value in scores.raw.items()}  # p(ann) = 2/6, p(.) = 3/6
        {'avg_nll': 0.896, 'max_nll': 1.099, 'samples': 2.0}
    """

    def __init__(self, source: SampleSource, *, n: int = 1, take: Literal["max", "avg"] = "max") -> None:
        self._source = source
        self._n = n
        self._take: Literal["max", "avg"] = take

    @property
    def name(self) -> str:
        """`selfcheck-ngram`; with its n where that is not 1."""
        return "selfcheck-ngram" if self._n == 1 else f"selfcheck-{self._n}gram"

    @property
    def needs(self) -> frozenset[Need]:
        """The source's."""
        return self._source.needs

    @property
    def version(self) -> str:
        """n, what is taken, and the source."""
        return f"n={self._n},take={self._take}" + (f",{self._source.version}" if self._source.version else "")

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where samples are to be drawn and no call succeeds."""
        samples = await self._source.get(case, meter=meter)
        if isinstance(samples, Unscored):
            return Scores.none(samples.unscored)
        found = await asyncio.to_thread(ngram_scores, case.answer, samples, n=self._n)
        return self._scores(found, len(samples))

    def _scores(self, found: NgramScores, n_samples: int) -> Scores:
        avg, largest = found.avg, found.max
        if avg is None or largest is None:
            return Scores.none(NO_WORDS)
        sentences = tuple(
            SentenceScore(n=n, hallucination=bounded(self._of([t.nll for t in tokens]), half=HALF_NLL))
            if tokens
            else SentenceScore(n=n, hallucination=Unscored(unscored="no words"))
            for n, tokens in enumerate(found.sentences, start=1)
        )
        return Scores(
            hallucination=bounded(largest if self._take == "max" else avg, half=HALF_NLL),
            coverage=Unscored(unscored=NO_COVERAGE),
            sentences=sentences,
            words=tuple(
                WordScore(start=t.start, end=t.end, score=bounded(t.nll, half=HALF_NLL))
                for tokens in found.sentences
                for t in tokens
            ),
            raw={"avg_nll": avg, "max_nll": largest, "samples": float(n_samples)},
        )

    def _of(self, nlls: list[float]) -> float:
        return max(nlls) if self._take == "max" else sum(nlls) / len(nlls)


class SelfCheckEmbedding:
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
        self._source = source
        self._encoder = encoder

    @property
    def needs(self) -> frozenset[Need]:
        """The source's."""
        return self._source.needs

    @property
    def version(self) -> str:
        """The encoder's digest and the source."""
        return f"encoder={self._encoder.digest}" + (f",{self._source.version}" if self._source.version else "")

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where samples are to be drawn and no call succeeds."""
        samples = await self._source.get(case, meter=meter)
        if isinstance(samples, Unscored):
            return Scores.none(samples.unscored)
        return await asyncio.to_thread(self._score, case.answer, samples)

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        sentences = spoken(answer)
        cut = [compared_sentences(sample) for sample in samples]
        if not sentences:
            return Scores.none(NO_WORDS)
        values = embedding_scores([s.text for s in sentences], [c for c in cut if c], self._encoder)
        return sentence_scores(sentences, values, len(samples))


def spoken(answer: str) -> list[Sentence]:
    """The sentences of an answer that are not blank."""
    return [s for s in split_sentences(answer) if s.text]


def sentence_scores(sentences: list[Sentence], values: Array, n_samples: int) -> Scores:
    """Scores of sentences, and their mean as the answer's; over 1 they are cut, in `raw` they are not."""
    mean = float(values.mean())
    return Scores(
        hallucination=min(1.0, max(0.0, mean)),
        coverage=Unscored(unscored=NO_COVERAGE),
        sentences=tuple(
            SentenceScore(n=sentence.n, hallucination=min(1.0, max(0.0, float(value))))
            for sentence, value in zip(sentences, values, strict=True)
        ),
        raw={"disagreement": mean, "samples": float(n_samples)},
    )


def build_ngram(resources: Resources) -> SelfCheckNgram:
    """`selfcheck-ngram`, for the registry."""
    return SelfCheckNgram(source_of(resources))


def build_embedding(resources: Resources) -> SelfCheckEmbedding:
    """`selfcheck-embedding`, for the registry."""
    return SelfCheckEmbedding(source_of(resources), resources.encoder)
