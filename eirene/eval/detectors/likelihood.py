"""The `gptscore` and `pseudo-entropy` detectors: token log-probabilities of the answer by a language model."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from eirene.core.errors import InputError
from eirene.core.scores import Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import NO_COVERAGE, Case, Need, unmet
from eirene.eval.detectors.chunks import Piece, part_of, share_out, whole
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.samples import SAMPLE_PROMPTS, sample_messages
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.token_scores import Count, ScoredToken, TokenScorer
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT, history_part
from eirene.text.sentences import Sentence, split_sentences

NO_TOKENS = "the answer has no tokens"

Prompt = Callable[[Case], Sequence[Message]]
"""The messages after which the answer is read."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer's tokens, at least one, and in how many chunks the given text was read."""

    tokens: Sequence[ScoredToken]
    chunks: int


async def read_answer(
    scorer: TokenScorer, prompt: Prompt, case: Case, *, top: int, meter: Meter
) -> ReadAnswer | Unscored:
    """The tokens of the whole answer after the prompt, or why there are none.

    Where too much was given for one pass, the answer is read once with each chunk, and each sentence has the tokens of
    the pass in which its mean log-probability is highest: with what it is likeliest to have been taken from. Ties go to
    the first chunk.
    """
    answer = case.answer.strip()
    if not answer:
        return Unscored(unscored=NO_TOKENS)
    given = case.given.arguments

    def lay_out(count: Count, limit: int | None) -> list[list[Piece]] | Unscored:
        def tokens(some: Sequence[Piece]) -> int:
            return count(prompt(replace(case, given=part_of(case.given, some))), answer)

        return share_out(whole(given), given, tokens, limit=limit)

    chunks = await scorer.laid_out(lay_out)
    if isinstance(chunks, Unscored):
        return chunks
    parts = [case] if len(chunks) == 1 else [replace(case, given=part_of(case.given, chunk)) for chunk in chunks]
    readings = [await scorer.score(prompt(part), answer, top=top, meter=meter) for part in parts]
    found = readings[0] if len(readings) == 1 else _likeliest(case.answer, readings)
    return ReadAnswer(found, len(readings)) if found else Unscored(unscored=NO_TOKENS)


def _likeliest(answer: str, readings: Sequence[Sequence[ScoredToken]]) -> list[ScoredToken]:
    """Each sentence's tokens from the reading that makes it likeliest."""
    found: list[ScoredToken] = []
    for sentence in split_sentences(answer):
        own: list[Sequence[ScoredToken]] = [_within(sentence, answer, reading) for reading in readings]
        if all(own):
            best = max(own, key=mean_logprob)
            found += best
    return found


def _within(sentence: Sentence, answer: str, tokens: Sequence[ScoredToken]) -> list[ScoredToken]:
    offset = len(answer) - len(answer.lstrip())
    return [t for t in tokens if sentence.start <= _begin(answer, t.start + offset, t.end + offset) < sentence.end]


def _begin(answer: str, start: int, end: int) -> int:
    """Where a token's text begins: many a tokenizer has the space before a word in it, which ends another sentence."""
    at = start
    while at < end and answer[at].isspace():
        at += 1
    return at if at < end else start


def mean_logprob(tokens: Sequence[ScoredToken]) -> float:
    """The mean log-probability of the tokens, at least one."""
    return math.fsum(t.logprob for t in tokens) / len(tokens)


def by_sentence(
    answer: str, tokens: Sequence[ScoredToken], error: Callable[[list[ScoredToken]], float]
) -> tuple[SentenceScore, ...]:
    """Each sentence's error over the tokens that begin in it; the answer was read without white space around it."""
    found = []
    for sentence in split_sentences(answer):
        own = _within(sentence, answer, tokens)
        score = error(own) if own else Unscored(unscored="no tokens")
        found.append(SentenceScore(n=sentence.n, hallucination=score))
    return tuple(found)


HALF_NLL = 2.0
"""Nats a token that map to an error score of 0.5: a perplexity of 7.4."""


class GptScore:
    """How unlikely the answer is, by a causal language model.

    Score: raw `mean_logprob`, the GPTScore, is the mean natural-log probability of the answer's tokens after the
        prompt (0 at best); the hallucination score is x / (x + 2) of x = -mean_logprob, which keeps the order.
        Sentences likewise, over their own tokens. Coverage is unscored. Given text beyond the model's context is shared
        out over several passes, and each sentence counts as it stands with the chunk that makes it likeliest.
    Needs: a model that gives the log-probabilities of a text: one that runs here.
    Reference: Fu et al. 2023, equation 1 with equal weights; ChainPoll, section 6.3. Prompts of our own. An answer
        beyond the model's context is unscored, never cut off.
    """

    name = "gptscore"
    needs: frozenset[Need] = frozenset({"local_model"})

    def __init__(self, scorer: TokenScorer, *, prompts: PromptSet = SHIPPED) -> None:
        self._scorer = scorer
        self._prompts = prompts
        worded = prompts.digests(["gptscore_given", "gptscore_open", HISTORY_PROMPT])
        self.version = f"{scorer.name},prompt={worded}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model cannot be reached, or refuses."""
        prompt = partial(gptscore_messages, prompts=self._prompts)
        found = await read_answer(self._scorer, prompt, case, top=1, meter=meter)
        if isinstance(found, Unscored):
            return Scores.none(found.unscored)
        mean = mean_logprob(found.tokens)
        return Scores(
            hallucination=bounded(max(0.0, -mean), half=HALF_NLL),
            coverage=NO_COVERAGE,
            sentences=by_sentence(
                case.answer, found.tokens, lambda own: bounded(max(0.0, -mean_logprob(own)), half=HALF_NLL)
            ),
            raw={"mean_logprob": mean, "tokens": float(len(found.tokens))},
            chunks=found.chunks,
        )


def gptscore_messages(case: Case, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The prompt: the instruction, what was given where something was, and the question in its conversation."""
    asked = case.question if not case.history else f"{case.question}\n{history_part(case.history, prompts)}"
    if case.given.source == "derived" or not case.given.arguments:
        return prompts.load("gptscore_open").fill({"question": asked})
    parts = []
    for group in case.given.groups:
        title = "Texts:" if case.given.source == "context" else f"Arguments, {group.name}:"
        parts.append("\n".join([title, *(f"- {text}" for text in group.arguments)]))
    return prompts.load("gptscore_given").fill({"given": "\n\n".join(parts), "question": asked})


@detector("gptscore", needs=GptScore.needs, about="how likely a local model finds the answer (GPTScore)")
def _build_gptscore(resources: Resources) -> GptScore:
    return GptScore(resources.token_scorer, prompts=resources.prompts)


TOP = 5
"""Alternatives for each token, to which the token's own is added where it is not among them, as in the paper."""

HALF_ENTROPY = 3.0
"""Nats that map to an error score of 0.5."""


class PseudoEntropy:
    """The largest pseudo-entropy of the answer's tokens.

    Score: with p the probabilities of a token's M likeliest alternatives and p~ these divided by their sum,
        -sum p~ log p (nats); raw `max_pseudo_entropy` is the largest over the tokens, and the hallucination score
        is x / (x + 3) of it, which keeps the order. Sentences likewise, where the tokens' places are known. Coverage is
        unscored. Given text beyond a local model's context is shared out as `gptscore` does: a sentence counts as it
        stands with the chunk that makes it likeliest.
    Needs: token log-probabilities: the row's (`meta.token_logprobs`, those of the model that answered), or a local
        model, which then stands in for it.
    Reference: Friel and Sanyal 2023, appendix A.4, equation 4.
    """

    name = "pseudo-entropy"

    def __init__(self, scorer: TokenScorer | None = None, *, top: int = TOP, prompts: PromptSet = SHIPPED) -> None:
        if top < 1:
            raise InputError(f"top must be at least 1, got {top}", field="top")
        self._scorer = scorer
        self._top = top
        self._prompts = prompts
        self.needs: frozenset[Need] = frozenset(
            {"token_logprobs"} if scorer is None else {"token_logprobs", "local_model"}
        )
        self.version = "" if scorer is None else f"{scorer.name},prompt={prompts.digests(SAMPLE_PROMPTS)},top={top}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model cannot be reached, or refuses."""
        if case.token_logprobs:
            values = [pseudo_entropy(token) for token in case.token_logprobs]
            return _scores(values)
        if self._scorer is None:
            return Scores.none(unmet("token_logprobs"))
        prompt = partial(sample_messages, prompts=self._prompts)
        found = await read_answer(self._scorer, prompt, case, top=self._top, meter=meter)
        if isinstance(found, Unscored):
            return Scores.none(found.unscored)
        sentences = by_sentence(
            case.answer, found.tokens, lambda own: bounded(max(pseudo_entropy(t.top) for t in own), half=HALF_ENTROPY)
        )
        scores = _scores([pseudo_entropy(t.top) for t in found.tokens])
        return scores.model_copy(update={"sentences": sentences, "chunks": found.chunks})


def pseudo_entropy(logprobs: Sequence[float]) -> float:
    """-sum p~ log p over natural log-probabilities of a token's alternatives, at least one (equation 4); 0 or more.

    One of probability 0 (some servers send -9999) adds nothing, as in the limit; where all are, the value is that of
    the least unlikely.
    """
    most = max(logprobs)
    weights = [math.exp(value - most) for value in logprobs]
    total = math.fsum(weights)
    return max(0.0, -math.fsum(w / total * value for w, value in zip(weights, logprobs, strict=True) if w > 0.0))


def _scores(values: list[float]) -> Scores:
    largest = max(values)
    return Scores(
        hallucination=bounded(largest, half=HALF_ENTROPY),
        coverage=NO_COVERAGE,
        raw={"max_pseudo_entropy": largest, "tokens": float(len(values))},
    )


@detector("pseudo-entropy", needs=frozenset({"token_logprobs"}), about="the least sure token (ChainPoll, appendix A.4)")
def _build_pseudo_entropy(resources: Resources) -> PseudoEntropy:
    scorer = None if resources.runs_here is None else resources.token_scorer
    return PseudoEntropy(scorer, prompts=resources.prompts)
