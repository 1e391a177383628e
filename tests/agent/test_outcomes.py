"""The sentence in which a run ends: it says what was checked, what was found, and no more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from eirene.agent.run import refine
from eirene.core.grounding import NOTHING_GIVEN
from eirene.core.records import Record
from eirene.models.scripted import ScriptedChatModel
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, ORIGINAL, SPOTLESS, WORSE
from tests.rows import each
from tests.scripted_parts import scripted_parts

PASSAGES = {**ITEM, "perspectives": None, "context": ["Trams are quiet. Buses are cheap. Trams pollute less."]}
OPEN = {**ITEM, "perspectives": None}
FINE = "1. [Complete]\n2. [Complete]"
GATE = "no rewrite was accepted: worse than before: missing content 0.60 -> 0.90 (by scripted)"
FOUND = "nothing could be corrected: in 1 of 2 sentences a fault was found (Pollution is missing); "


def unchanged(status: str, *rewrites: str, **options: Any) -> Record:
    known = {**dict.fromkeys(rewrites, WORSE), ORIGINAL: BAD}
    parts = scripted_parts(samples=[FAULTY] * 20, rewrites=rewrites, scores=known)
    record = refine(ITEM, backend=parts, **options)
    assert (record.status, record.answer) == (status, ORIGINAL)
    return record


def test_kept_names_the_gates_reason_and_flagged_the_fault_that_no_rewrite_mended() -> None:
    for rewrites, why in [
        (("worse", "worst"), GATE),
        (("worse", ORIGINAL), f"{GATE}; then the refiner returned the text unchanged"),
        (("worse", "worse"), f"{GATE}; then the rewrite repeats one that was already rejected"),
        ((ORIGINAL, ORIGINAL), FOUND.removesuffix("; ")),
        ((ORIGINAL, " "), f"{FOUND}the rewrite is empty"),
        (("I'm sorry, I can't.", "Sorry, no."), f"{FOUND}the reply is a refusal, not a rewrite"),
    ]:
        assert unchanged("kept" if why.startswith(GATE) else "flagged", *rewrites).why == why


def test_an_unchanged_text_without_a_critique_is_not_asked_for_again() -> None:
    for mode in ["improve", "generic"]:
        record = unchanged("not_checked", ORIGINAL, mode=mode)
        assert record.why == "nothing was rewritten: the refiner returned the text unchanged"
        assert record.usage.calls == 1


def test_a_long_reason_is_cut_in_the_outcome() -> None:
    long = FAULTY.model_copy(update={"reasons": ("very " * 500 + "missing.", None)})
    record = refine(ITEM, backend=scripted_parts(samples=[long] * 20, rewrites=[ORIGINAL] * 2, scores={ORIGINAL: BAD}))
    assert len(record.why) < 400 and "very ..." in record.why


def test_without_a_fault_it_is_said_what_the_embedded_critics_looked_for() -> None:
    for item, critic, why, unchecked in [
        (ITEM, "completeness", "nothing incomplete was found, so nothing was rewritten", None),
        (
            PASSAGES,
            "completeness",
            "no sentence was found unsupported by the passages; whether something of the passages is missing was not "
            "checked",
            "whether something of the passages is missing",
        ),
        (
            PASSAGES,
            "hallucination",
            "no hallucination was found; whether something is missing was not checked",
            "whether something is missing",
        ),
        (
            PASSAGES,
            "both",
            "no sentence was found unsupported by the passages; whether something of the passages is missing was not "
            "checked",
            "whether something of the passages is missing",
        ),
    ]:
        whole = {**item, "answer": "Supporters of trams say that trams are quiet. They add that trams pollute less. "
                 "Supporters of buses say that buses are cheap."}  # fmt: skip
        if item is PASSAGES:
            whole["answer"] = "Trams are quiet. Buses are cheap."
        record = refine(whole, critic=critic)
        assert (record.status, record.why) == ("no_fault_found" if unchecked else "complete", why)
        critique = record.rounds[0].critique
        assert critique is not None and critique.unchecked == unchecked


@each(
    "critic, silent, why",
    [
        ("completeness", "", "nothing incomplete was found, so nothing was rewritten"),
        ("hallucination", "", "no hallucination was found; whether something is missing was not checked"),
        ("both", "", "no fault was found, so nothing was rewritten"),
        ("both", "hallucination", "nothing incomplete was found; whether something said is false was not checked"),
        ("both", "completeness", "no hallucination was found; whether something is missing was not checked"),
    ],
)
def test_complete_speaks_for_the_critics_that_voted(critic: str, silent: str, why: str) -> None:
    """A model's critics look for all of their kind; one that refuses has looked for nothing."""

    def reply(messages: Any) -> str:
        asked = "completeness" if "[Complete]" in str(messages[0].content) else "hallucination"
        return "I'm sorry, I can't." if asked == silent else FINE if asked == "completeness" else ORIGINAL

    for item in (PASSAGES, ITEM, OPEN):
        record = refine(item, backend=ScriptedChatModel(reply), critic=critic, samples=3)
        is_all = item is not PASSAGES and why.endswith("so nothing was rewritten")
        assert (record.status, record.why) == ("complete" if is_all else "no_fault_found", why)


def test_an_abstention_begins_with_its_point_and_ends_with_the_counts() -> None:
    for critic in ("completeness", "hallucination", "both"):
        record = refine(OPEN, critic=critic)
        assert (record.status, record.why) == ("not_checked", NOTHING_GIVEN)
    refused = refine(ITEM, backend=ScriptedChatModel(lambda _: "I'm sorry, I can't do that."), samples=3)
    assert refused.status == "abstained" and refused.why.startswith("refusal (0 of 3 samples")


def test_the_critic_does_not_vote_again_where_nothing_was_rewritten() -> None:
    """Its re-vote measures a gain; a draft that needs nothing costs the vote alone, one request a critic."""
    for critic in ["hallucination", "both"]:
        model = ScriptedChatModel(lambda m: FINE if "[Complete]" in str(m[0].content) else ORIGINAL)
        record = refine(PASSAGES, backend=model, critic=critic, samples=3)
        assert (record.status, record.usage.calls) == ("no_fault_found", {"hallucination": 1, "both": 2}[critic])
        assert "findings" not in record.scores.original and "alignment" in record.scores.original


def test_a_rewrite_after_a_useless_one_is_still_measured_by_the_re_vote() -> None:
    """The first draw changed nothing, and so there was no re-vote of the original: with the next one there is."""
    marked = ORIGINAL.replace("quiet", "<entity><delete>quiet</delete><mark>loud</mark></entity>")
    rewrites = iter([ORIGINAL, "Trams are loud. Buses are cheap."])

    def reply(messages: Any) -> str:
        asked = str(messages[0].content)
        if "You examine" in asked or "<entity>" in asked:
            return marked if ORIGINAL in str(messages[-1].content) else "Trams are loud. Buses are cheap."
        return next(rewrites)

    record = refine(
        {**PASSAGES, "context": ["Trams are loud. Buses are cheap."]},
        backend=ScriptedChatModel(reply), critic="hallucination", samples=3, gate_risk=0.2,
    )  # fmt: skip
    assert [r.candidate for r in record.rounds] == ["Trams are loud. Buses are cheap."]
    assert record.status == "accepted", record.why
    assert record.scores.original["findings"].hallucination == 0.5


def test_a_clean_vote_by_scripted_parts_ends_complete() -> None:
    record = refine(ITEM, backend=scripted_parts(samples=[SPOTLESS] * 20, scores={ORIGINAL: GOOD}))
    assert record.why == "nothing incomplete was found, so nothing was rewritten"


def test_a_run_without_detectors_ends_without_scores() -> None:
    parts = replace(scripted_parts(samples=[FAULTY] * 20, rewrites=["better", "best"]), detectors=())
    record = refine(ITEM, backend=parts)
    assert (record.status, record.scores.original) == ("kept", {})


def test_a_record_names_the_detectors_that_decide_nothing() -> None:
    assert refine(ITEM).advisory == ("rouge", "arrangement")
    assert refine(ITEM, backend=scripted_parts(samples=[SPOTLESS] * 20, scores={ORIGINAL: GOOD})).advisory == ()
