"""Replies of critics, judges, refiners and writers are cleaned by one set of rules."""

from __future__ import annotations

import pytest

from eirene.core.errors import UnusableReplyError
from eirene.models.replies import Reply, ending
from eirene.models.reply_text import check_ending, cleaned, inside_fence, unwrapped, without_thinking
from tests.rows import each


@each("block", ["<think>hm</think>", "◁think▷hm◁/think▷", "[THINK]hm[/THINK]", "<reasoning>hm</reasoning>"])
def test_every_way_of_thinking_goes_from_every_kind_of_reply(block: str) -> None:
    assert (
        cleaned(f"{block}\nyes").strip()
        == without_thinking(f"{block}\nyes").strip()
        == unwrapped(f"{block}\nyes")
        == "yes"
    )


@each("mark", ["<|im_end|>", "<|eom_id|>", "<｜end▁of▁sentence｜>", "<|end▁of▁sentence|>", "</s>"])
def test_an_end_mark_ends_a_reply(mark: str) -> None:
    assert cleaned(f"yes{mark}no") == "yes"


def test_a_tag_inside_a_line_opens_a_block_where_the_reply_speaks_of_no_tags() -> None:
    assert cleaned("yes <think>no", inline=True) == "yes "
    assert cleaned("yes <think>no") == without_thinking("yes <think>no") == "yes <think>no"


def test_only_a_fence_around_the_whole_is_taken_off() -> None:
    assert inside_fence('```json\n{"a": 1}\n```') == '{"a": 1}'
    assert inside_fence('{"a": "```"}') == '{"a": "```"}'


@each(
    "word, said",
    [
        ("MAX_TOKENS", "length"),
        (" token_limit ", "length"),
        ("truncated", "length"),
        ("recitation", "content_filter"),
        ("end_turn", "stop"),
        ("Tool_Calls", "tool_calls"),
    ],
)
def test_the_providers_words_for_an_ending_become_ours(word: str, said: str) -> None:
    assert ending(word) == said


@each("reason, why", [("length", "cut off"), ("content_filter", "filter stopped the rewrite")])
def test_a_reply_that_did_not_end_by_itself_is_refused_with_its_text(reason: str, why: str) -> None:
    with pytest.raises(UnusableReplyError, match=why) as caught:
        check_ending(Reply("<think>a</think>half", reason), "rewrite")
    assert caught.value.reply == "half"
    check_ending(Reply("whole", "stop"), "rewrite")
