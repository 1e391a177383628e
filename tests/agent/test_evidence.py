"""Evidence in a run: the same sentences for critic and refiner, fewer for a small context, and all in the record."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

import eirene
from eirene.agent.evidence import evidence_for, first_request
from eirene.core.critique import Sample
from eirene.core.errors import TooLongError
from eirene.core.grounding import whole_evidence
from eirene.core.records import Item, Record
from eirene.models.verifier.runtime import shipped_verifier
from tests.rows import each
from tests.scripted_parts import ScriptedFeedback, ScriptedRefiner, scripted_parts

TOO_LONG = TooLongError("the context is used up")
ITEM = Item(
    id="i", question="What is the capital of Norway?", answer="It is Oslo.",
    context=["Oslo is the capital of Norway. Bread is baked. Trams run.", "Oslo lies at a fjord."],
)  # fmt: skip
FAULT = [Sample(tags=("Incomplete",), reasons=("Where it lies.",))] * 3


async def run_with(
    samples: list[Sample | TooLongError], rewrites: list[str | TooLongError], **more: object
) -> tuple[Record, ScriptedFeedback, ScriptedRefiner]:
    parts = dataclasses.replace(scripted_parts(samples=samples, rewrites=rewrites), **more)  # type: ignore[arg-type]
    settings = eirene.Settings(samples=3, stop="none", max_rounds=1)
    record = await eirene.Loop(parts, settings).arun(ITEM)
    assert isinstance(parts.feedback_model, ScriptedFeedback) and isinstance(parts.refiner, ScriptedRefiner)
    return record, parts.feedback_model, parts.refiner


async def test_critic_and_refiner_are_shown_the_same_sentences_and_the_record_has_them() -> None:
    record, critic, refiner = await run_with([*FAULT], ["It is Oslo, at a fjord."])
    shown = whole_evidence(ITEM)
    assert critic.requests[0].evidence == refiner.tasks[0].evidence == record.rounds[0].evidence == shown
    assert Record.model_validate_json(record.to_json()) == record


async def test_a_context_too_small_gets_half_as_many_until_they_fit() -> None:
    """Of four sentences two fit the critic; the refiner, whose prompt is longer, takes one of these."""
    record, critic, refiner = await run_with([TOO_LONG, *FAULT], [TOO_LONG, "It is Oslo."])
    assert [len(r.evidence.sentences) for r in critic.requests if r.evidence] == [4, 2]
    assert [len(t.evidence.sentences) for t in refiner.tasks if t.evidence] == [2, 1]
    evidence = record.rounds[0].evidence
    assert evidence is not None and evidence.n_given == 4
    assert evidence.cut == "the model's context is too small for 2 sentences of the passages: it was shown 1"


async def test_where_nothing_fits_the_run_fails_with_the_original() -> None:
    record, critic, _ = await run_with([TOO_LONG] * 4, [])
    assert (record.status, record.answer) == ("failed", ITEM.answer)
    assert [len(r.evidence.sentences) for r in critic.requests if r.evidence] == [4, 2, 1, 0]


@each("shows, context", [(False, ITEM.context), (True, None)])
async def test_nothing_is_looked_up_without_passages_or_a_model_that_reads_them(
    shows: bool, context: list[str] | None
) -> None:
    parts = dataclasses.replace(scripted_parts(), shows_evidence=shows)
    assert evidence_for(ITEM.model_copy(update={"context": context}), "It is Oslo.", parts, 2) is None


async def test_the_first_request_of_a_run_is_known_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batch files ask what the run will ask. The run's own verifier reads, and no other."""
    parts = dataclasses.replace(scripted_parts(samples=[*FAULT], rewrites=["It is Oslo."]), verifier=shipped_verifier())
    settings = eirene.Settings(samples=3, stop="none", max_rounds=1, evidence=2)
    with monkeypatch.context() as patched:
        patched.delattr("eirene.verification.verify.shipped_verifier")
        wanted = await asyncio.to_thread(first_request, "completeness", ITEM, parts, settings)
        await eirene.Loop(parts, settings).arun(ITEM)
    assert isinstance(parts.feedback_model, ScriptedFeedback)
    assert parts.feedback_model.requests == [wanted]
    assert wanted.evidence is not None
    assert wanted.evidence.unsaid == eirene.verify(ITEM.answer, ITEM.context, question=ITEM.question).unsaid != ()
    assert wanted.evidence and [e.text for e in wanted.evidence.sentences] == [
        "Oslo is the capital of Norway.",
        "Oslo lies at a fjord.",
    ]
