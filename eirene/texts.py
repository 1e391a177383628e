"""Text from outside, as every border checks it: not blank, no NUL character, whole Unicode."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

HALF_PAIR = "contains half a surrogate pair, which no UTF-8 text can hold; repair it"


def whole(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair, which the escapes of a model's JSON may hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _clean(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank; give a text, or leave the key out")
    if "\x00" in text:
        raise ValueError("contains a NUL character; remove it")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError(HALF_PAIR) from None
    return text


# The schema says what the check asks for, so that a client can know it before.
Text = Annotated[
    str, AfterValidator(_clean), Field(json_schema_extra={"minLength": 1, "pattern": r"^[^\x00]*[^\s\x00][^\x00]*$"})
]
