"""Risk: less where the given texts support a sentence or have its words, and for an answer at least its worst one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.text.values.derived import Carried
from eirene.verification.context import ClaimReading
from eirene.verification.judging import FAULTED, answer_risk, sentence_risk
from tests.feedback_model.embedded.reader import reader

CHANCE = st.floats(0.0, 1.0)
DOUBTED = ClaimReading(0.4, 0.3, None, cosine=0.5, words=0.5, words_anywhere=0.5)


@given(CHANCE, CHANCE, CHANCE, CHANCE)
def test_it_is_a_chance_whatever_was_read(supported: float, cosine: float, words: float, anywhere: float) -> None:
    assert 0.0 < sentence_risk(ClaimReading(supported, 0.0, None, cosine, words, anywhere)) < 1.0


def test_each_sign_of_support_lowers_it() -> None:
    for more in ["supported", "cosine", "words", "words_anywhere"]:
        surer: dict[str, Any] = {more: 0.9}
        assert sentence_risk(replace(DOUBTED, **surer)) < sentence_risk(DOUBTED), more


@given(st.lists(CHANCE, min_size=1, max_size=20))
def test_an_answer_is_as_risky_as_its_worst_sentence_at_least(risks: list[float]) -> None:
    assert max(risks) - 1e-9 <= answer_risk(risks) <= 1.0
    assert answer_risk(risks) <= answer_risk([*risks, max(risks)]) + 1e-9


def test_an_answer_that_claims_nothing_has_none_and_length_alone_makes_little() -> None:
    assert answer_risk([]) == 0.0
    assert answer_risk([0.1] * 17) == pytest.approx(1 - 0.9**5)


def test_nothing_to_read_is_risky() -> None:
    (reading,) = reader().read(["The bridge was opened in 1932."])
    assert sentence_risk(reading) > 0.9


def test_a_reading_tells_how_much_of_the_claim_is_there() -> None:
    given_text = reader("The bridge was opened in 1932.", "Trains cross it.")
    same, half, other = given_text.read(["The bridge was opened in 1932.", "Trains opened a shop.", "Owls sleep."])
    assert (same.words, same.words_anywhere) == (pytest.approx(1.0), 1.0)
    assert 0.0 < half.words < half.words_anywhere < 1.0
    assert (other.words, other.words_anywhere) == (0.0, 0.0)
    assert same.cosine > half.cosine > other.cosine


def test_a_sentence_whose_values_follow_from_those_of_the_texts_is_not_at_fault() -> None:
    doubted = ClaimReading(0.05, 0.6, None, cosine=0.7)
    assert sentence_risk(doubted) > FAULTED
    assert sentence_risk(replace(doubted, values=Carried(0.1))) < FAULTED
    assert sentence_risk(replace(doubted, values=Carried(0.9))) > FAULTED  # anything would follow
    assert sentence_risk(replace(doubted, values=Carried(0.1), cosine=0.2)) > FAULTED  # of something else
