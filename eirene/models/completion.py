"""Chat completions in OpenAI's form, read from the body with every field, of which LangChain's classes drop some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eirene.models.replies import Tokens, ending, token_count
from eirene.text.unicode import mend_values

_READ = frozenset({"choices", "usage"})


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its message with every field, why it ended (see `Reply`), and its log-probabilities as they came.

    The message is empty where there is none.
    """

    message: dict[str, Any]
    finish_reason: str | None
    logprobs: object

    @property
    def text(self) -> str:
        """The message's text; "" for content of another form."""
        content = self.message.get("content")
        return content if isinstance(content, str) else ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply's choices, its tokens, and what else stands in it (`model`, `id`, `citations`, ...)."""

    choices: tuple[Choice, ...]
    tokens: Tokens
    fields: dict[str, Any]


def read_completion(body: bytes | bytearray) -> Completion:
    """The completion in a response's body, half surrogate pairs mended.

    Raises `ValueError`, as LangChain does: for what is none, and with the server's error where it sent one as a reply.
    """
    try:
        found = mend_values(json.loads(body))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if isinstance(found, dict) and found.get("error"):
        raise ValueError(found["error"])
    choices = choices_of(found) if isinstance(found, dict) else ()
    if not choices or not all(choice.message for choice in choices):
        raise ValueError("no choice with a message")
    fields = {key: value for key, value in found.items() if key not in _READ}
    return Completion(choices, usage_of(found), fields)


def choices_of(completion: Mapping[str, Any]) -> tuple[Choice, ...]:
    """The choices of a completion as JSON, in the order of their `index`; what is none is left out."""
    sent = completion.get("choices")
    choices = [choice for choice in sent if isinstance(choice, dict)] if isinstance(sent, list) else []
    if all(isinstance(choice.get("index"), int) for choice in choices):
        choices.sort(key=lambda choice: choice["index"])
    return tuple(_choice(choice) for choice in choices)


def _choice(sent: Mapping[str, Any]) -> Choice:
    message, ended = sent.get("message"), sent.get("finish_reason")
    finish_reason = ending(ended) if isinstance(ended, str) and ended else None
    return Choice(message if isinstance(message, dict) else {}, finish_reason, sent.get("logprobs"))


def usage_of(completion: Mapping[str, Any]) -> Tokens:
    """The tokens that a completion as JSON reports."""
    usage = completion.get("usage")
    if not isinstance(usage, Mapping):
        return Tokens(is_unknown=True)
    details = usage.get("prompt_tokens_details")
    read, written = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    cached = token_count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Tokens(read or 0, written or 0, min(cached or 0, read or 0), is_unknown=read is None and written is None)
