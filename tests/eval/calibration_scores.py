"""Labelled answers with made scores: a detector that ranks errors first but far from 0.5, and ones that do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from eirene.core.records import Item
from eirene.core.scores import Score, Scores, Unscored
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detectors import ScoredCases

NONE = Unscored(unscored="not looked at")
ScoreOf = Callable[[bool, np.random.Generator], float | None]


def low(wrong: bool, rng: np.random.Generator) -> float:
    """Ranks errors first, and gives none of them as much as 0.5."""
    return float(0.05 + 0.1 * rng.random() + (0.1 * rng.random() + 0.05 if wrong else 0.0))


def noise(_: bool, rng: np.random.Generator) -> float:
    """Knows nothing."""
    return float(rng.random())


def upside_down(wrong: bool, rng: np.random.Generator) -> float:
    """Falls where there are errors."""
    return 1.0 - low(wrong, rng)


def made(seed: int = 0, *, n: int = 120, per_question: int = 2, **detectors: ScoreOf) -> ScoredCases:
    """`n` answers, every third with a hallucination; `per_question` of them answer the same question."""
    rng = np.random.default_rng(seed)
    cases, scores = [], {name: list[Scores]() for name in detectors}
    for i in range(n):
        wrong = i % 3 == 0
        question = f"Question {i // per_question}?"
        cases.append(Labelled(Item(question=question, answer=f"Answer {i}."), question, hallucination=wrong))
        for name, score_of in detectors.items():
            value = score_of(wrong, rng)
            score: Score = NONE if value is None else value
            scores[name].append(Scores(hallucination=score, coverage=NONE))
    return ScoredCases(cases, scores)
