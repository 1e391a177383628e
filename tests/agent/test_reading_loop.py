"""The loop on answers with passages: wrong facts are put right from the sentence that decides, right ones stay."""

from __future__ import annotations

import pytest

import eirene
from eirene.core.loop_settings import Critic

PASSAGES = [
    "The Norby lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the river Vanne. Its lamp "
    "is not lit in winter, when no ships sail. Visitors reach it by a ferry from Norby, which runs daily in summer.",
    "The keeper's house holds a small museum. Tickets cost 12 crowns. The museum is closed on Mondays.",
]
RIGHT = (
    "The lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the river Vanne. Its lamp is not "
    "lit in winter. Tickets to the museum cost 12 crowns."
)


def refined(answer: str, critic: Critic) -> eirene.Record:
    item = {"question": "What is known of the Norby lighthouse?", "answer": answer, "context": PASSAGES}
    return eirene.refine(item, critic=critic)


@pytest.mark.parametrize("critic", ["completeness", "hallucination"])
@pytest.mark.parametrize(
    ("right", "wrong", "decides"),
    [
        ("1869", "1896", "The Norby lighthouse was built in 1869"),
        ("Ida Lindqvist", "Karl Berg", "The Norby lighthouse was built in 1869"),
        ("left bank", "right bank", "It stands on the left bank"),
        ("12 crowns", "20 crowns", "Tickets cost 12 crowns"),
    ],
)
def test_a_wrong_fact_is_put_right_with_the_deciding_sentence_as_reason(
    right: str, wrong: str, decides: str, critic: Critic
) -> None:
    record = refined(RIGHT.replace(right, wrong), critic)
    assert (record.status, record.answer) == ("accepted", RIGHT)
    critique = record.rounds[0].critique
    assert critique is not None
    (found,) = [finding for sentence in critique.sentences for finding in sentence.findings]
    assert decides in found.reason


@pytest.mark.parametrize("critic", ["completeness", "hallucination"])
def test_a_right_answer_is_left_as_it_is(critic: Critic) -> None:
    record = refined(RIGHT, critic)
    assert (record.status, record.answer) == ("complete", RIGHT)


def test_what_no_passage_carries_is_taken_out() -> None:
    record = refined(f"{RIGHT} Penguins elected a mayor on Tuesday.", "hallucination")
    assert (record.status, record.answer) == ("accepted", RIGHT)
