"""The `gptscore` detector: how likely a language model finds the answer after an instruction."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eirene.errors import TooLongError
from eirene.eval.base import Case, Need
from eirene.eval.judging import bounded
from eirene.models.token_scores import ScoredToken, TokenScorer
from eirene.prompts import Message, load_prompt
from eirene.scores import Scores, SentenceScore, Unscored
from eirene.sentences import split_sentences
from eirene.usage import Meter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eirene.eval.resources import Resources

HALF_NLL = 2.0
"""Nats a token that map to an error score of 0.5: a perplexity of 7.4."""

NO_COVERAGE = "gptscore looks for hallucinations only"
NO_TOKENS = "the answer has no tokens"


class GptScore:
    """How unlikely the answer is, by a causal language model.

    Score: raw `mean_logprob`, the GPTScore, is the mean natural-log probability of the answer's tokens after the
        prompt (0 at best); the hallucination score is x / (x + 2) of x = -mean_logprob, which keeps the order.
        Sentences likewise, over their own tokens. Coverage is unscored.
    Needs: a model that gives the log-probabilities of a text: a local one, or a server that echoes (`EchoScorer`).
    Reference: Fu et al. 2023, equation 1 with equal weights; ChainPoll, section 6.3. Prompts of our own. An answer
        beyond the model's context is unscored, never cut off.
    """

    name = "gptscore"
    needs: frozenset[Need] = frozenset({"local_model"})

    def __init__(self, scorer: TokenScorer) -> None:
        self._scorer = scorer

    @property
    def version(self) -> str:
        """The model and the prompts."""
        prompts = "+".join(load_prompt(name).digest for name in ("gptscore_given", "gptscore_open"))
        return f"{self._scorer.name},prompt={prompts}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model cannot be reached, or refuses."""
        tokens = await answer_tokens(self._scorer, gptscore_messages(case), case, top=1, meter=meter)
        if isinstance(tokens, Unscored):
            return Scores.none(tokens.unscored)
        mean = mean_logprob(tokens)
        offset = len(case.answer) - len(case.answer.lstrip())
        return Scores(
            hallucination=bounded(max(0.0, -mean), half=HALF_NLL),
            coverage=Unscored(unscored=NO_COVERAGE),
            sentences=by_sentence(
                case.answer, tokens, offset, lambda own: bounded(max(0.0, -mean_logprob(own)), half=HALF_NLL)
            ),
            raw={"mean_logprob": mean, "tokens": float(len(tokens))},
        )


async def answer_tokens(
    scorer: TokenScorer, messages: Sequence[Message], case: Case, *, top: int, meter: Meter
) -> list[ScoredToken] | Unscored:
    """The answer's tokens, at least one, after these messages; or why there are none, or not all of them."""
    answer = case.answer.strip()
    if not answer:
        return Unscored(unscored=NO_TOKENS)
    try:
        found = await scorer.score(messages, answer, top=top, meter=meter)
    except TooLongError as error:
        return Unscored(unscored=str(error))
    return found or Unscored(unscored=NO_TOKENS)


def mean_logprob(tokens: Sequence[ScoredToken]) -> float:
    """The mean log-probability of the tokens, at least one."""
    return math.fsum(t.logprob for t in tokens) / len(tokens)


def by_sentence(
    answer: str, tokens: Sequence[ScoredToken], offset: int, error: Callable[[list[ScoredToken]], float]
) -> tuple[SentenceScore, ...]:
    """Each sentence's error over the tokens that begin in it; their text begins at `offset` in the answer."""
    found = []
    for sentence in split_sentences(answer):
        own = [t for t in tokens if sentence.start <= t.start + offset < sentence.end]
        score = error(own) if own else Unscored(unscored="no tokens")
        found.append(SentenceScore(n=sentence.n, hallucination=score))
    return tuple(found)


def gptscore_messages(case: Case) -> tuple[Message, ...]:
    """The prompt: the instruction, what was given where something was, and the question."""
    if case.given.source == "derived" or not case.given.arguments:
        return load_prompt("gptscore_open").fill({"question": case.question})
    parts = []
    for group in case.given.groups:
        title = "Texts:" if case.given.source == "context" else f"Arguments, {group.name}:"
        parts.append("\n".join([title, *(f"- {text}" for text in group.arguments)]))
    return load_prompt("gptscore_given").fill({"given": "\n\n".join(parts), "question": case.question})


def build(resources: Resources) -> GptScore:
    """By the local model, for the registry."""
    from eirene.models.local_scoring import LocalScorer

    return GptScore(LocalScorer(resources.local_model))
