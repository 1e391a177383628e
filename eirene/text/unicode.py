"""Unicode: the check of text from outside (`Text`), lone surrogates, invisible characters, scripts without spaces."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AfterValidator, Field

LONE_SURROGATE = "contains half a surrogate pair, which no UTF-8 text can hold; repair it"

UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # kana
    (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF),  # Han
)  # fmt: skip
"""First and last code points of scripts without spaces between words; each character counts as a word."""

UNSPACED_CLASS = "".join(f"{chr(first)}-{chr(last)}" for first, last in UNSPACED)
"""The same, for a class of a regular expression."""

INVISIBLE = r"\x00\u200b\u200e\u200f\u2060\ufeff\u202a-\u202e\u2066-\u2069"
"""Invisible characters, for a class of a regular expression: models leave them out of copies."""


def is_unspaced(char: str) -> bool:
    """Whether a character is of a script without spaces."""
    return any(first <= ord(char) <= last for first, last in UNSPACED)


def mend_surrogates(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which escapes in a model's JSON may produce."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def mend_json(value: Any) -> Any:
    """`mend_values`, but fast where nothing is to be mended, and then the value itself."""
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except (UnicodeEncodeError, TypeError):  # the second: something in it is no JSON
        return mend_values(value)
    return value


def mend_values(value: Any, *, deepest: int = 100) -> Any:
    """A JSON value with `mend_surrogates` on all texts and keys; `ValueError` if nested deeper than `deepest`."""
    if isinstance(value, str):
        return mend_surrogates(value)
    if not isinstance(value, dict | list | tuple):
        return value
    if deepest <= 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        return {mend_values(k, deepest=0): mend_values(v, deepest=deepest - 1) for k, v in value.items()}
    parts = [mend_values(v, deepest=deepest - 1) for v in value]
    return parts if isinstance(value, list) else tuple(parts)


def with_title(title: str, text: str) -> str:
    """A passage with its title before it, unless it begins with it."""
    return text if not title or text.startswith(title) else f"{title}: {text}"


def _clean(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank; give a text, or leave out the key of an optional field")
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(LONE_SURROGATE) from None
    return text


# The schema states what the validator checks, for clients.
Text = Annotated[
    str, AfterValidator(_clean), Field(json_schema_extra={"minLength": 1, "pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"})
]
