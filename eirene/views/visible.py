"""Makes characters visible that would otherwise act on a terminal or a page, or hide in it."""

from __future__ import annotations

import re

# Controls except tab and line feed, C1 controls, line separators, and what overrides the direction of writing (a text
# with those can be made to read otherwise than it is). Joiners stay: emoji and several scripts need them.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def visible(text: str) -> str:
    """The text with control characters shown as symbols (`␛`) or escapes (`\\u202e`); a line break CR LF becomes LF."""
    return _ACTS.sub(_symbol, text.replace("\r\n", "\n"))


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"
