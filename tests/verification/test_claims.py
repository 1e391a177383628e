"""Claims: what is not judged, and what of a sentence is held against the passages."""

from __future__ import annotations

import pytest

from eirene.verification.claims import claim_of, claims_nothing


@pytest.mark.parametrize(
    ("sentence", "why"),
    [
        ("Is the bridge old?", "a question"),
        ("## Opening hours", "a heading"),
        ("**Ingredients**", "a heading"),
        ("These are the steps:", "leads in what follows"),
        ("| year | trains |", "a table row"),
        ("The passages do not mention the price.", "says what the passages do not hold"),
        ("There is no such number in the given text.", "says what the passages do not hold"),
        ("I am unable to answer that.", "says what the passages do not hold"),
        ("Yes.", "too short to claim anything"),
    ],
)
def test_such_sentences_are_not_judged(sentence: str, why: str) -> None:
    assert claims_nothing(sentence) == why


@pytest.mark.parametrize(
    "sentence",
    [
        "The bridge was opened in 1932.",
        "1. Heat the oven to 200 degrees.",
        "- Trams do not pollute the air.",
        "No cars cross it.",
    ],
)
def test_claims_are_judged(sentence: str) -> None:
    assert claims_nothing(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Based on the given passages, the bridge is old.", "The bridge is old."),
        ("According to passage 2, you should wait.", "You should wait."),
        ("3) **Heat** the oven.", "Heat the oven."),
        ("- it rains often.", "It rains often."),
        ("The bridge is old.", "The bridge is old."),
        ("", ""),
    ],
)
def test_openings_and_markers_are_left_out(sentence: str, claim: str) -> None:
    assert claim_of(sentence) == claim
