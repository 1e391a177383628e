"""The `salience` detector: what a local language model's gradients say the answer was made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from eirene.errors import InputError
from eirene.eval.base import Case, Need
from eirene.eval.salience.maps import (
    AGGREGATES,
    MEANS,
    Aggregate,
    Mean,
    Span,
    error_score,
    largest_shares,
    strengths,
    word_error,
)
from eirene.eval.salience.word_maps import SalienceMap, WordMaps
from eirene.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, WordScore
from eirene.sentences import split_sentences
from eirene.usage import Meter

if TYPE_CHECKING:
    from eirene.eval.resources import Resources
    from eirene.eval.salience.maps import Array

NEEDS_JUDGE = "needs a judge: nothing was given that an answer could be held against"
_NO_WORDS = "no content words"


class SalienceDetector:
    """Gradients of a local causal language model, from the words of the answer to those of the arguments.

    Score: with alpha of an argument's word its strongest contribution to any word of the answer, and beta of an
        answer's word its strongest attribution to any argument's: coverage = 1 - the least mean of alpha of a group,
        hallucination = 1 - the mean of beta; of an argument, a sentence or a word likewise. `aggregate` puts the sum or
        the negative entropy in the place of the maximum, `mean` the arithmetic mean in the place of the geometric one,
        the maps' `measure` the gradient's L2 norm in the place of gradient times input. With `keep_shares` the scores
        hold the map's largest entries.
    Needs: given text and a local model. With source `derived` hallucination is unscored.
    Reference: NPOV, section 3.2 and appendix C.
    Example: docs/detectors.md.
    """

    needs: frozenset[Need] = frozenset({"given", "local_model"})

    def __init__(
        self,
        maps: WordMaps,
        *,
        aggregate: Aggregate = "max",
        mean: Mean = "geometric",
        name: str = "salience",
        keep_shares: bool = False,
    ) -> None:
        for field, value, known in (("aggregate", aggregate, AGGREGATES), ("mean", mean, MEANS)):
            if value not in known:
                raise InputError(f"{field} must be one of {', '.join(known)}, got {value!r}", field=field)
        self._maps = maps
        self._aggregate: Aggregate = aggregate
        self._mean: Mean = mean
        self._name = name
        self._keep_shares = keep_shares
        self.version = f"{maps.version},{aggregate},{mean}" + (",shares" if keep_shares else "")

    @property
    def name(self) -> str:
        """The key of its scores."""
        return self._name

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` when memory runs out."""
        found = await self._maps.get(case, meter=meter)
        return Scores.none(found.unscored) if isinstance(found, Unscored) else self.scores_of(found, case)

    def scores_of(self, found: SalienceMap, case: Case) -> Scores:
        """The scores that a map gives."""
        alpha = strengths(found.values, self._aggregate, axis=1)
        beta = strengths(found.values, self._aggregate, axis=0)
        groups = list(dict.fromkeys(row.group for row in found.rows))
        of_group = [np.array([row.group == name for row in found.rows]) for name in groups]
        coverage: Score = max(self._error(alpha[mask]) for mask in of_group)
        hallucination: Score = (
            self._error(beta) if found.columns else Unscored(unscored="the answer has no content words")
        )
        if case.given.source == "derived":
            return Scores(
                hallucination=Unscored(unscored=NEEDS_JUDGE),
                coverage=coverage,
                arguments=self._arguments(found, alpha, case),
                chunks=found.chunks,
            )
        return Scores(
            hallucination=hallucination,
            coverage=coverage,
            sentences=tuple(self._sentences(found, beta, case.answer)),
            arguments=self._arguments(found, alpha, case),
            words=tuple(self._word(span, b) for span, b in zip(found.columns, beta, strict=True)),
            shares=largest_shares(found.values) if self._keep_shares else (),
            chunks=found.chunks,
        )

    def _arguments(self, found: SalienceMap, alpha: Array, case: Case) -> tuple[ArgumentScore, ...]:
        scores = []
        number = 0
        for group in case.given.groups:
            for n, _ in enumerate(group.arguments, start=1):
                at = [i for i, row in enumerate(found.rows) if row.argument == number]
                words = tuple(
                    WordScore(
                        start=found.rows[i].start,
                        end=found.rows[i].end,
                        score=word_error(float(alpha[i]), self._aggregate),
                    )
                    for i in at
                )
                scores.append(ArgumentScore(group=group.name, n=n, coverage=self._score(alpha[at]), words=words))
                number += 1
        return tuple(scores)

    def _sentences(self, found: SalienceMap, beta: Array, answer: str) -> list[SentenceScore]:
        scores = []
        for sentence in split_sentences(answer):
            at = [i for i, (start, _) in enumerate(found.columns) if sentence.start <= start < sentence.end]
            scores.append(SentenceScore(n=sentence.n, hallucination=self._score(beta[at])))
        return scores

    def _word(self, span: Span, strength: float) -> WordScore:
        return WordScore(start=span[0], end=span[1], score=word_error(float(strength), self._aggregate))

    def _score(self, strength: Array) -> Score:
        return self._error(strength) if strength.size else Unscored(unscored=_NO_WORDS)

    def _error(self, strength: Array) -> float:
        return error_score(strength, self._aggregate, self._mean)


def _maps(resources: Resources) -> WordMaps:
    """The local model's salience maps, on which all salience detectors work."""
    return resources.once("salience", lambda: WordMaps(resources.local_model))


def build(resources: Resources) -> SalienceDetector:
    """The detector as the paper has it."""
    return SalienceDetector(_maps(resources), keep_shares=resources.word_maps)


def build_sum(resources: Resources) -> SalienceDetector:
    """With the sum in the place of the maximum."""
    return SalienceDetector(_maps(resources), aggregate="sum", name="salience-sum", keep_shares=resources.word_maps)


def build_entropy(resources: Resources) -> SalienceDetector:
    """With the negative entropy in the place of the maximum."""
    return SalienceDetector(
        _maps(resources), aggregate="entropy", name="salience-entropy", keep_shares=resources.word_maps
    )
