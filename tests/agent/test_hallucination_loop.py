"""The hallucination critic in the loop, and mode edit: scripted models, a chat model, and the embedded default."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.findings import with_findings
from eirene.agent.record import run_signature
from eirene.agent.run import refine
from eirene.agent.settings import Settings
from eirene.core.critique import Sample
from eirene.core.errors import InputError
from eirene.core.findings.tags import parse_tagged
from eirene.core.records import Record
from eirene.models.scripted import ScriptedChatModel
from eirene.views.facts import consistency
from tests.scripted_parts import scripted_parts

EXAMPLE: dict[str, Any] = json.loads(Path("examples/fava.json").read_text("utf-8"))
ANSWER = "The bridge opened in 1899. It is ugly. Trains cross it."
ITEM = {"id": "bridge", "question": "What is the bridge?", "answer": ANSWER, "context": ["The bridge opened in 1890."]}
TAGGED = (
    "The bridge opened in <entity><delete>1899</delete><mark>1890</mark></entity>. "
    "<subjective>It is ugly.</subjective> Trains cross it."
)
MENDED = "The bridge opened in 1890. Trains cross it."


def run(model: ScriptedChatModel, **options: Any) -> Record:
    settings = {"critic": "hallucination", "mode": "edit", "samples": 4, **options}
    return refine(ITEM, backend=model, **settings)


def test_voted_edits_are_carried_out_without_a_model_that_writes() -> None:
    """Every call is a critic's: the rewrite is the answer with the voted edits made, and passes the gate."""
    model = ScriptedChatModel(lambda messages: TAGGED if ANSWER in str(messages[-1].content) else MENDED)
    record = run(model)
    assert (record.status, record.answer) == ("accepted", MENDED)
    critique = record.rounds[0].critique
    assert critique is not None and critique.hallucination is not None
    assert [(f.kind, f.edit, f.share) for s in critique.sentences for f in s.findings] == [
        ("entity", "1890", 1.0), ("subjective", "", 1.0)
    ]  # fmt: skip
    assert record.usage.calls == 3  # the critique, and a re-vote on both texts, each in one request
    assert "critic:hallucination" in record.signature and "+findings|" in record.signature


def test_an_edit_that_the_critic_still_finds_fault_with_is_kept_out() -> None:
    """The gain is the critic's own re-vote: where it marks the edited text as much as the first, nothing is gained."""
    stubborn = "<relation><delete>The bridge opened</delete><mark>The bridge shut</mark></relation>"

    def reply(messages: Any) -> str:
        text = str(messages[-1].content)
        return TAGGED.replace("1890", "1901") if ANSWER in text else stubborn + " in 1901. Trains cross it."

    record = refine({**ITEM, "context": None}, backend=ScriptedChatModel(reply), critic="hallucination", mode="edit",
                    samples=3, max_rounds=1)  # fmt: skip
    findings = record.rounds[0].scores["findings"]
    assert findings.hallucination == 0.5 and record.scores.original["findings"].hallucination == pytest.approx(2 / 3)


def test_doubtful_text_can_be_marked_in_place_of_being_removed() -> None:
    """With removal=mark the statement stays with its kind after it; what the text names itself counts as no finding."""
    edited = ANSWER.replace("1899", "1890").replace("It is ugly.", "It is ugly [subjective].")
    again = edited.replace("It is ugly [subjective].", "<subjective>It is ugly</subjective> [subjective].")
    model = ScriptedChatModel(lambda messages: TAGGED if ANSWER in str(messages[-1].content) else again)
    record = run(model, removal="mark")
    assert record.rounds[0].candidate == edited
    assert record.rounds[0].scores["findings"].hallucination == 0.0


def test_both_critics_meet_in_one_critique() -> None:
    """A sentence is Incomplete if either critic says so; completeness's reason is first, all samples are kept."""
    said = "1. [Complete]\n2. [Incomplete] Reasons: Its colour is missing.\n3. [Incomplete] Reasons: How many?"

    def reply(messages: Any) -> str:
        text = str(messages[0].content)
        if "[Complete]" in text:
            return said
        return TAGGED if "<entity>" in text and ANSWER in str(messages[-1].content) else MENDED

    record = refine(ITEM, backend=ScriptedChatModel(reply), critic="both", samples=3, max_rounds=1)
    critique = record.rounds[0].critique
    assert critique is not None
    assert [s.tag for s in critique.sentences] == ["Incomplete"] * 3
    assert (critique.sentences[1].reason or "").startswith("Its colour is missing. An opinion")
    assert [s.critic for s in record.rounds[0].samples] == [None] * 3 + ["hallucination"] * 3


def test_where_one_critic_has_no_quorum_the_other_stands() -> None:
    """A critic that refuses costs its own verdict, not the run's; the critique says that it abstained."""
    reply = "1. [Incomplete] Reasons: When?\n2. [Complete]\n3. [Complete]"
    model = ScriptedChatModel(lambda m: reply if "[Complete]" in str(m[0].content) else "I'm sorry, I can't.")
    record = refine(ITEM, backend=model, critic="both", samples=3, max_rounds=1)
    critique = record.rounds[0].critique
    assert critique is not None and critique.hallucination is not None
    assert "another text" in (critique.hallucination.abstained or "")
    assert (critique.hallucination.n_drawn, critique.hallucination.n_valid) == (3, 0)
    assert critique.abstained is None
    assert [s.tag for s in critique.sentences] == ["Incomplete", "Complete", "Complete"]


def test_where_completeness_has_no_quorum_the_critique_says_so_too() -> None:
    """The findings stand alone, and the record and its page tell why."""
    model = ScriptedChatModel(lambda m: "I'm sorry, I can't." if "[Complete]" in str(m[0].content) else TAGGED)
    record = refine(ITEM, backend=model, critic="both", samples=3, max_rounds=1)
    critique = record.rounds[0].critique
    assert critique is not None and critique.hallucination is not None
    assert "0 of 3 samples" in (critique.abstained or "")
    assert "no vote on completeness: refusal (0 of 3" in consistency(record.rounds[0])
    assert (critique.n_valid, critique.hallucination.abstained) == (3, None)


def test_the_example_is_mended_offline() -> None:
    """The embedded critic puts one entity right and takes out what nothing bears on; the gate lets the edits pass."""
    record = refine(EXAMPLE, critic="hallucination", mode="edit")
    assert record.status == "accepted" and record.usage.calls == 0
    assert "Edinburgh" in record.answer and "duchess" not in record.answer


def test_records_of_the_default_critic_know_nothing_of_findings() -> None:
    """Without the hallucination critic a record has no key of it, and its signature is what it was."""
    faulty = Sample(tags=("Complete",), reasons=(None,))
    parts = scripted_parts(samples=[faulty] * 3)
    record = refine({"question": "q", "answer": "One."}, backend=parts, samples=3)
    text = record.to_json()
    assert all(key not in text for key in ("hallucination_", '"critic"', '"share"', '"hallucination": null'))
    assert "critic" not in run_signature(parts, Settings(samples=3))
    assert with_findings(parts, Settings()) is parts


def test_what_does_not_go_together_is_told_before_anything_is_spent() -> None:
    """Mode edit needs a critic that names edits, and that critic a backend that has one."""
    with pytest.raises(InputError, match="take critic hallucination or both"):
        Settings.of(mode="edit")
    with pytest.raises(InputError, match="no hallucination critic"):
        refine(ITEM, backend=scripted_parts(), critic="both")


def test_tags_in_the_answer_are_text() -> None:
    """An answer that is about tags is judged and edited like any other; its own tags stay."""
    answer = "Write <entity>x</entity> for a name. It was made in 1899."
    edit = "<entity><delete>1899</delete><mark>1890</mark></entity>"
    tagged = f"Write &lt;entity>x&lt;/entity> for a name. It was made in {edit}."
    assert parse_tagged(tagged).text == answer
    model = ScriptedChatModel(lambda m: tagged if "1899" in str(m[-1].content) else tagged.replace("1899", "1890"))
    record = refine({**ITEM, "answer": answer}, backend=model, critic="hallucination", mode="edit", samples=3)
    assert record.rounds[0].candidate == answer.replace("1899", "1890")
