"""Claims: what is not judged, and what of a sentence is compared with the passages."""

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
        ("However, it does not provide any instructions for folding.", "says what the passages do not hold"),
        ("They do not explicitly mention the date.", "says what the passages do not hold"),
        ("Yes.", "too short to claim anything"),
        ("(Passage 3)", "too short to claim anything"),
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
        "They do not provide parking, and it does not include breakfast.",
    ],
)
def test_claims_are_judged(sentence: str) -> None:
    assert claims_nothing(sentence) is None


@pytest.mark.parametrize(
    ("sentence", "claim"),
    [
        ("Based on the given passages, the bridge is old.", "The bridge is old."),
        ("According to passage 2, you should wait.", "You should wait."),
        ("According to passages 1, 2 and 3, you should wait.", "You should wait."),
        ("Based on the provided structured data, it is open.", "It is open."),
        ("Passage 1 suggests that rollers work well.", "Rollers work well."),
        ("2. Use soda (as described in Passage 3).", "Use soda."),
        ("Rye (passage 2) is a grass [passages 1 and 4].", "Rye is a grass."),
        ("He was born in 1932 (aged 40).", "He was born in 1932 (aged 40)."),
        ("3) **Heat** the oven.", "Heat the oven."),
        ("- it rains often.", "It rains often."),
        ("The bridge is old.", "The bridge is old."),
        ("", ""),
    ],
)
def test_openings_and_markers_are_left_out(sentence: str, claim: str) -> None:
    assert claim_of(sentence) == claim
