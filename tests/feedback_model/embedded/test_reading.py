"""The critic by reading: which sentences it faults, with which reasons, and how its critiques are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from eirene.core.critique import Finding, Sample
from eirene.core.records import FOUND_PASSAGES, Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.critic import EmbeddedFeedback, EmbeddedHallucination
from eirene.feedback_model.embedded.reading import faults_by_reading
from eirene.feedback_model.finding_vote import vote_on_findings
from eirene.feedback_model.vote import select
from tests.feedback_model.embedded.reader import asked, verifier
from tests.word_overlap import WordOverlapEncoder

PASSAGE = "The harbour bridge was opened in 1932. Trains cross the bridge every hour. Cars pay a toll on weekdays."
SOUND = "The harbour bridge was opened in 1932. Trains cross the bridge every hour."
FOREIGN = "Squirrels elected a mayor."


def findings(answer: str, *passages: str) -> list[Finding]:
    faults = faults_by_reading(asked(answer, *(passages or (PASSAGE,))), verifier())
    assert not isinstance(faults, str)
    return [finding for fault in faults if fault.margin > 0 for finding in fault.findings]


def test_a_sentence_that_the_passages_do_not_hold_is_unsupported_with_the_nearest_one_as_reason() -> None:
    answer = f"{SOUND} {FOREIGN}"
    (found,) = findings(answer)
    assert (found.kind, answer[found.start : found.end], found.edit) == ("unsupported", FOREIGN, "")
    assert found.reason.startswith('Not found in the passages; the nearest sentence says: "')


def test_a_contradicted_sentence_is_mended_with_the_deciding_one_as_reason() -> None:
    answer = "The harbour bridge was opened in 1899. Trains cross the bridge every hour."
    (found,) = findings(answer)
    assert (found.kind, answer[found.start : found.end], found.edit) == ("entity", "1899", "1932")
    assert found.reason == 'The passages say: "The harbour bridge was opened in 1932."'


def test_a_sentence_that_is_probably_contradicted_and_that_no_words_mend_is_only_unsupported() -> None:
    passage = f"{PASSAGE} It was not opened by a king."
    found = findings(f"{SOUND} It was opened in Madrid by a king in 1801.", passage)
    assert [f.kind for f in found] == ["unsupported"]


def test_a_sentence_that_something_hangs_on_is_named_and_not_taken_out() -> None:
    (found,) = findings(f"{SOUND} {FOREIGN} However, cars pay a toll on weekdays.")
    assert (found.kind, found.edit) == ("unsupported", None)


def test_what_claims_nothing_is_never_faulted(subtests: pytest.Subtests) -> None:
    for nothing in ["Is it old?", "Based on the passages, here is what is known:", "# Owls", "www.owls.example"]:
        with subtests.test(nothing=nothing):
            assert findings(f"{nothing}\n{SOUND}") == []


async def test_an_answer_of_which_nothing_can_be_checked_has_no_critique(subtests: pytest.Subtests) -> None:
    for answer, why in [
        ("| bridge | 1899 |\n| --- | --- |", "2 sentences: a table row"),
        ("nan", "too short to claim anything"),
    ]:
        with subtests.test(answer=answer, why=why):
            request = asked(answer, PASSAGE)
            models = (feedback(), EmbeddedHallucination(WordOverlapEncoder(), verifier=verifier))
            for model in models:
                (sample,) = await drawn(model, request, 1)
                assert sample.invalid is not None
                assert sample.invalid.startswith("nothing in the answer could be checked")
                assert why in sample.invalid


def test_a_sentence_in_another_language_is_not_judged() -> None:
    foreign = "Die Brücke wurde im Jahr 1899 von der Bürgermeisterin der Stadt eröffnet und ist sehr schön."
    assert findings(f"{SOUND} {foreign}") == []


def test_the_passage_that_decides_is_cited_by_its_id() -> None:
    item = Item(
        question="What is it?", answer=FOREIGN, context=["Owls sleep.", PASSAGE], meta={FOUND_PASSAGES: ["a", "b"]}
    )
    faults = faults_by_reading(replace(asked(FOREIGN, PASSAGE), item=item), verifier())
    assert all(fault.findings[0].reason.endswith(("[a]", "[b]")) for fault in faults)
    assert faults


async def drawn(model: EmbeddedFeedback | EmbeddedHallucination, request: FeedbackRequest, count: int) -> list[Sample]:
    return [sample async for sample in model.draw(request, start=0, count=count, meter=Meter())]


def feedback() -> EmbeddedFeedback:
    return EmbeddedFeedback(WordOverlapEncoder(), verifier=verifier)


async def test_the_critic_of_completeness_reads_passages() -> None:
    request = asked(f"{SOUND} {FOREIGN}", PASSAGE)
    samples = await drawn(feedback(), request, 20)
    critique = select(samples, request.sentences, n_requested=20).critique
    assert critique is not None
    assert [s.tag for s in critique.sentences] == ["Complete", "Complete", "Incomplete"]


async def test_the_critic_of_hallucinations_calls_what_is_not_given_unverifiable() -> None:
    request = asked(f"{SOUND} {FOREIGN}", PASSAGE)
    samples = await drawn(EmbeddedHallucination(WordOverlapEncoder(), verifier=verifier), request, 20)
    critique = vote_on_findings(samples, request.sentences, n_requested=20).critique
    assert critique is not None
    assert [(f.kind, f.edit) for s in critique.sentences for f in s.findings] == [("unverifiable", "")]


@dataclass
class Judge:
    """Confirms every correction, or none, and keeps what it was asked."""

    says: bool
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def confirms(self, given: str, before: str, after: str, *, meter: Meter) -> bool:
        assert "in 1903" in given
        self.asked.append((before, after))
        return self.says


async def test_a_mend_in_other_words_than_the_passages_takes_a_judge_that_confirms_it() -> None:
    passage = "The library was opened to the public by Queen Anna in 1903, after eight years of building."
    answer = "It was in 1930 that Queen Anna let the public into the library."
    for judge, edit in ((None, None), (Judge(says=False), None), (Judge(says=True), "1903")):
        model = feedback() if judge is None else feedback().judged_by(judge)
        samples = await drawn(model, request := asked(answer, passage), 20)
        critique = select(samples, request.sentences, n_requested=20).critique
        assert critique is not None and [f.edit for f in critique.sentences[0].findings] == [edit]
        assert judge is None or judge.asked == [(answer, answer.replace("1930", "1903"))]  # once for all draws


async def test_a_draw_hangs_on_seed_and_number_alone() -> None:
    request = asked(f"{SOUND} {FOREIGN}", PASSAGE)
    samples = await drawn(feedback(), request, 20)
    later = [s async for s in feedback().draw(request, start=15, count=5, meter=Meter())]
    assert later == samples[15:]
    assert await drawn(feedback(), replace(request, seed=1), 20) == await drawn(
        feedback(), replace(request, seed=1), 20
    )


async def test_arguments_are_not_read_but_aligned() -> None:
    def never() -> object:
        raise AssertionError("the verifier was loaded")

    item = Item(question="Parks?", answer=SOUND, perspectives={"pro": ["Trains cross the bridge."]}, context=[PASSAGE])
    request = replace(asked(SOUND, PASSAGE), item=item)
    model = EmbeddedFeedback(WordOverlapEncoder(), verifier=never)  # type: ignore[arg-type]
    assert all(sample.is_valid for sample in await drawn(model, request, 3))
