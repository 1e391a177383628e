"""The sentence of given texts that shares most words with another one."""

from eirene.gate.checks.polarity import nearest_index

TEXTS = ("Uniforms save money. They also limit freedom.", "Homework helps children to learn.")


def test_the_likest_sentence_comes_first() -> None:
    likeness, text = nearest_index(TEXTS).nearest("Homework does not help children to learn.")[0]
    assert (likeness, text) == (1.0, TEXTS[1])


def test_without_common_words_there_is_none() -> None:
    assert nearest_index(TEXTS).nearest("Trade is free.") == []


def test_words_are_held_in_any_case() -> None:
    assert nearest_index(TEXTS).holds("LIMIT FREEDOM")
    assert not nearest_index(TEXTS).holds("falsely")
