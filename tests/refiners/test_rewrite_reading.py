"""What is the answer in a reply, and what is only around it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import UnusableReplyError
from eirene.models.replies import Reply
from eirene.refiners.asking import read_rewrite

NEW = "Trams are quiet.\n\n- They are clean.\n- They are dear.\n\nBuses drive."


def read(text: str, before: str = "An answer.") -> str:
    return read_rewrite(Reply(text, "stop"), before=before)


def test_what_models_put_before_an_answer_is_taken_off(subtests: pytest.Subtests) -> None:
    for before_it in [
        "Sure, here is the improved answer:\n\n",
        "Sure! Here's an improved version of the answer that mentions pollution:\n",
        "Certainly! Here is the revised answer:\n\n",
        "Of course.\n\nHere is my improved answer:\n\n",
        "Certainly!\n\n",
        "Here is the rewritten text:\n",
        "Thank you for the feedback! Here is an updated response:\n\n",
        "I've revised the answer as follows:\n\n",
        "Improved answer: ",
        "**Improved answer:**\n\n",
        "## Revised Answer:\n\n",
        "My improved answer:\n",
        "<think>They want\n\nmore.</think>\n\n",
        "<think>hm</think>\nSure, here is the improved answer:\n",
        "They want more, so I add it.\n</think>\n\n",
    ]:
        with subtests.test(before_it=before_it):
            assert read(before_it + NEW) == NEW


def test_what_models_put_around_an_answer_is_taken_off(subtests: pytest.Subtests) -> None:
    for wrapped in [
        f"```\n{NEW}\n```",
        f"```markdown\n{NEW}\n```",
        f"~~~~ text\n{NEW}\n~~~ \t",
        f"````\n{NEW}````",
        f"Here is the improved answer:\n\n```text\n{NEW}\n```",
        f'"{NEW}"',
        f"“{NEW}”",
        f'Improved answer: "{NEW}"',
        f"  \n{NEW}\n\n",
    ]:
        with subtests.test(wrapped=wrapped):
            assert read(wrapped) == NEW


def test_what_belongs_to_an_answer_stays(subtests: pytest.Subtests) -> None:
    for text in [
        "Sure enough, trams are quiet.",
        "Here is why trams are quiet: they run on rails.",
        "Here are the reasons:\n\n1. Rails.\n2. Power.",
        "Yes, trams are quiet.",
        "Yes. Trams are quiet.",
        "The answer: it depends.",
        "Okay is a word of unknown origin: it may come from Choctaw.",
        '"Yes," he said. "No," she said.',
        "'tis true that trams' rails shine'",
        "```python\nprint(1)\n```\n\nThat prints 1.\n\n```\n1\n```",
        "````\nprint(1)\n```",
        "~~~ trams\n~~",
        "First.\n\nSecond.\n\n\nThird.",
        "A <think> tag opens a block.",
        "Certainly true is that trams are quiet.",
    ]:
        with subtests.test(text=text):
            assert read(text) == text


def test_wrapping_that_the_text_before_had_as_well_belongs_to_it(subtests: pytest.Subtests) -> None:
    for text in ["Here is the final answer: 42.", "```\ncode\n```", '"To be or not to be"']:
        with subtests.test(text=text):
            assert read(text, before=text.replace("42", "41").replace("code", "cod").replace("be", "bee")) == text


def test_the_prompts_marks_are_no_part_of_an_answer() -> None:
    reply = Reply("TEXT-abc\nTrams.\n\nBuses, TEXT-abc.\nTEXT-abc", "stop")
    assert read_rewrite(reply, before="x", marks=("TEXT-abc",)) == "Trams.\n\nBuses, TEXT-abc."


def test_a_reply_that_copies_the_prompt_is_no_answer() -> None:
    reply = Reply("The question:\nTrams?\n\nYour answer so far:\nTrams.\n\nWrite it now:\nTrams.", "stop")
    with pytest.raises(UnusableReplyError, match="copies the prompt"):
        read_rewrite(reply, before="Trams.", request="Write it now:")
    own = "Question: Who?\nAnswer: Una."  # a short request may stand in the answer already
    assert read_rewrite(Reply(f"{own} Ole.", "stop"), before=own, request="Answer:") == f"{own} Ole."


def test_nothing_is_left_where_there_was_nothing(subtests: pytest.Subtests) -> None:
    for text in ["", "  \n", "<think>and so on without end", "<think>a</think>", "Improved answer:"]:
        with subtests.test(text=text):
            assert read(text) == ""


@given(st.text())
def test_reading_never_fails_and_invents_nothing(text: str) -> None:
    assert read(text) in text


def test_a_megabyte_is_read_like_anything_else(subtests: pytest.Subtests) -> None:
    for text in ["a" * 1_000_000, "<think>" * 150_000, "`" * 1_000_000, "here is " * 120_000]:
        with subtests.test(text=text):
            assert read(text) in text
