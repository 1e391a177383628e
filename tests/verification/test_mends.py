"""Mends: a proposal stands by clear margins of the verifier alone, and where the sentence stays one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from eirene.models.verifier.runtime import shipped_verifier
from eirene.verification.claims import claim_of
from eirene.verification.context import ClaimReading, ContextReader
from eirene.verification.mend_proposals import Proposal
from eirene.verification.mends import Mend, best_mend, is_given_but_for
from tests.feedback_model.embedded.reader import reader

Reads = Callable[[Sequence[str]], list[ClaimReading]]
PASSAGE = (
    "The harbour bridge was opened in 1932 by the mayor. Fold the top right corner down to the centre. "
    "The harbour bridge does not carry trains at night."
)


def mended(sentence: str, *passages: str, others: tuple[str, ...] = ()) -> str | None:
    """The sentence with its best mend."""
    given = reader(*(passages or (PASSAGE,)))
    before = given.read([claim_of(sentence)])[0]
    found = best_mend(sentence, before, given, others)
    return None if found is None else sentence[: found.start] + found.new + sentence[found.end :]


def test_a_contradicted_sentence_is_mended_in_a_few_words_and_a_supported_one_is_left_alone() -> None:
    rows = [
        ("The harbour bridge was opened in 1899.", "The harbour bridge was opened in 1932."),
        ("- The harbour bridge was opened in 1899.", "- The harbour bridge was opened in 1932."),
        ("Fold the top left corner down to the centre.", "Fold the top right corner down to the centre."),
        ("The harbour bridge carries trains at night.", "The harbour bridge does not carry trains at night."),
    ]
    assert [mended(sentence) for sentence, _ in rows] == [wanted for _, wanted in rows]
    assert mended("The harbour bridge was opened in 1932.") is None


def test_a_value_is_replaced_only_in_a_sentence_of_the_passages_and_where_it_follows_from_none() -> None:
    rows = [
        ("The mill made 4 tons more in June.", "The mill made 11 tons in May and 15 tons in June."),
        ("The mill lost 2 million euros.", "The mill earned 9 million euros. It spent 11 million euros."),
        ("The pipe is over 3 kilometres long.", "The pipe is 3,815 metres long."),
        ("The pass lies 6,562 feet high.", "The pass lies 2,000 metres high."),
        ("The mill has 1,400 workers abroad.", "The mill has 900 workers. It sells flour abroad."),  # other words
        ("Dear Robin,", "The mill was built for Hugo Dorn."),
        ("Output: Last Step", "The mill was built for Hugo Dorn."),
    ]
    assert [row for row in rows if mended(*row) is not None] == []


def test_a_year_is_put_right_where_the_given_sentence_has_its_month_too() -> None:
    assert mended("It was opened in 1899.", "The mill was opened in March 1890.") == "It was opened in 1890."


def test_nothing_is_mended_by_what_is_said_under_a_condition_at_another_time_or_of_others() -> None:
    rows = [
        ("The bridge does not carry trains.", "The bridge carries trains unless it is windy."),
        ("The bridge does not carry trains.", "The bridge carries trains without passengers."),
        ("The bridge carries 40 trains.", "The bridge carries 30 trains. It carries ten more now."),
        ("Bridge 3 carries trains.", "Bridge 2 carries trains."),
        ("Parcel K-41 is expected on 3 May.", "Parcel K-42 is expected on 3 May."),
        ("K-41 is expected on 3 May.", "K-42 is expected on 3 May."),
        ("Your order #41 is expected on 3 May.", "Your order #42 is expected on 3 May."),
        ("The bridge was not lit in 1985.", "The bridge was not lit before 1990."),
        ("The bridge carries 40 trains.", "The bridge carries at least 30 trains."),
        ("The bridge carries more than 40 trains.", "The bridge carries 30 trains."),
    ]
    assert [row for row in rows if mended(*row) is not None] == []
    plain = [
        ("The bridge does not carry trains.", "The bridge carries trains.", "The bridge carries trains."),
        ("The bridge does not carry trains.", "The bridge carries trains in Bonn.", "The bridge carries trains."),
        ("The bridge carries 40 trains.", "The bridge carries 30 trains. It is red.", "The bridge carries 30 trains."),
        ("Since 1912 it carries trains.", "Since 1921 it carries trains.", "Since 1921 it carries trains."),
    ]
    assert [mended(sentence, given) for sentence, given, _ in plain] == [wanted for *_, wanted in plain]


def test_a_not_too_many_goes_in_other_words_too() -> None:
    """By the verifier itself: its support of the sentence without the "not" is the ground."""
    rows = [
        ("Ann Berg, the keeper, told us that the frogs stayed in good health all summer.",
         "The frogs were not in good health.", "The frogs were in good health."),
        ("The keeper said nothing of their health.", "The frogs were not in good health.", None),
        ("The frogs never were in good health.", "The frogs were not in good health.", None),
        ("The verdict was upheld on appeal.", "The verdict was not overturned on appeal.", None),
        ("The hare resembles the rabbit. It does not live in forests.", "The hare does live in forests.", None),
    ]  # fmt: skip
    for given, claim, wanted in rows:
        texts = ContextReader(shipped_verifier(), [given])
        found = best_mend(claim, texts.read([claim])[0], texts)
        assert (found and found.applied(claim)) == wanted


def test_a_sentence_is_a_given_one_but_for_a_value() -> None:
    rows = [
        ("The mill has 90 rooms.", 13, "12", "The mill, built of stone, has 12 rooms and a yard.", True),
        ("It has 90 rooms.", 7, "12", "The mill has 12 rooms.", True),
        ("The mill makes 90 rooms warm.", 15, "12", "The mill has 12 rooms.", False),
        ("The mill has 90 rooms.", 13, "12", "The mill has 4 wheels and 12 rooms.", False),
        ("The rooms have 90.", 15, "12", "The mill has 12 rooms.", False),
    ]
    assert [
        sentence for sentence, start, new, given, is_given in rows
        if is_given_but_for(sentence, Proposal(start, start + 2, new, "entity"), given) is not is_given
    ] == []  # fmt: skip


def test_a_sentence_about_something_else_is_not_bent_to_the_passages() -> None:
    assert mended("Lisbon had two rivers and a castle in 1899.") is None


def test_what_the_answer_says_elsewhere_is_not_said_again() -> None:
    sentence = "Fold the top left corner down to the centre."
    assert mended(sentence, others=("Fold the top right corner down to the centre.",)) is None


def test_two_values_that_would_do_as_well_are_none() -> None:
    two = "The harbour bridge was opened in 1932. The harbour bridge was opened in 1950."
    assert mended("The harbour bridge was opened in 1899.", two) is None


def test_a_mend_knows_its_readings() -> None:
    sentence = "The harbour bridge was opened in 1899."
    given = reader(PASSAGE)
    found = best_mend(sentence, given.read([sentence])[0], given)
    assert isinstance(found, Mend)
    assert found.kind == "entity"
    assert found.after.supported > found.before.supported
    assert found.margin > 1.0
    assert found.before.evidence is not None
    assert found.before.evidence.text == "The harbour bridge was opened in 1932 by the mayor."


def test_a_name_is_not_put_where_the_passages_do_not_speak_against_the_sentence() -> None:
    given = reader("The harbour bridge was opened by Ann Berg in 1932.")
    sentence = "The harbour bridge was opened by Carl Holm in 1932."
    before = given.read([sentence])[0]
    assert best_mend(sentence, before, given) is not None
    assert best_mend(sentence, replace(before, contradicted=0.35), given) is None


def test_what_cannot_stand_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and opposites need passages that speak against the sentence; numbers do not. Two faults are not mended."""
    given = reader("The left harbour bridge was opened by Ann Berg in 1932.")
    sentences = {
        "1932": "The left harbour bridge was opened by Ann Berg in 1899.",
        "left": "The right harbour bridge was opened by Ann Berg in 1932.",
        "Ann": "The left harbour bridge was opened by Carl Holm in 1932.",
        "both": "The right harbour bridge was opened by Ann Berg in 1899.",
    }
    befores = {word: given.read([sentence])[0] for word, sentence in sentences.items()}
    read: list[str] = []

    def listening(claims: Sequence[str], *, values: bool, ask: Reads = given.read) -> list[ClaimReading]:
        read.extend(claims)
        return ask(claims)

    monkeypatch.setattr(given, "read", listening)
    for contradicted, words in ((0.9, {"1932", "left", "Ann"}), (0.1, {"1932"})):
        found = set()
        for word, sentence in sentences.items():
            read.clear()
            best_mend(sentence, replace(befores[word], supported=0.0, contradicted=contradicted), given)
            found |= {word} if read else set()
        assert found == words


def test_a_value_must_stand_in_the_sentence_that_carries_the_mended_one() -> None:
    """Elsewhere it may stand for something else."""
    passage = "The harbour bridge was opened. Ann painted it in 1932."
    assert mended("The harbour bridge was opened in 1899.", passage) is None
