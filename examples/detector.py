"""A detector of one's own in the loop: error scores in [0, 1], lower is better.

    python examples/detector.py

A class with a name, a version, what it needs, and a method `score`. It may decide in the gate beside the others.
"""

import dataclasses

import eirene
from eirene.eval.base import Case


class Hedges:
    """The share of sentences that hedge."""

    name, version = "hedges", "1"
    needs = frozenset()

    async def score(self, case: Case, *, meter: eirene.Meter) -> eirene.Scores:
        sentences = [s.text for s in eirene.split_sentences(case.answer) if s.text]
        hedged = sum(any(word in s.lower() for word in ("perhaps", "maybe", "arguably")) for s in sentences)
        return eirene.Scores(
            hallucination=hedged / max(1, len(sentences)), coverage=eirene.Unscored(unscored="looks at hedges alone")
        )


parts = eirene.resolve_backend("embedded")
parts = dataclasses.replace(parts, detectors=(*parts.detectors, Hedges()))
record = eirene.refine(
    question="Should zoos be closed?",
    answer="Perhaps zoos teach children about animals.",
    perspectives={"pro": "Zoos teach children about animals.", "con": "Cages make animals suffer."},
    backend=parts,
)
print(record.status, record.answer)
for when, scores in (("before", record.scores.original), ("after", record.scores.final)):
    print(f"hedges {when}: {scores['hedges'].hallucination:.2f}")
