"""Untrusted texts on one line each in a prompt, so that none can pass for two, or for a heading or a control token."""

from __future__ import annotations

import re

from eirene.prompts.loader import break_control_tokens

_HEADING = re.compile(r"(?<!#)#{2,}+(?=\s*+(?:instruction|input|response)\b)", re.IGNORECASE)
_CODE = re.compile(r"^[ \t]{0,3}(?:`{3}|~{3})|^(?: {4}|\t)\S", re.MULTILINE)
_UNSEEN = {c: " " for c in (*range(0x20), *range(0x7F, 0xA0))} | dict.fromkeys((0x200B, 0x2060, 0xFEFF))


def one_line(text: str) -> str:
    """The text on one line: a line break becomes a space, in code a visible ⏎; control characters are dropped."""
    joint = " ⏎ " if _CODE.search(text) else " "
    lines = (" ".join(line.translate(_UNSEEN).split()) for line in text.strip().splitlines())
    return joint.join(line for line in lines if line)


def shown_line(text: str) -> str:
    """`one_line` without what a chat template or our own layout would read as more than text."""
    return _HEADING.sub("#", break_control_tokens(one_line(text)))
