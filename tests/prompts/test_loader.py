"""Prompts are filled once, completely, and say what is wrong before any model is called."""

from __future__ import annotations

import re

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
    assert parse_prompt("t", TEXT).digest != parse_prompt("t", TEXT + " ").digest


OURS = re.compile("mark|kinds?|definition|last|first|n|drop|statements|genre|fault|instruction")
FENCED = re.compile("material|request|rejected|criticism|note|given")
"""Fields that bring their own fence; `given` does to critics, and stands inside one where a sentence is asked for."""
WITHIN = re.compile(
    r"gptscore.+|refine_(attempt|fault)|history|(sample_)?answer(_question)?|trained_.+|.+_(instruct|tuned)"
)
"""Prompts that stand inside another's fence, ask a question alone, or are such as models know from training."""
CLAIMS = frozenset(["judge_adherence", "judge_correctness", "judge_reason"])
"""Prompts with a claim of one line below the fence: with more words small models are less sure."""


def test_each_given_text_stands_between_two_lines_of_the_fence(subtests: pytest.Subtests) -> None:
    """Lines with the word alone come in pairs, nothing foreign stands outside them, and no pair has two in a row."""
    for name in (name for name in shipped_names() if not WITHIN.fullmatch(name)):
        with subtests.test(name=name):
            parts = re.split(r"^\{\{mark\}\}$", load_prompt(name).user, flags=re.MULTILINE)
            assert len(parts) % 2 == 1
            assert all(part.count("{{") for part in parts[1::2])
            outside = {field for part in parts[::2] for field in re.findall(r"\{\{(\w+)\}\}", part)}
            outside -= {"claim"} if name in CLAIMS else set()
            assert [field for field in outside if not OURS.fullmatch(field) and not FENCED.fullmatch(field)] == []


def test_every_shipped_prompt_loads_and_an_unknown_one_names_them() -> None:
    with pytest.raises(PromptError, match="no prompt 'yours'; known: answer_question, chainpoll_adherence"):
        load_prompt("yours")
    fixed = [name for name in shipped_names() if not load_prompt(name).placeholders]
    assert fixed == ["fault_given", "fault_open", "refine_drop", "refine_drop_json", "refine_incomplete"]
