"""Records of every status, made by the real loop over scripted parts."""

from __future__ import annotations

from typing import Any

from eirene.agent import refine
from eirene.agent.scripted import scripted_parts
from eirene.critique import Finding, Sample
from eirene.records import Record
from eirene.scores import ArgumentScore, Scores, SentenceScore, Unscored

ANSWER = "Zoos teach children about animals. Cages make the moon shine."
BETTER = "Zoos teach children about animals. Critics reply that cages make animals suffer."
ITEM = {
    "id": "zoo",
    "question": "Should zoos be closed?",
    "answer": ANSWER,
    "perspectives": [
        {"name": "pro", "arguments": ["Cages make animals suffer."]},
        {"name": "con", "arguments": ["Zoos teach children about animals."]},
    ],
}
BAD = Scores(
    hallucination=0.6,
    coverage=0.9,
    sentences=(SentenceScore(n=1, hallucination=0.1), SentenceScore(n=2, hallucination=0.6)),
    arguments=(ArgumentScore(group="pro", n=1, coverage=0.9), ArgumentScore(group="con", n=1, coverage=0.05)),
)
GOOD = Scores(
    hallucination=0.1,
    coverage=0.2,
    arguments=(ArgumentScore(group="pro", n=1, coverage=0.2), ArgumentScore(group="con", n=1, coverage=0.05)),
)
COMPLETE = Sample(tags=("Complete", "Complete"), reasons=(None, None))
INVALID = Sample(invalid="refused")


def incomplete(reason: str = "It says nothing of the suffering of animals.") -> Sample:
    """A vote against the second sentence."""
    finding = Finding(kind="unsupported", start=35, end=len(ANSWER), reason="No argument says so.")
    return Sample(tags=("Complete", "Incomplete"), reasons=(None, reason), findings=(finding,))


def record(
    status: str, *, item: dict[str, Any] | None = None, reason: str | None = None, better: str = BETTER
) -> Record:
    """A record with that status; four critiques were asked for."""
    data = {**ITEM, **(item or {})}
    bad = incomplete() if reason is None else incomplete(reason)
    scores = {data["answer"]: BAD, better: GOOD if status == "accepted" else BAD}
    samples = {"complete": [COMPLETE] * 4, "abstained": [INVALID] * 4, "failed": []}.get(
        status, [bad, bad, COMPLETE, INVALID]
    )
    parts = scripted_parts(
        samples=samples, rewrites=[better, better + " Again."], scores=scores | {better + " Again.": BAD}
    )
    result = refine(data, backend=parts, samples=4)
    assert result.status == status
    return result


UNSCORED = Unscored(unscored="nothing was given")
