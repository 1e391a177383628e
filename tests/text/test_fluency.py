from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.text.fluency import (
    MOST_TOKENS,
    STRANGE,
    boundaries_of,
    broken_at,
    is_torn,
    load_boundary_model,
    pairs_of,
    strangeness,
    token_matches,
)

FLUENT = [
    "The death penalty cannot be undone when a court has made a mistake.",
    "If schools start later, pupils sleep longer and do better in the morning.",
    "What would happen to the workers whose jobs are done by machines?",
    "Yes, but only a few of them ever came back.",
    "its not fair that parents have to pay for uniforms nobody wants",
    "Marie Curie was born in Warsaw in 1867 and moved to Paris in 1891.",
    "He said that he would come, and he did.",
]


@pytest.mark.parametrize("sentence", FLUENT)
def test_a_sentence_of_a_person_is_fluent_and_whole(sentence: str) -> None:
    assert strangeness(sentence) < STRANGE
    assert is_torn(sentence) is None
    assert broken_at(sentence) is None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sentence", FLUENT[:3])
def test_the_words_in_random_order_are_stranger_than_the_sentence(sentence: str, seed: int) -> None:
    words = sentence.rstrip(".?").split()
    np.random.default_rng(seed).shuffle(words)
    assert strangeness(" ".join(words) + ".") > max(STRANGE, strangeness(sentence) + 1.0)


@pytest.mark.parametrize(
    "sentence",
    [
        "Furthermore, it has to be said that the",
        "Besides the cost there is the question of",
        "Supporters argue that wages would rise because the.",
        "The city council has decided that all of its",
    ],
)
def test_a_torn_end_is_named_with_its_last_words(sentence: str) -> None:
    why = is_torn(sentence)
    assert why is not None and why.startswith("breaks off after")
    assert sentence.rstrip(".").split()[-1] in why


def test_an_end_that_the_given_text_has_is_not_torn() -> None:
    title = "The question of what it is for"
    assert is_torn(title + " the") is not None
    assert is_torn(title + " the", pairs_of(title + " the")) is None


def test_a_word_of_another_class_makes_its_place_stranger() -> None:
    good, bad = "They want to ban cars from the centre.", "They want to quickly cars from the centre."
    at = (13, 20)
    assert strangeness(bad, at) > strangeness(good, (13, 16)) + 1.0


@pytest.mark.parametrize("text", ["", "   ", "...", "?!", "🙂", "___", "[1]"])
def test_where_there_are_no_words_nothing_is_strange(text: str) -> None:
    assert boundaries_of(text) is None and is_torn(text) is None and broken_at(text) is None
    assert strangeness(text) == -4.0


def test_pairs_hold_neighbours_beginnings_and_ends() -> None:
    pairs = pairs_of("Cats sleep. Dogs\nbark at night")
    assert {("cats", "sleep"), ("", "cats sleep"), ("cats sleep", ""), ("", "bark at"), ("at night", "")} <= pairs
    assert ("dogs", "bark") not in pairs


def test_a_sentence_without_end_is_read_in_part_and_not_called_torn() -> None:
    text = "and the " * 100_000
    assert len(token_matches(text)) == MOST_TOKENS
    assert "breaks off" not in (is_torn(text) or "")


@given(st.text(max_size=200))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_without_an_error(text: str) -> None:
    joints = boundaries_of(text)
    assert -4.0 <= strangeness(text) <= 4.0
    is_torn(text)
    broken_at(text)
    if joints is not None:
        assert len(joints.odds) == len(joints.tokens) + 1 == len(joints.pairs())
        assert all(0 <= a < b <= len(text) for a, b in joints.spans)


def test_every_number_of_the_model_is_inside_its_tables() -> None:
    model = load_boundary_model()
    ids = model.ids(["The", "snark", "xqzzt", "1999", "3rd", "NASA", "iPhone", ",", "。"])
    assert (ids[:, 0] < len(model.weights["word"])).all()
    assert (ids[:, 1] < len(model.weights["ending"])).all()
    assert (ids[:, 2] < len(model.weights["shape"])).all()
