"""Assertions on answers: what passes, what fails, and what the failure says."""

from __future__ import annotations

from typing import Any

import pytest

import eirene
from eirene.agent.loop import Loop
from eirene.core.critique import Sample
from eirene.testing import assert_refined, assert_supported
from tests.scripted_parts import scripted_parts

PASSAGES = ["It keeps 7,000 animals.", "The zoo of Basel was opened in March 1874."]
SOUND = "The zoo of Basel opened in 1874."
WRONG = f"{SOUND} It was opened in 1899."
SIDES = {
    "pro": ["Uniforms make pupils more equal.", "Uniforms save families money."],
    "con": "Uniforms limit pupils' freedom of expression.",
}
ROW: dict[str, Any] = {
    "question": "Should school uniforms be compulsory?",
    "answer": "Supporters say that uniforms make pupils more equal. Opponents say that they limit freedom.",
    "perspectives": SIDES,
}


def test_a_supported_answer_passes_and_its_verification_is_returned() -> None:
    found = assert_supported(SOUND, PASSAGES)
    assert found.checked and not found.faulty and not found.unread


def test_a_contradicted_sentence_is_named_with_its_evidence() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_supported(WRONG, PASSAGES)
    assert str(raised.value) == (
        "1 of 2 checked sentences are not supported\n"
        "  2. contradicted: It was opened in 1899.\n"
        "     evidence: The zoo of Basel was opened in March 1874. (passage 2)"
    )


def test_so_many_sentences_may_be_at_fault_and_no_more() -> None:
    assert len(assert_supported(WRONG, PASSAGES, allow=1).faulty) == 1
    with pytest.raises(AssertionError, match="2 of 3 checked sentences"):
        assert_supported(f"{WRONG} Most of its visitors arrive by tram.", PASSAGES, allow=1)


def test_by_a_threshold_the_risk_counts_and_no_verdict() -> None:
    assert assert_supported(WRONG, PASSAGES, threshold=0.99).faulty
    with pytest.raises(AssertionError, match=r"the risk is 0.\d\d, above 0.2\n  2. contradicted .risk 0.\d\d.: It was"):
        assert_supported(WRONG, PASSAGES, threshold=0.2)
    with pytest.raises(eirene.InputError, match="threshold must be in"):
        assert_supported(SOUND, PASSAGES, threshold=20)
    found = assert_supported("Uniforms limit freedom.", perspectives=SIDES, threshold=0.5)
    assert found.claims[0].evidence is not None and found.claims[0].evidence.id == "con, argument 1"
    with pytest.raises(eirene.InputError, match="give context, or perspectives, and not both"):
        assert_supported(SOUND, PASSAGES, perspectives=SIDES)


def test_an_answer_of_which_nothing_could_be_checked_does_not_pass() -> None:
    with pytest.raises(AssertionError, match="no sentence could be checked: a question"):
        assert_supported("When did the zoo of Basel open?", PASSAGES)


def test_a_claim_in_a_language_that_is_not_read_does_not_pass_and_a_greeting_does() -> None:
    german = "Der Zoo wurde im Jahr 1899 von der Stadt eröffnet und ist einer der größten des Landes."
    answer = f"{SOUND} It keeps 7,000 animals, and it was opened in the month of March.\n{german}"
    with pytest.raises(AssertionError, match=r"1 of 3 sentences could not be checked\n  3. not checked: Der Zoo"):
        assert_supported(answer, PASSAGES)
    assert len(assert_supported(answer, PASSAGES, allow=1).unread) == 1
    polite = assert_supported(f"Hello! {SOUND} Is there anything else?", PASSAGES)
    assert polite.checked and not polite.faulty and not polite.unread
    with pytest.raises(AssertionError, match="passage 1 reads as German"):
        assert_supported("Its owner is a bank.", [german, *PASSAGES])


def test_control_characters_of_an_answer_do_not_reach_the_terminal() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_supported(f"{SOUND} It was \x1b[31mopened in 1899.", PASSAGES)
    assert "\x1b" not in str(raised.value)


def test_an_answer_that_lacks_something_fails_with_sentence_tag_reason_and_change() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_refined(ROW)
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("the answer does not pass: accepted: ")
    assert "  1. missing here: Supporters say that uniforms make pupils more equal." in lines
    assert '     reason: Missing for "pro": "Uniforms save families money".' in lines
    assert lines[-4] == "  the answer would become:"


def test_a_complete_answer_passes_by_row_by_fields_and_by_record() -> None:
    answer = "Supporters say that wind power is clean. Opponents say that wind turbines kill birds."
    sides = {"pro": "Wind power is clean.", "con": "Wind turbines kill birds."}
    record = assert_refined(question="Should we build wind turbines?", answer=answer, perspectives=sides)
    assert assert_refined(record) is record
    row = {"question": "Should we build wind turbines?", "answer": answer, "perspectives": sides}
    assert assert_refined(row).status == "complete"


def test_faults_that_no_rewrite_mended_fail_too() -> None:
    sample = Sample(tags=("Incomplete",), reasons=("The year is missing.",))
    loop = Loop(scripted_parts(samples=[sample] * 3, rewrites=[SOUND]), eirene.Settings(samples=3, max_rounds=1))
    with pytest.raises(AssertionError, match="does not pass: flagged: ") as raised:
        assert_refined(question="When?", answer=SOUND, loop=loop)
    assert "reason: The year is missing." in str(raised.value)


def test_an_answer_that_was_not_judged_does_not_pass() -> None:
    with pytest.raises(AssertionError, match="does not pass: not_checked: "):
        assert_refined(question="Why?", answer="Because of the rain.")


def test_bad_calls_say_what_was_wanted() -> None:
    for arguments, fields, said in [
        ((), {}, "give a row or record whole"),
        ((ROW,), {"answer": "x"}, "give a row or record whole"),
        ((), {**ROW, "samples": 3}, "'samples' is no field of a row"),
    ]:
        with pytest.raises(eirene.InputError, match=said):
            assert_refined(*arguments, **fields)
