"""The `selfcheck-ngram` and `selfcheck-embedding` detectors: an answer against other answers to the same question.

The other answers, or samples, are the row's own or drawn from a model. Reference: Manakul, Liusie and Gales 2023
(SelfCheckGPT), sections 5.1 and 5.3. Sentence scores are averaged over the answer, as both that paper and ChainPoll's
(section 6.1) do.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from eirene.core.errors import BackendError, InputError, TooLongError
from eirene.core.memo import Memo
from eirene.core.scores import Scores, SentenceScore, Unscored, WordScore
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need, unmet
from eirene.eval.detectors.judge import (
    asked_often,
    bounded,
    fenced,
    given_sections,
    question_sections,
    raise_where_all_failed,
)
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.thinking import without_thinking
from eirene.text.words import word_spans

if TYPE_CHECKING:
    from eirene.eval.metrics.bootstrap import Array
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.local.model import LocalModel

HALF_NLL = 6.0
"""Nats that map to an error score of 0.5: about the mean for a passage of 200 words beside 20 samples of it."""

_NO_COVERAGE = "selfcheck looks for hallucinations only"
NO_WORDS = "the answer has no words"
SAMPLE_PROMPTS = ("sample_answer", "sample_answer_given", "sample_answer_followup", HISTORY_PROMPT)
SAMPLES = 20
"""As in the paper's experiments (Manakul et al. 2023, section 6)."""

_KEPT = 1024  # questions whose drawn samples are kept
_MAX_TOKENS = 512  # of a local model's sample


class SampleSource:
    """Gives a case's own samples (`meta.samples` in the row), else draws `count` answers from a model.

    Drawn at temperature 1 with the question, and with the given text where there is any; the same question gives the
    same samples, drawn once for all detectors and all answers that share this source. Without a model a row without
    samples is unscored. A model other than the one that answered is a stand-in: the papers sample the same model.
    """

    def __init__(
        self,
        model: ChatModel | LocalModel | None = None,
        *,
        count: int = SAMPLES,
        seed: int = 0,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        if count < 1:
            raise InputError(f"count must be at least 1, got {count}", field="samples")
        self._model = model
        self._count = count
        self._prompts = prompts
        self._seeds = [derive_seed(seed, "other answer", n) for n in range(count)]
        self._drawn: Memo[tuple[Message, ...], tuple[str, ...] | Unscored] = Memo(_KEPT)

    @property
    def needs(self) -> frozenset[Need]:
        """Samples, and the model that they are drawn from if there is one."""
        if self._model is None:
            return frozenset({"samples"})
        return frozenset({"samples", "judge" if isinstance(self._model, ChatModel) else "local_model"})

    @property
    def version(self) -> str:
        """The model and how many are drawn; empty without a model."""
        if self._model is None:
            return ""
        prompts = self._prompts.digests(SAMPLE_PROMPTS)
        return f"{self._model.name},prompt={prompts},samples={self._count}"

    async def get(self, case: Case, *, meter: Meter) -> tuple[str, ...] | Unscored:
        """At least one sample. Raises `BackendError` where no call succeeds."""
        if case.samples:
            return case.samples
        if self._model is None:
            return Unscored(unscored=unmet("samples"))
        messages = sample_messages(case, self._prompts)
        return await self._drawn.get_or_await(
            messages, lambda: self._draw(messages, meter), worth=lambda found: not isinstance(found, Unscored)
        )

    async def _draw(self, messages: tuple[Message, ...], meter: Meter) -> tuple[str, ...] | Unscored:
        if isinstance(self._model, ChatModel):
            texts = await self._ask(self._model, messages, meter)
        else:
            assert self._model is not None
            try:
                texts = await self._sample(self._model, messages, meter)
            except TooLongError as error:
                return Unscored(unscored=str(error))
        useful = tuple(text for text in map(without_thinking, texts) if text.strip())
        if 2 * len(useful) < self._count:
            return Unscored(unscored=f"{len(useful)} of {self._count} samples came, half of them are needed")
        return useful

    async def _ask(self, chat: ChatModel, messages: tuple[Message, ...], meter: Meter) -> list[str]:
        replies = await asked_often(chat, messages, Sampling(temperature=1.0), self._seeds, meter)
        raise_where_all_failed(replies)
        return [reply.text for reply in replies if not isinstance(reply, BackendError) and not reply.is_filtered]

    async def _sample(self, model: LocalModel, messages: tuple[Message, ...], meter: Meter) -> list[str]:
        from eirene.models.local.sampling import LocalSampling

        if model.layout == "chat":
            ids = model.encode_chat(messages)
        else:
            ids = model.encode_text("\n\n".join(m.content for m in messages) + "\n\n")
        how = LocalSampling(max_new_tokens=_MAX_TOKENS, temperature=1.0, top_p=1.0)
        return [reply.text for reply in await model.sample(ids, self._seeds, sampling=how, meter=meter)]


class SampledDetector:
    """A detector that holds an answer against samples from a source, in a thread."""

    def __init__(self, source: SampleSource, *, how: str) -> None:
        self._source = source
        self._how = how

    @property
    def needs(self) -> frozenset[Need]:
        """The source's."""
        return self._source.needs

    @property
    def version(self) -> str:
        """How the answer is compared with the samples, and the source."""
        return self._how + (f",{self._source.version}" if self._source.version else "")

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where samples are to be drawn and no call succeeds."""
        samples = await self._source.get(case, meter=meter)
        if isinstance(samples, Unscored):
            return Scores.none(samples.unscored)
        return await asyncio.to_thread(self._score, case.answer, samples)

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        raise NotImplementedError


def sample_messages(case: Case, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The question alone, or with the given text and the conversation before it in a fence."""
    given = given_sections(case)
    if not given and not case.history:
        return prompts.load("sample_answer").fill({"question": case.question})
    material, mark = fenced([*given, *question_sections(case.question, case.history, prompts)])
    prompt = prompts.load("sample_answer_given" if given else "sample_answer_followup")
    return prompt.fill({"material": material, "mark": mark})


def source_of(resources: Resources) -> SampleSource:
    """The samples of a run: from the judge if one is named, else from the local model, else from the rows alone.

    All detectors that are built from the same resources share them.
    """
    return resources.once("samples", lambda: _drawn_from(resources))


def _drawn_from(resources: Resources) -> SampleSource:
    model: ChatModel | LocalModel | None = None
    if resources.judge_model is not None:
        model = resources.judge
    elif resources.local is not None:
        model = resources.local_model
    return SampleSource(model, count=resources.samples, seed=resources.seed, prompts=resources.prompts)


class SelfCheckNgram(SampledDetector):
    """Unlikely words: an answer's tokens under an n-gram model of other answers and of itself.

    Score: raw `avg_nll` is the mean negative log-probability of the answer's tokens (nats), `max_nll` the mean over
        sentences of the largest; the hallucination score is raw / (raw + 6) of the one in `take`, which keeps the
        order. Sentences and words have scores likewise. Coverage is unscored.
    Needs: samples: the row's (`meta.samples`), or a model that draws them.
    Reference: Manakul et al. 2023, section 5.3; `take` max and n = 1 did best there.
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

    def __init__(self, source: SampleSource, *, n: int = 1, take: Literal["max", "avg"] = "max") -> None:
        super().__init__(source, how=f"n={n},take={take}")
        self._n = n
        self._take: Literal["max", "avg"] = take

    @property
    def name(self) -> str:
        """`selfcheck-ngram`; with its n where that is not 1."""
        return "selfcheck-ngram" if self._n == 1 else f"selfcheck-{self._n}gram"

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        found = ngram_scores(answer, samples, n=self._n)
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
            coverage=Unscored(unscored=_NO_COVERAGE),
            sentences=sentences,
            words=tuple(
                WordScore(start=t.start, end=t.end, score=bounded(t.nll, half=HALF_NLL))
                for tokens in found.sentences
                for t in tokens
            ),
            raw={"avg_nll": avg, "max_nll": largest, "samples": float(len(samples))},
        )

    def _of(self, nlls: list[float]) -> float:
        return max(nlls) if self._take == "max" else sum(nlls) / len(nlls)


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
        coverage=Unscored(unscored=_NO_COVERAGE),
        sentences=tuple(
            SentenceScore(n=sentence.n, hallucination=min(1.0, max(0.0, float(value))))
            for sentence, value in zip(sentences, values, strict=True)
        ),
        raw={"disagreement": mean, "samples": float(n_samples)},
    )


_SAMPLES: frozenset[Need] = frozenset({"samples"})


@detector("selfcheck-ngram", needs=_SAMPLES, about="words that other answers make unlikely")
def _build_ngram(resources: Resources) -> SelfCheckNgram:
    return SelfCheckNgram(source_of(resources))


@detector("selfcheck-embedding", needs=_SAMPLES, about="sentences far from those of other answers (encoder)")
def _build_embedding(resources: Resources) -> SelfCheckEmbedding:
    return SelfCheckEmbedding(source_of(resources), resources.encoder)


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
        for sentence in split_sentences(text):
            counts.update(gram for gram, _ in _ngrams(sentence.raw, n, tokens))
    total = counts.total()
    return NgramScores(
        tuple(
            tuple(
                TokenNll(sentence.start + start, sentence.start + end, math.log(total / counts[gram]))
                for gram, (start, end) in _ngrams(sentence.raw, n, tokens)
            )
            for sentence in split_sentences(answer)
        )
    )


def _ngrams(sentence: str, n: int, tokens: Tokens) -> Iterator[tuple[tuple[str, ...], tuple[int, int]]]:
    """Each token's n-gram, of which it is the last word, and its offsets."""
    spans = tokens(sentence)
    words = [_START] * (n - 1) + [sentence[start:end].lower() for start, end in spans]
    for at, span in enumerate(spans):
        yield tuple(words[at : at + n]), span


def compared_sentences(sample: str, *, tokens: Tokens = tokens_of) -> list[str]:
    """The sentences of a sample that an answer's are compared with: those of 4 tokens or more, or all if none is."""
    found = [s.raw.strip() for s in split_sentences(sample) if s.raw.strip()]
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
