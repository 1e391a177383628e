"""Thinking blocks: what is one, what only speaks of one, and that sentences leave them out and lose no character."""

from __future__ import annotations

import pytest

from eirene.text.sentences import split_sentences
from eirene.text.thinking import masked_thinking, thinking_spans, without_thinking

SAID = "The oak is old. It has acorns."
MEANT = {
    "a block": f"<think>Oaks are fish. Or so.</think>\n\n{SAID}",
    "upper case, on one line": f"<THINKING>Hm.</THINKING> {SAID}",
    "with paragraphs, a list and code": f"<reasoning>\nOne.\n\n1. Two\n\n```\nx = 1\n```\n</reasoning>\n{SAID}",
    "no opening tag": f"I recall oaks. They are tall.\n</think>\n\n{SAID}",
    "no opening tag, on the line": f"I recall oaks.</think>{SAID}",
    "several": f"<think>a</think>\n<thinking>b</thinking>\n{SAID}",
    "between sentences": "The oak is old.\n<think>Now acorns.</think>\nIt has acorns.",
    "after all": f"{SAID}\n\n<think>Was that right?</think>\n",
    "no closing tag": f"{SAID}\n\n<think>Was that right? I",
    "nested": f"<think>One <think>two</think> three.</think>\n{SAID}",
    "other marks": f"◁think▷Hm.◁/think▷{SAID}",
    "marks of tokens": f"<|begin_of_thought|>Hm.\n\nOaks?<|end_of_thought|>\n\n{SAID}",
    "channels": f"<|channel|>analysis<|message|>Hm. Oaks?<|end|><|start|>assistant<|channel|>final<|message|>{SAID}",
    "a word of tokens": f"<|thinking|>Hm.<|/thinking|>\n{SAID}",
    "empty": f"<think>\n\n</think>\n\n{SAID}",
}
SPOKEN_OF = [
    "Models write <think> before they reason and </think> after it. Clients cut that out.",
    "`<think>` opens a block. `</think>` closes it.",
    "<think> tags are cut out. The closing tag is </think>.",
    "<think>...</think> is where the model reasons. It is cut out.",
    "Write it so:\n<think>\nyour reasoning\n</think>\nThen answer.",
    "The template is\n```\n<think>\nreasoning\n</think>\n```\nand no more.",
    'The tag "</think>" ends it. I think so.',
    "a <b and c> d. <thinker>x</thinker>",
]


@pytest.mark.parametrize("text", MEANT.values(), ids=MEANT.keys())
def test_a_block_is_no_part_of_what_is_said(text: str) -> None:
    sentences = split_sentences(text)
    assert [s.text for s in sentences] == ["The oak is old.", "It has acorns."]
    assert "".join(s.raw for s in sentences) == text
    assert all(text[s.text_start : s.text_end] == s.text for s in sentences)
    assert without_thinking(text).split() == masked_thinking(text).split() == SAID.split()
    assert len(masked_thinking(text)) == len(text)


@pytest.mark.parametrize("text", SPOKEN_OF)
def test_tags_that_are_spoken_of_are_no_block(text: str) -> None:
    assert thinking_spans(text) == ()


def test_thinking_alone_is_one_piece_that_says_nothing() -> None:
    for text in ("<think>Hm. And so on.</think>", "<think>Hm. And so"):
        assert [(s.raw, s.text) for s in split_sentences(text)] == [(text, "")]
