"""Records of every status, made by the real loop over scripted parts."""

from __future__ import annotations

from typing import Any

from eirene.agent.run import refine
from eirene.core.critique import Finding, Sample, Tag
from eirene.core.records import WITHOUT_FAULT, Record
from eirene.core.scores import ArgumentScore, Scores, SentenceScore
from eirene.text.sentences import split_sentences
from tests.scripted_parts import scripted_parts

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
INVALID = Sample(invalid="refused")


def complete(sentences: int = 2) -> Sample:
    """A vote that finds nothing."""
    fine: Tag = "Complete"
    return Sample(tags=(fine,) * sentences, reasons=(None,) * sentences)


def incomplete(reason: str = "It says nothing of the suffering of animals.", sentences: int = 2) -> Sample:
    """A vote against the second sentence."""
    finding = Finding(kind="unsupported", start=35, end=len(ANSWER), reason="No argument says so.")
    rest = sentences - 2
    fine: Tag = "Complete"
    tags: tuple[Tag, ...] = (fine, "Incomplete", *[fine] * rest)
    return Sample(tags=tags, reasons=(None, reason, *[None] * rest), findings=(finding,))


def record(
    status: str, *, item: dict[str, Any] | None = None, reason: str | None = None, better: str = BETTER
) -> Record:
    """A record with that status; four critiques were asked for."""
    data = {**ITEM, **(item or {})}
    n = len(split_sentences(data["answer"]))
    bad = incomplete(sentences=n) if reason is None else incomplete(reason, n)
    scores = {data["answer"]: BAD, better: GOOD if status == "accepted" else BAD}
    if status == "no_fault_found":
        data |= {"perspectives": None, "context": ["Zoos teach children about animals."]}
    nothing = Sample(invalid="nothing in it", not_checked=True)
    fine = dict.fromkeys(WITHOUT_FAULT, [complete(n)] * 4)
    others = {"abstained": [INVALID] * 4, "not_checked": [nothing] * 4, "failed": []}
    samples = {**fine, **others}.get(status, [bad, bad, complete(n), INVALID])
    rewrites = [data["answer"]] * 2 if status == "flagged" and better == BETTER else [better, better + " Again."]
    parts = scripted_parts(samples=samples, rewrites=rewrites, scores=scores | {better + " Again.": BAD})
    result = refine(data, backend=parts, samples=4)
    assert result.status == status
    return result
