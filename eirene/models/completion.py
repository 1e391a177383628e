"""Chat completions in OpenAI's form, read from the body with every field, of which LangChain's classes drop some."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from eirene.core.errors import MalformedReplyError
from eirene.models.replies import Tokens, ending, token_count
from eirene.text.unicode import mend_values

_READ = frozenset({"choices", "usage"})


@dataclass(frozen=True, slots=True)
class Choice:
    """One choice: its message with every field, why it ended (see `Reply`), and its log-probabilities as they came."""

    message: dict[str, Any]
    finish_reason: str | None
    logprobs: object


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply's choices, its tokens, and what else stands in it (`model`, `id`, `citations`, ...)."""

    choices: tuple[Choice, ...]
    tokens: Tokens
    fields: dict[str, Any]


def read_completion(body: bytes | bytearray, *, name: str) -> Completion:
    """The completion of the model `name`. Half surrogate pairs are mended.

    Raises `MalformedReplyError` for another form, and `ValueError` with the server's error where it sent one as a
    reply, as LangChain does.
    """
    try:
        found = mend_values(json.loads(body))
    except (ValueError, RecursionError):
        raise MalformedReplyError(f"{name}: the reply is not JSON") from None
    if isinstance(found, dict) and found.get("error"):
        raise ValueError(found["error"])
    sent = found.get("choices") if isinstance(found, dict) else None
    if not isinstance(sent, list) or not sent:
        raise MalformedReplyError(f"{name}: the reply holds no choice")
    fields = {key: value for key, value in found.items() if key not in _READ}
    return Completion(tuple(_choice(choice, name) for choice in sent), _tokens(found.get("usage")), fields)


def _choice(sent: object, name: str) -> Choice:
    message = sent.get("message") if isinstance(sent, dict) else None
    if not isinstance(sent, dict) or not isinstance(message, dict):
        raise MalformedReplyError(f"{name}: a choice of the reply holds no message")
    ended = sent.get("finish_reason")
    return Choice(message, ending(ended) if isinstance(ended, str) and ended else None, sent.get("logprobs"))


def _tokens(usage: object) -> Tokens:
    if not isinstance(usage, Mapping):
        return Tokens(is_unknown=True)
    details = usage.get("prompt_tokens_details")
    read, written = token_count(usage.get("prompt_tokens")), token_count(usage.get("completion_tokens"))
    cached = token_count(details.get("cached_tokens")) if isinstance(details, Mapping) else None
    return Tokens(read or 0, written or 0, min(cached or 0, read or 0), is_unknown=read is None and written is None)
