"""The curly-braces form: what it looks like, and that no text gets out of its braces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.prompts.curly import COVERED, curly_reply, response_prompt, verdict_prompt

ARGUMENTS = [("pro", "Wind is clean."), ("con", "Turbines kill birds.")]


def test_a_response_prompt_ends_where_the_response_begins() -> None:
    found = response_prompt("Wind power?", ARGUMENTS)
    assert found.text == "{query: Wind power?}\n{pro: Wind is clean.}\n{con: Turbines kill birds.}\n{response:"
    assert [found.text[a:b] for a, b in found.places] == ["Wind is clean.", "Turbines kill birds."]


def test_a_verdict_prompt_holds_the_response_and_ends_where_the_label_begins() -> None:
    found = verdict_prompt("Wind power?", ARGUMENTS[:1], "It is clean.", asks=COVERED)
    assert found == "{query: Wind power?}\n{pro: Wind is clean.}\n{response: It is clean.}\n{covered:"
    assert curly_reply("YES") == " YES}"


@given(st.text(), st.lists(st.tuples(st.text(), st.text()), max_size=4), st.text())
def test_there_are_as_many_braces_as_fields_whatever_the_texts_say(query, arguments, response) -> None:
    found = verdict_prompt(query, arguments, response, asks=COVERED)
    assert found.count("{") == 3 + len(arguments)
    assert found.count("}") == 2 + len(arguments)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_places_are_those_of_the_arguments_letter_for_letter(arguments) -> None:
    found = response_prompt("Q?", arguments)
    for (start, end), (_, argument) in zip(found.places, arguments, strict=True):
        assert found.text[start:end] == argument.replace("{", "(").replace("}", ")")
