"""The comparison: antisymmetric, calibrated by a bound, and it says what of a rewrite stays and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.core.errors import EncoderError
from eirene.core.records import Item, Record
from eirene.gate.calibration import GateCalibration
from eirene.gate.comparison import better, parse_fit, shipped_fit
from eirene.gate.readings import MOST_SENTENCES, PASSAGE_READINGS, PassageReadings
from eirene.models.verifier.runtime import shipped_verifier
from tests.rows import each
from tests.scripted_parts import ScriptedRefiner

PASSAGES = (
    "Applications for the garden grant are open until 31 March. The fund pays at most 500 euros for each garden.",
    "The library opens at nine. Members may borrow six books, and keep them for four weeks.",
)
RIGHT = "Applications for the garden grant are open until 31 March. The fund pays at most 500 euros."
WRONG = "Applications for the garden grant are open until 30 June. The fund pays at most 500 euros."


@pytest.fixture(scope="module")
def readings() -> PassageReadings:
    return PassageReadings("Until when can I apply for the garden grant?", PASSAGES, shipped_verifier())


def refined(before: str, written: str, passages: Sequence[str] = PASSAGES, **values: float) -> Record:
    """The record of a run whose refiner returns a text that is given."""
    parts = replace(resolve_backend("embedded"), refiner=ScriptedRefiner([written]))
    item = Item(question="Until when can I apply for the garden grant?", answer=before, context=list(passages))
    return Loop(parts, Settings.of(mode="improve", max_rounds=1, **values)).run(item)


SENTENCES = st.sampled_from(
    [
        "The grant ends on 31 March.",
        "Dogs bark.",
        "Hello!",
        "The fund pays 500 euros.",
        "It pays 700.",
        "- a\n- b",
        "é 木",
    ]
)


@settings(max_examples=20, deadline=None)
@given(st.lists(SENTENCES, max_size=4), st.lists(SENTENCES, max_size=4))
def test_exchanging_the_texts_gives_the_other_probability(
    readings: PassageReadings, a: list[str], b: list[str]
) -> None:
    one, other = " ".join(a), " ".join(b)
    assert better(one, other, readings) == pytest.approx(1.0 - better(other, one, readings), abs=1e-6)
    assert better(one, one, readings) == 0.5


def test_what_a_passage_says_is_better_than_another_date_and_another_claim(readings: PassageReadings) -> None:
    assert better(WRONG, RIGHT, readings) > 0.8
    assert better(RIGHT, f"{RIGHT} Dogs bark at cats.", readings) < 0.2
    assert better(f"{RIGHT} The fund pays at most 500 euros.", RIGHT, readings) > 0.5


def test_the_threshold_is_the_lowest_that_keeps_the_bound() -> None:
    calibration = GateCalibration(fit="", name="made up", better=tuple(np.arange(1.0, 41.0)), worse=(0.5, 2.5))
    at = calibration.threshold_for(0.05)  # from 1 on 40 are better and 1 is worse: (1 + 1) / 41
    assert at == pytest.approx(1 / (1 + np.exp(-1.0)))
    loose = calibration.threshold_for(0.1)  # from 0 on 42, 2 of them worse: (1 + 2) / 42
    assert loose == 0.5
    assert calibration.threshold_for(0.01) is None  # needs a hundred
    assert GateCalibration(fit="", name="none", better=(), worse=()).threshold_for(0.5) is None


def test_the_shipped_threshold_keeps_its_risk_on_what_it_was_fitted_without() -> None:
    calibration = shipped_fit().calibration
    for risk in (0.05, 0.1, 0.2):
        at = calibration.threshold_for(risk)
        assert at is not None
        odds = np.log(at / (1 - at)) - 1e-9
        wrong, right = (sum(z >= odds for z in part) for part in (calibration.worse, calibration.better))
        assert (1 + wrong) / (wrong + right) <= risk


def test_a_correction_is_shown_with_a_reason_that_names_the_passage() -> None:
    record = refined(WRONG, RIGHT, gate_risk=0.1)
    assert (record.status, record.answer) == ("accepted", RIGHT)
    assert 'Changed "30 June" to "31 March", as passage 1 says' in record.why
    comparison = record.rounds[0].comparison
    assert comparison is not None and comparison.accepts and comparison.risk == 0.1
    assert comparison.calibration == shipped_fit().calibration.name


@each(
    "before, written, answer, why",
    [
        (WRONG, f"\U0001f600 {RIGHT}", RIGHT, 'Changed "30 June" to "31 March", as passage 1 says ('),
        (WRONG.replace(". ", ".\r\n"), RIGHT.replace(". ", ".\r\n"), RIGHT.replace(". ", ".\r\n"), "passage 1 says"),
        (f"{RIGHT} Dogs bark at cats in Berlin.", RIGHT, RIGHT, 'Removed "Dogs bark at cats in Berlin.": no passage'),
        (RIGHT, RIGHT.replace(". ", ".\n"), RIGHT, "not better"),
        (RIGHT, "...", RIGHT, "the rewrite is empty"),
        (WRONG, "Hello.", WRONG, "most of the answer would be gone"),
        (RIGHT, "The grant.", RIGHT, "most of the answer would be gone"),
    ],
)
def test_what_is_shown_and_why(before: str, written: str, answer: str, why: str) -> None:
    record = refined(before, written, gate_risk=0.5)
    assert record.answer == answer and why in record.why
    (done,) = record.rounds
    for edit in done.edits:
        assert edit.before is None or edit.old == before[slice(*edit.before)]
        assert edit.after is None or edit.new == written[slice(*edit.after)]


def test_the_reverse_is_not_shown_and_nothing_of_the_answer_is_lost() -> None:
    record = refined(RIGHT, WRONG, gate_risk=0.1)
    assert (record.status, record.answer) == ("kept", RIGHT)
    assert "30 June" in record.why


def test_an_edit_that_surely_makes_it_worse_is_undone_and_the_others_stay() -> None:
    wrong = WRONG.replace("500", "800")
    record = refined(wrong, f"{RIGHT} Dogs bark at cats.")
    assert record.answer == RIGHT
    assert [(e.check, e.new, e.why) for e in record.edits if not e.taken] == [
        ("comparison", "Dogs bark at cats.", 'no passage says "Dogs bark at cats."')
    ]


def test_of_a_rewrite_that_is_worse_as_a_whole_nothing_stays() -> None:
    record = refined(RIGHT.replace("500", "800"), WRONG + " Dogs bark at cats in Berlin.")
    assert record.status == "kept" and not any(edit.taken for edit in record.edits)
    assert "makes the answer worse" in record.why and "Dogs bark" in record.why


def test_texts_that_differ_in_too_much_are_not_compared(readings: PassageReadings) -> None:
    long = " ".join(f"The fund pays {n} euros." for n in range(MOST_SENTENCES + 1))
    with pytest.raises(ValueError, match="sentences"):
        better(long, RIGHT, readings)
    record = refined(long, RIGHT)
    assert record.answer == long and "differ in more than" in record.why


def test_a_damaged_fit_is_named() -> None:
    with pytest.raises(EncoderError, match="limits"):
        parse_fit({"weights": dict.fromkeys(PASSAGE_READINGS, 1.0), "narrow": dict.fromkeys(PASSAGE_READINGS, 0.0)})
