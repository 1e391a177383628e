"""The salience formulas, against hand-worked numbers (NPOV, section 3.2 and appendix C)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from eirene.eval.detectors.gradients import normalised, tokens_of, word_map
from eirene.eval.detectors.salience import (
    content_spans,
    error_score,
    strengths,
    word_error,
)

# Four tokens (rows) and three answer tokens (columns).
TOKENS = np.array([[1.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0], [-2.0, 4.0, 0.0]])
SQUARED = np.array([[1 / 9, 1 / 9, 0.0], [4 / 9, 0.0, 0.0], [0.0, 4 / 9, 0.0], [4 / 9, 4 / 9, 0.0]])


def test_columns_are_squared_and_sum_to_one_and_an_empty_one_stays_empty() -> None:
    np.testing.assert_allclose(normalised(TOKENS), SQUARED)


def test_squares_of_tiny_attributions_do_not_vanish() -> None:
    np.testing.assert_allclose(normalised(np.array([[1e-200], [2e-200]]))[:, 0], [0.2, 0.8])


def test_a_word_pair_has_the_largest_entry_of_its_tokens() -> None:
    words = word_map(SQUARED, [[0, 1], [3]], [[0], [1, 2]])
    np.testing.assert_allclose(words, [[4 / 9, 1 / 9], [4 / 9, 4 / 9]])


def test_a_word_without_tokens_has_no_salience() -> None:
    np.testing.assert_allclose(word_map(SQUARED, [[], [3]], [[0], []]), [[0, 0], [4 / 9, 0]])


# Rows are words of the arguments, columns words of the answer.
WORDS = np.array([[0.5, 0.1, 0.2], [0.2, 0.2, 0.0], [0.0, 0.0, 0.0]])


def test_strengths_by_hand(subtests: pytest.Subtests) -> None:
    for aggregate, axis, expected in [
        ("max", 1, [0.5, 0.2, 0.0]),
        ("max", 0, [0.5, 0.2, 0.2]),
        ("sum", 1, [0.8, 0.4, 0.0]),
        ("sum", 0, [0.7, 0.3, 0.2]),
        # Shares 5/8, 1/8, 2/8: entropy .625 ln 1.6 + .125 ln 8 + .25 ln 4 = 0.9003; two equal halves: ln 2.
        ("entropy", 1, [math.exp(-0.9002560795552889), 0.5, 0.0]),
    ]:
        with subtests.test(aggregate=aggregate, axis=axis, expected=expected):
            np.testing.assert_allclose(strengths(WORDS, aggregate, axis=axis), expected)


def test_error_scores_by_hand(subtests: pytest.Subtests) -> None:
    for aggregate, mean, expected in [
        ("max", "geometric", 1 - math.sqrt(0.5 * 0.2)),
        ("max", "arithmetic", 1 - 0.35),
        ("sum", "geometric", 1 / (1 + math.sqrt(0.8 * 0.4))),
        ("sum", "arithmetic", 1 / (1 + 0.6)),
    ]:
        with subtests.test(aggregate=aggregate, mean=mean, expected=expected):
            assert error_score(strengths(WORDS[:2], aggregate, axis=1), aggregate, mean) == pytest.approx(
                expected, abs=1e-12
            )


def test_one_word_without_salience_makes_the_geometric_mean_nothing() -> None:
    assert error_score(np.array([0.9, 0.0]), "max", "geometric") == 1.0
    assert word_error(0.25, "max") == 0.75


def test_the_mean_of_no_words_is_an_error_not_a_score() -> None:
    with pytest.raises(ValueError, match="no words"):
        error_score(np.array([]), "max", "geometric")


@given(arrays(float, (4, 5), elements=st.floats(0, 1)), st.sampled_from(["max", "sum", "entropy"]))
def test_error_scores_stay_between_0_and_1(words, aggregate) -> None:
    for axis in (0, 1):
        for mean in ("geometric", "arithmetic"):
            assert 0.0 <= error_score(strengths(words, aggregate, axis=axis), aggregate, mean) <= 1.0


def test_words_are_runs_without_space_or_punctuation_and_no_stop_words() -> None:
    text = "The wind-power, isn't (it) cheap?"
    assert [text[a:b] for a, b in content_spans(text)] == ["wind", "power", "cheap"]


def test_a_token_belongs_to_every_word_that_it_touches() -> None:
    # "wind" | " po" | "wer-ch" | "eap": the third reaches over two words.
    tokens = [(0, 4), (4, 7), (7, 13), (13, 16)]
    assert tokens_of([(0, 4), (5, 10), (11, 16)], tokens) == [[0], [1, 2], [2, 3]]


def test_tokens_outside_the_text_belong_to_no_word() -> None:
    assert tokens_of([(0, 4)], [(0, 0), (0, 4), (0, 0)]) == [[1]]
