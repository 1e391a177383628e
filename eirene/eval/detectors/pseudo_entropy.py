"""The `pseudo-entropy` detector: how unsure the model was at the answer's least sure token."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from eirene.core.errors import InputError
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need, unmet
from eirene.eval.detectors.answer_tokens import by_sentence, read_answer
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.selfcheck_samples import sample_messages
from eirene.models.token_scores import TokenScorer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eirene.eval.resources import Resources

TOP = 5
"""Alternatives for each token, to which the token's own is added where it is not among them, as in the paper."""

HALF = 3.0
"""Nats that map to an error score of 0.5."""

NO_COVERAGE = "pseudo-entropy looks for hallucinations only"


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

    def __init__(self, scorer: TokenScorer | None = None, *, top: int = TOP) -> None:
        if top < 1:
            raise InputError(f"top must be at least 1, got {top}", field="top")
        self._scorer = scorer
        self._top = top

    @property
    def needs(self) -> frozenset[Need]:
        """Token log-probabilities, and the model that gives them if there is one."""
        return frozenset({"token_logprobs"} if self._scorer is None else {"token_logprobs", "local_model"})

    @property
    def version(self) -> str:
        """The model and M; empty without a model."""
        return "" if self._scorer is None else f"{self._scorer.name},top={self._top}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model cannot be reached, or refuses."""
        if case.token_logprobs:
            values = [pseudo_entropy(token) for token in case.token_logprobs]
            return _scores(values)
        if self._scorer is None:
            return Scores.none(unmet("token_logprobs"))
        found = await read_answer(self._scorer, sample_messages, case, top=self._top, meter=meter)
        if isinstance(found, Unscored):
            return Scores.none(found.unscored)
        sentences = by_sentence(
            case.answer, found.tokens, lambda own: bounded(max(pseudo_entropy(t.top) for t in own), half=HALF)
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
        hallucination=bounded(largest, half=HALF),
        coverage=Unscored(unscored=NO_COVERAGE),
        raw={"max_pseudo_entropy": largest, "tokens": float(len(values))},
    )


def build(resources: Resources) -> PseudoEntropy:
    """By the rows' own log-probabilities, else by the local model if one is named; for the registry."""
    if resources.local is None:
        return PseudoEntropy()
    return PseudoEntropy(resources.token_scorer)
