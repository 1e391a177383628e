"""The `gptscore` detector: how likely a language model finds the answer after an instruction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need
from eirene.eval.detectors.answer_tokens import by_sentence, mean_logprob, read_answer
from eirene.eval.detectors.judge import bounded
from eirene.models.token_scores import TokenScorer
from eirene.prompts import Message, load_prompt

if TYPE_CHECKING:
    from eirene.eval.resources import Resources

HALF_NLL = 2.0
"""Nats a token that map to an error score of 0.5: a perplexity of 7.4."""

NO_COVERAGE = "gptscore looks for hallucinations only"


class GptScore:
    """How unlikely the answer is, by a causal language model.

    Score: raw `mean_logprob`, the GPTScore, is the mean natural-log probability of the answer's tokens after the
        prompt (0 at best); the hallucination score is x / (x + 2) of x = -mean_logprob, which keeps the order.
        Sentences likewise, over their own tokens. Coverage is unscored. Given text beyond the model's context is shared
        out over several passes, and each sentence counts as it stands with the chunk that makes it likeliest.
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
        found = await read_answer(self._scorer, gptscore_messages, case, top=1, meter=meter)
        if isinstance(found, Unscored):
            return Scores.none(found.unscored)
        mean = mean_logprob(found.tokens)
        return Scores(
            hallucination=bounded(max(0.0, -mean), half=HALF_NLL),
            coverage=Unscored(unscored=NO_COVERAGE),
            sentences=by_sentence(
                case.answer, found.tokens, lambda own: bounded(max(0.0, -mean_logprob(own)), half=HALF_NLL)
            ),
            raw={"mean_logprob": mean, "tokens": float(len(found.tokens))},
            chunks=found.chunks,
        )


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
    return GptScore(resources.token_scorer)
