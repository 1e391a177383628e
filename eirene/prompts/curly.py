"""Curly-braces prompts for small and prompt-tuned models: one `{key: value}` a line.

The NPOV paper (appendix B) writes its tasks as key-value pairs in curly braces, for the response generator and for the
error classifiers. No value can close its own braces: braces in a text become parentheses, so that offsets hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

_PARENTHESES = str.maketrans("{}", "()")
_KEY_BREAKS = str.maketrans({"{": "(", "}": ")", ":": " ", "\n": " ", "\r": " "})

RESPONSE = "response"
FAITHFUL, COVERED = "faithful", "covered"
"""The questions of classifiers: does the response say only what was given, and all of it?"""


@dataclass(frozen=True, slots=True)
class CurlyText:
    """A prompt, and the offsets of each argument in it, in order."""

    text: str
    places: tuple[tuple[int, int], ...]


def response_prompt(query: str, arguments: Iterable[tuple[str, str]]) -> CurlyText:
    """Query and arguments (each with its group's name), up to the colon before the response."""
    text = _field("query", query)
    places = []
    for name, argument in arguments:
        start = len(text) + len(_opened(name)) + 1
        text += _field(name, argument)
        places.append((start, start + len(argument)))
    return CurlyText(text + _opened(RESPONSE), tuple(places))


def verdict_prompt(query: str, arguments: Iterable[tuple[str, str]], response: str, *, asks: str) -> str:
    """Query, arguments and response, up to the colon before the label; `asks` is `FAITHFUL` or `COVERED`."""
    return response_prompt(query, arguments).text + curly_reply(response) + "\n" + _opened(asks)


def curly_reply(value: str) -> str:
    """The reply that a model is trained to give: a space, the value, and the closing brace.

    Most tokenizers make one token of the space and the word after it.
    """
    return f" {value.translate(_PARENTHESES)}}}"


def _field(key: str, value: str) -> str:
    return _opened(key) + curly_reply(value) + "\n"


def _opened(key: str) -> str:
    return f"{{{key.translate(_KEY_BREAKS)}:"
