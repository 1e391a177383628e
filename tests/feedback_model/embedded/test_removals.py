"""Removals: which unsupported sentences may go, and which stay since something hangs on them."""

from __future__ import annotations

import pytest

from eirene.feedback_model.embedded.removals import Removals
from eirene.text.sentences import split_sentences
from eirene.verification.claims import claim_of, claims_nothing
from tests.feedback_model.embedded.reader import reader

PASSAGE = (
    "The harbour bridge was opened in 1932. It is made of steel from Sheffield. Trains cross the bridge every hour. "
    "Cars pay a toll on weekdays. Bicycles have a lane of their own. Wash the rice in cold water. "
    "Boil the rice for ten minutes. Old Quill lives by the river."
)
FOREIGN = "Squirrels elected a mayor."


def removed(answer: str, question: str = "What about the harbour bridge?") -> list[str]:
    """The sentences that may go."""
    sentences = split_sentences(answer)
    given = reader(PASSAGE)
    judged = [i for i, s in enumerate(sentences) if s.text and claims_nothing(s.text) is None]
    readings = dict(zip(judged, given.read([claim_of(sentences[i].text) for i in judged]), strict=True))
    faulted = [i for i in judged if readings[i].supported < 0.35]
    chosen = Removals(answer, question, sentences, readings, given).chosen(faulted)
    return [sentences[i].text for i in sorted(chosen)]


BEFORE = "The harbour bridge was opened in 1932. Trains cross the bridge every hour."


def test_an_unsupported_sentence_goes_where_nothing_hangs_on_it(subtests: pytest.Subtests) -> None:
    for after in ["", "Cars pay a toll on weekdays.", "Additionally, bicycles have a lane of their own."]:
        with subtests.test(after=after):
            assert removed(f"{BEFORE} {FOREIGN} {after}".strip()) == [FOREIGN]


def test_a_sentence_that_the_next_one_hangs_on_stays(subtests: pytest.Subtests) -> None:
    for after in [
        "However, cars pay a toll on weekdays.",
        "Therefore, bicycles have a lane of their own.",
        "This is why cars pay a toll on weekdays.",
        "They cross the bridge every hour.",
        "It is made of steel from Sheffield.",
        "The squirrels pay a toll on weekdays.",
        "The mayor pays a toll on weekdays.",
        "As a result, cars pay a toll on weekdays.",
        "For example, cars pay a toll on weekdays.",
        "- Cars pay a toll on weekdays.",
    ]:
        with subtests.test(after=after):
            joint = "\n" if after.startswith("-") else " "
            assert removed(f"{BEFORE} {FOREIGN}{joint}{after}") == []


def test_a_sentence_whose_name_comes_back_later_stays() -> None:
    named = "Its builder was Nokomis Quill."
    assert removed(f"{BEFORE} {named} Cars pay a toll on weekdays. Quill lives by the river.") == []


def test_a_pronoun_that_goes_on_over_the_sentence_loses_nothing() -> None:
    answer = "The harbour bridge was opened in 1932. It sings at night. It is made of steel from Sheffield."
    assert removed(answer) == ["It sings at night."]


def test_steps_torn_quotations_and_what_is_led_in_to_stay(subtests: pytest.Subtests) -> None:
    for answer in [
        "To cook it:\n1. Wash the rice in cold water.\n2. Sing to the moon quietly.\n3. Boil the rice for ten minutes.",
        "Wash the rice in cold water. Then sing to the moon quietly. Boil the rice for ten minutes.",
        "Boil the rice for ten minutes. You should sing to the moon quietly.",
        f'{BEFORE} He said "squirrels elected a mayor.',
        f"{BEFORE} The facts are these:\nSquirrels elected a mayor.",
    ]:
        with subtests.test(answer=answer):
            assert removed(answer) == []


def test_conclusions_and_parts_of_what_was_said_stay(subtests: pytest.Subtests) -> None:
    for sentence in [
        "So squirrels elected a mayor.",
        "Squirrels would elect a mayor.",
        "Half of them elected a mayor.",
        "In all, squirrels elected a mayor.",
    ]:
        with subtests.test(sentence=sentence):
            assert removed(f"{BEFORE} {sentence}") == []


def test_advice_and_what_is_said_to_the_reader_or_in_another_language_stay(subtests: pytest.Subtests) -> None:
    for sentence in [
        "If squirrels bite, phone a vet at once.",
        "In a thunderstorm, leave the forest.",
        "A last tip: keep nuts in a jar.",
        "To please squirrels, choose walnuts.",
        "It's quite normal to fear squirrels.",
        "Nobody should feed squirrels.",
        "Our squirrels elected a mayor.",
        "Squirrels look forward to meeting you.",
        "Herzliche Grüße aus dem Wald",
        "Hartelijk dank en tot ziens!",
    ]:
        with subtests.test(sentence=sentence):
            assert removed(f"{BEFORE} {sentence}") == []


def test_what_answers_the_question_stays() -> None:
    assert removed(f"{BEFORE} {FOREIGN}", question="Who elected the mayor of the squirrels?") == []


def test_a_number_that_follows_from_the_passages_stays() -> None:
    assert removed(f"{BEFORE} Divers sang for 415 seconds.") == ["Divers sang for 415 seconds."]
    assert removed(f"{BEFORE} Divers sang for 600 seconds.") == []


def test_a_number_that_is_announced_stays_whole() -> None:
    announced = "There are two facts. The harbour bridge was opened in 1932."
    assert removed(f"{announced} {FOREIGN} Trains cross the bridge every hour.") == []


def test_a_pronoun_that_goes_on_as_in_the_passages_lets_the_sentence_between_go() -> None:
    answer = f"The harbour bridge was opened in 1932. {FOREIGN} It is made of steel from Sheffield."
    assert removed(answer) == [FOREIGN]


def test_not_everything_goes() -> None:
    assert removed("Squirrels elected a mayor. Owls run the post office.") == []
    foreign = "Squirrels elected a mayor. Owls run the post office. Foxes own a bakery."
    assert len(removed(f"{foreign} The harbour bridge was opened in 1932.")) == 2


def test_half_a_sentence_that_is_supported_holds_the_whole_one() -> None:
    half = "Cars pay a toll on weekdays, and the squirrels have elected a wise old mayor."
    assert removed(f"{BEFORE} {half}") == []


def test_a_line_of_a_letter_and_what_is_named_for_what_it_is_stay(subtests: pytest.Subtests) -> None:
    for line in [
        "Squirrel Department",
        "Nuts from the third oak,\nBella & Olaf",
        "In brief: squirrels elected a mayor.",
    ]:
        with subtests.test(line=line):
            assert removed(f"{BEFORE}\n\n{line}") == []
