"""Prompts are filled once, completely, and say what is wrong before any model is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import PromptError
from eirene.prompts import load_prompt, parse_prompt
from eirene.prompts.loader import shipped_names

TEXT = "# about\nFor tests.\n\n# system\nBe brief, {{name}}.\n\n# user\nQ: {{ question }}\nAgain: {{question}}\n"


def test_fills_every_place() -> None:
    system, user = parse_prompt("t", TEXT).fill({"name": "Ada", "question": "Why?"})
    assert (system.role, system.content) == ("system", "Be brief, Ada.")
    assert (user.role, user.content) == ("user", "Q: Why?\nAgain: Why?")


def test_a_section_may_be_left_out_but_not_the_user_s() -> None:
    assert [m.role for m in parse_prompt("t", "# about\n\n# user\nHi").fill({})] == ["user"]


@given(st.text())
def test_a_value_is_never_looked_at_again(value: str) -> None:
    """Placeholders, headings and fences in a value stay text."""
    _, user = parse_prompt("t", TEXT).fill({"name": "{{question}}", "question": value})
    assert user.content == f"Q: {value}\nAgain: {value}"


def test_every_missing_and_unused_name_is_listed() -> None:
    with pytest.raises(PromptError, match=r"missing: name, question; unused: colour, size"):
        parse_prompt("t", TEXT).fill({"colour": "", "size": ""})


def test_a_malformed_file_is_refused(subtests: pytest.Subtests) -> None:
    for text, said in [
        ("# user\nHi", "sections"),
        ("# about\nx", "sections"),
        ("# about\n\n# user\nHi\n# system\nHo", "sections"),
        ("# about\n\n# user\n\n", "empty section"),
        ("hello\n# about\n# user\nHi", "before its first section"),
        ("# about\n\n# user\na\n# user\nb", "sections"),
    ]:
        with subtests.test(text=text, said=said), pytest.raises(PromptError, match=said):
            parse_prompt("t", text)


def test_the_digest_follows_the_text() -> None:
    assert parse_prompt("t", TEXT).digest != parse_prompt("t", TEXT + " ").digest


def test_an_unknown_prompt_names_the_known_ones() -> None:
    with pytest.raises(PromptError, match="no prompt 'yours'; known: answer_question, chainpoll_adherence"):
        load_prompt("yours")


def test_every_shipped_prompt_loads() -> None:
    fixed = [name for name in shipped_names() if not load_prompt(name).placeholders]
    assert fixed == ["fault_given", "fault_open", "refine_drop", "refine_drop_json", "refine_incomplete"]
