"""Verification of an answer by the shipped verifier: verdicts, places, evidence, what is not judged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eirene
from eirene.core.errors import InputError

BRIDGE = (
    "The bridge was opened in 1932 after eight years of work. It carries trains and cars, and 160,000 people cross it "
    "every day.",
    "The tower was built by Anna Lind. It is 90 metres high. Visitors may not climb it in winter.",
)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("The bridge was opened in 1932.", "The bridge was opened in 1950."),
        ("Visitors may not climb the tower in winter.", "Visitors may climb the tower in winter."),
        ("The tower was built by Anna Lind.", "The tower was built by Maria Berg."),
        ("It carries trains and cars.", "It carries ships and planes."),
    ],
)
def test_a_right_sentence_is_supported_more_than_its_twin(right: str, wrong: str) -> None:
    (good,), (bad,) = eirene.verify(right, BRIDGE), eirene.verify(wrong, BRIDGE)
    assert good.verdict == "supported"
    assert good.supported is not None and bad.supported is not None
    assert good.supported > bad.supported


def test_evidence_is_a_place_in_the_passages() -> None:
    (found,) = eirene.verify("The tower is 90 metres high.", BRIDGE)
    assert found.evidence is not None
    assert found.evidence.source == 1
    assert BRIDGE[1][found.evidence.start : found.evidence.end] == found.evidence.text == "It is 90 metres high."


def test_what_claims_nothing_is_not_judged() -> None:
    answer = "What is known?\n\nThese are the facts:\n\nThe bridge was opened in 1932."
    found = eirene.verify(answer, BRIDGE)
    assert [s.verdict for s in found] == ["not judged", "not judged", "supported"]
    assert all(answer[s.start : s.end] == s.text for s in found)
    assert [s.supported is None for s in found] == [True, True, False]


def test_another_language_is_not_judged() -> None:
    answer = "Die Brücke wurde im Jahr 1932 nach acht Jahren Arbeit eröffnet und trägt Züge und Autos."
    (found,) = eirene.verify(answer, BRIDGE)
    assert found.verdict == "not judged"
    assert found.why is not None and "German" in found.why


@pytest.mark.parametrize("context", ["The bridge is old.", [], ["", " \n"], [1932]])
def test_bad_passages_are_one_clear_error(context: object) -> None:
    with pytest.raises(InputError, match="context"):
        eirene.verify("The bridge is old.", context)  # type: ignore[arg-type]


def test_a_sentence_is_found_anywhere_in_long_passages() -> None:
    filler = [f"Street number {n} has a bakery, a school and a small park with {n + 3} benches." for n in range(400)]
    for place in (0, 133, 399):
        passages = [*filler]
        passages[place] = "The library of Norby lends musical instruments to children."
        (found,) = eirene.verify("The library of Norby lends musical instruments to children.", [" ".join(passages)])
        assert found.verdict == "supported"
        assert found.evidence is not None and "Norby" in found.evidence.text


def test_a_claim_of_hundreds_of_words_is_read_in_parts() -> None:
    claim = "The bridge was opened in 1932 and " + "it carries trains and cars and " * 100 + "it was opened in 1950."
    (found,) = eirene.verify(claim, BRIDGE)
    (short,) = eirene.verify("The bridge was opened in 1932.", BRIDGE)
    assert found.supported is not None and short.supported is not None
    assert found.supported < short.supported


@given(st.text(max_size=60), st.text(min_size=1, max_size=60).filter(str.strip))
@settings(max_examples=25)
def test_any_text_gives_a_verdict_for_every_sentence(answer: str, passage: str) -> None:
    for found in eirene.verify(answer, [passage]):
        if found.verdict == "not judged":
            assert found.why
        else:
            assert found.supported is not None and 0.0 <= found.supported <= 1.0
            assert found.contradicted is not None and 0.0 <= found.contradicted <= 1.0


def test_the_same_texts_give_the_same_verdicts() -> None:
    answer = "The bridge was opened in 1932. The tower is 80 metres high."
    assert eirene.verify(answer, BRIDGE) == eirene.verify(answer, BRIDGE)
    sentences = "The bridge was opened in 1932.", "The tower is 80 metres high."
    alone = [eirene.verify(sentence, BRIDGE)[0].supported for sentence in sentences]
    assert [s.supported for s in eirene.verify(answer, BRIDGE)] == alone
