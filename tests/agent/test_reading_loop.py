"""The loop on answers with passages: wrong facts are put right from the sentence that decides, right ones stay."""

from __future__ import annotations

import eirene
from eirene.core.loop_settings import Critic
from tests.rows import each

PASSAGES = [
    "The Norby lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the river Vanne. Its lamp "
    "is not lit in winter, when no ships sail. Visitors reach it by a ferry from Norby, which runs daily in summer.",
    "The keeper's house holds a small museum. Tickets cost 12 crowns. The museum is closed on Mondays.",
]
RIGHT = (
    "The lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the river Vanne. Its lamp is not "
    "lit in winter. Tickets cost 12 crowns."
)


def refined(answer: str, critic: Critic) -> eirene.Record:
    item = {"question": "What is known of the Norby lighthouse?", "answer": answer, "context": PASSAGES}
    return eirene.refine(item, critic=critic)


@each("critic", ["completeness", "hallucination"])
@each(
    "right, wrong, decides",
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


def test_a_right_answer_is_left_as_it_is() -> None:
    for critic in ["completeness", "hallucination"]:
        record = refined(RIGHT, critic)
        assert (record.status, record.answer) == ("no_fault_found", RIGHT)


def test_what_no_passage_carries_is_taken_out() -> None:
    record = refined(f"{RIGHT} Penguins elected a mayor on Tuesday.", "hallucination")
    assert (record.status, record.answer) == ("accepted", RIGHT)


def test_what_is_said_again_on_purpose_stays_and_what_only_repeats_goes() -> None:
    """A list of what was told, a summary and what a lead-in announces say something again; people mark none of them."""
    passage = (
        "Hold the small button at the back for ten seconds. Wait until the light turns green. Open the settings page."
    )
    steps = ["Hold the small button at the back for ten seconds.", "Wait until the light turns green."]
    told = " ".join(steps)
    on_purpose = [
        f"{told}\n\nAgain as a list:\n\n1. {steps[0]}\n2. {steps[1]}",
        f"{told} In short, hold the small button at the back for ten seconds.",
        f"{told}\n\nThe step that people forget is:\n\n{steps[0]}",
    ]
    item = {"question": "How do I reset the router?", "context": [passage]}
    assert [eirene.refine(item | {"answer": answer}).answer for answer in on_purpose] == on_purpose
    assert eirene.refine(item | {"answer": f"{told} {steps[0]}"}).answer == told


def test_a_sentence_with_a_value_of_its_own_repeats_none() -> None:
    answer = "A coffee costs 3 euros in the museum's cafe. A tea costs 2 euros in the museum's cafe."
    item = {"question": "What does the cafe cost?", "context": ["A coffee costs 3 euros. A tea costs 2 euros."]}
    assert eirene.refine(item | {"answer": answer}).answer == answer
