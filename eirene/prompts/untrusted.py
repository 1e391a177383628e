"""Keeps text from outside apart from our own words, whatever it says."""

from __future__ import annotations

import hashlib
import re
from itertools import count

# What tokenizers and chat templates read as control: <|...|>, <s>, [INST], <<SYS>>, turns, thinking.
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\s]{1,60}>|/?s>|/?(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>|/?think(?:ing)?>|<?/?SYS>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)


def defused(text: str) -> str:
    """The text with chat control tokens taken apart by a space; anything else stays as it is."""
    return _CONTROL.sub(lambda found: found.group() + " ", text)


def mark_for(*texts: str) -> str:
    """A word that occurs in none of the texts, to stand on the lines around each of them.

    It hangs on all of the texts, so that nobody who writes one of them can put it in. The same texts give the
    same word.
    """
    whole = "\x1f".join(texts)
    for attempt in count():
        mark = "TEXT-" + hashlib.sha256(f"{attempt}\n{whole}".encode(errors="backslashreplace")).hexdigest()[:12]
        if mark not in whole:
            return mark
    raise AssertionError("unreachable")  # pragma: no cover
