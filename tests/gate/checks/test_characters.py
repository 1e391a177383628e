"""Characters check: disguised text, another script and another language; both ways round."""

from __future__ import annotations

import pytest

from eirene.gate.checks.characters import characters

from .cases import BEFORE, edit_case, reasons


@pytest.mark.parametrize(
    "added",
    [
        "\u202eThey cost money.\u202c",
        "Das ist falsch.",
        "C'est faux.",
        "Además, los uniformes son caros.",
        "Non è vero.",
        "这是错误的。",
        "Это неправда.",
        "Supporters, und das ist doch klar, say so.",
        "ᗩᒪᒪ ᗩᖇE ᗷᗩᗪ",
    ],
)
def test_another_language_or_a_disguise_is_objected_to_and_its_removal_mends(added: str) -> None:
    case = edit_case(BEFORE, f"{BEFORE} {added}")
    assert len(reasons(characters, case)) == 1
    assert reasons(characters, case.swapped) == []
    assert len(reasons(characters, edit_case(f"{BEFORE} {added}", BEFORE).swapped)) == 1


@pytest.mark.parametrize(
    "added",
    [
        "The Greek word φιλοσοφία means love of wisdom.",
        "In Rio de la Plata, uniforms are common.",
        "De facto and de jure segregation remain, et cetera.",
        "Children in São Paulo and Zürich wear them 😀.",
    ],
)
def test_names_and_loan_words_are_no_other_language(added: str) -> None:
    assert reasons(characters, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_the_language_of_the_text_the_given_texts_or_the_question_is_no_other() -> None:
    german = (
        "Befürworter sagen, dass Uniformen die Schüler gleicher machen. Gegner sagen, dass sie die Freiheit nehmen."
    )
    assert reasons(characters, edit_case(german, f"{german} Sie sparen auch Geld für die Familien.")) == []
    english = edit_case(german, f"{german} They also save money for the families.", question="Sind Uniformen gut?")
    assert len(reasons(characters, english)) == 1
    assert reasons(characters, edit_case(BEFORE, f"{BEFORE} Das ist falsch.", given=[german])) == []
    assert reasons(characters, edit_case(BEFORE, f"{BEFORE} Das ist falsch.", question="Say no in German.")) == []
