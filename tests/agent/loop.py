"""Fixtures for the tests of the loop: one item, samples and scores by hand."""

from __future__ import annotations

from typing import Any

from eirene.core.critique import Sample
from eirene.core.scores import Scores

ORIGINAL = "Trams are quiet. Buses are cheap."
ITEM: dict[str, Any] = {
    "id": "trams",
    "question": "Trams or buses?",
    "answer": ORIGINAL,
    "perspectives": [
        {"name": "trams", "arguments": ["Trams are quiet.", "Trams pollute less."]},
        {"name": "buses", "arguments": ["Buses are cheap."]},
    ],
}
OPEN_ITEM: dict[str, Any] = {"id": "open", "question": "Trams or buses?", "answer": ORIGINAL}

FAULTY = Sample(tags=("Incomplete", "Complete"), reasons=("Pollution is missing.", None))
SPOTLESS = Sample(tags=("Complete", "Complete"), reasons=(None, None))
NOISE = Sample(invalid="refusal")


def scores(hallucination: float, coverage: float) -> Scores:
    return Scores(hallucination=hallucination, coverage=coverage)


BAD, WORSE, GOOD = scores(0.1, 0.6), scores(0.1, 0.9), scores(0.1, 0.1)
