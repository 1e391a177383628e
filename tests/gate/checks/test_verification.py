"""Tests of the verification check: contradictions and lost support, by the shipped verifier."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.base import Asked, EditCase
from eirene.gate.checks.verification import verification
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import load_verifier
from eirene.verification.context import ContextReader
from tests.gate.checks.cases import edit_case, reasons

PASSAGE = (
    "The ferry leaves Norby every day at nine and reaches the island after two hours. Dogs are not allowed on board. "
    "Tickets are sold on the pier by the harbour office."
)
BEFORE = "The ferry leaves Norby every day at nine. Dogs are not allowed on board."


def case_of(after: str, *, before: str = BEFORE, asked: tuple[Asked, ...] = ()) -> EditCase:
    """The case with one passage, the shipped encoder and the shipped verifier."""
    encoder = load_encoder()
    given = Grounding("context", (ArgumentGroup("context", (PASSAGE,)),))
    case = replace(edit_case(before, after, question="When does the ferry leave?", asked=asked), given=given)
    return replace(case, encoder=encoder, reader=ContextReader(load_verifier(encoder), [PASSAGE]))


@pytest.mark.parametrize(
    "after",
    [
        "The ferry leaves Norby every day at nine. Dogs are allowed on board.",
        "The ferry never leaves Norby at nine. Dogs are not allowed on board.",
    ],
)
def test_an_edit_that_the_passage_contradicts_is_objected_to(after: str) -> None:
    assert len(reasons(verification, case_of(after))) == 1


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        "Every day at nine the ferry leaves Norby. Dogs are not allowed on board.",
        BEFORE + " Tickets are sold on the pier.",
        BEFORE + " Is that early?",
    ],
)
def test_what_the_passage_carries_is_not(after: str) -> None:
    assert reasons(verification, case_of(after)) == []


def test_the_word_at_fault_is_named() -> None:
    after = "The ferry leaves Norby daily at nine. Dogs are allowed on board the ferry."
    (objection,) = verification(case_of(after))
    assert objection.edit == 1


def test_what_a_person_asked_for_stays() -> None:
    start = BEFORE.index("Dogs")
    wanted = "Dogs are allowed on board."
    asked = Asked(start, len(BEFORE), "dogs are welcome since May", edit=wanted)
    after = BEFORE[:start] + wanted
    assert reasons(verification, case_of(after, asked=(asked,))) == []


def test_a_mended_contradiction_is_found_on_the_swapped_case() -> None:
    wrong = "The ferry leaves Norby every day at nine. Dogs are allowed on board."
    assert reasons(verification, case_of(BEFORE, before=wrong).swapped) != []


def test_without_a_reader_nothing_is_said() -> None:
    case = replace(case_of("Dogs are allowed on board."), reader=None)
    assert reasons(verification, case) == []


def test_a_clause_that_stays_when_another_goes_is_nothing_new() -> None:
    """The edit is not at fault for it, whatever the passage says of it."""
    before = "Tickets are sold on the pier, and dogs are {}allowed on board of the ferry."
    after = "Dogs are allowed on board of the ferry."
    assert reasons(verification, case_of(after, before=before.format(""))) == []
    assert len(reasons(verification, case_of(after, before=before.format("not ")))) == 1


@pytest.mark.parametrize(
    "argument",
    [
        "It is a misconception that trams wear out the streets.",
        "Residents fear the rumour that trams wear out the streets.",
        "If trams wear out the streets, the town has to pay.",
        "Do trams wear out the streets?",
        "The following is a hoax. Trams wear out the streets.",
    ],
)
def test_an_argument_is_not_said_by_what_it_denies_asks_or_supposes(argument: str) -> None:
    encoder = load_encoder()
    before = "Supporters say that trams are quiet."
    given = Grounding("perspectives", (ArgumentGroup("pro", ("Trams are quiet.", argument)),))
    reader = ContextReader(load_verifier(encoder), given.arguments)
    for added in ("They add that trams wear out the streets.", "Trams wear out the streets."):
        case = replace(edit_case(before, f"{before} {added}", question="Trams?"), given=given, encoder=encoder)
        assert len(reasons(verification, replace(case, reader=reader))) == 1
