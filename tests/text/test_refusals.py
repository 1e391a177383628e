"""Refusals, and reasons that deny their own fault: what counts as one, and what only sounds like it."""

from __future__ import annotations

from eirene.text.refusals import denies_fault, is_refusal
from tests.rows import each


@each(
    "text",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I can’t.",
        "I can't do that.",
        "Sorry, as an AI language model I cannot write this without more details.",
        "I am unable to provide medical advice. Please see a doctor.",
        "We are not able to assist you with this request.",
        "Unfortunately, I will not discuss that.",
        "I must decline.",
        "Je suis désolé, mais je ne peux pas vous aider avec cela.",
        "抱歉，我无法回答这个问题。",
        "I'm sorry, but I can't help with that. However, I can help you with other topics, such as writing or cooking.",
    ],
)
def test_a_refusal(text: str) -> None:
    assert is_refusal(text)


@each(
    "text",
    [
        "",
        "I'm sorry to hear that. Rest, and drink a lot of water.",
        "I cannot stress this enough: save a copy first.",
        "We cannot continue to build on wetlands, since floods get worse.",
        'The song "I Won\'t Do That" came out in 1993.',
        "I can't help but admire it.",
        "I cannot give advice on your case, but in general aspirin is taken with food and not more than six a day.",
        "Opponents say that they will not help, and supporters that they cannot provide more.",
        "I'm sorry, I can't draw. Here is the same as a table of the figures by year: 2019, 96; 2020, 95.",
        "I cannot help with that. " + "Still, there is much to be said for it. " * 20,
    ],
)
def test_an_answer(text: str) -> None:
    assert not is_refusal(text)


@each(
    "reason",
    [
        "No error.",
        "There is no error here.",
        "This is not an error",
        "It's fine.",
        "The claim is fully supported by the passages.",
        "**The statement is correct.**",
        "The sentence is consistent with the given texts",
        "Nothing is wrong.",
        "This is supported by [2].",
    ],
)
def test_a_reason_that_denies_its_fault_is_told(reason: str) -> None:
    assert denies_fault(reason)


@each(
    "reason",
    [
        "",
        "The statement is correct, but the year is not.",
        "No error rate is given.",
        "No source.",
        "none",
        "The claim is supported by passage 2 only in part.",
        "This is true of trams, not of buses.",
        "The statement is correct" + " and so on" * 30,
        "It is not supported by the passages.",
        "None of the passages says so.",
        "Nothing is said of trams.",
    ],
)
def test_any_other_reason_stands(reason: str) -> None:
    assert not denies_fault(reason)
