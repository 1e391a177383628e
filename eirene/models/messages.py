"""The system role: which errors refuse it (Gemma, Mistral), and the messages without it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

SYSTEM = "system"
"""What a refused system message is called among the fields that a server does not take."""
_ROLES = ("system", "developer")
_NAMED = (
    r"(?:['\"`](?:system|developer)['\"`]|\b(?:system|developer)['\"`]*[ _-](?:role|messages?|prompts?|instructions?)\b"
    r"|\brole\W{1,4}(?:system|developer)\b)"
)
# How servers, and the chat templates behind them, say it.
_REFUSAL = re.compile(
    rf"{_NAMED}[^.!?\n]{{0,40}}(?:\bnot\b|n't\b|\bun(?:supported|known|expected|recogni[sz]ed)\b|\binvalid\b)"
    rf"|(?:\bnot|n't) (?:support|allow|accept|take|have|handle|use|expect)\b[^.!?\n]{{0,30}}{_NAMED}"
    rf"|\b(?:un(?:supported|known|expected|recogni[sz]ed)|invalid)\b[^.!?\n]{{0,20}}{_NAMED}"
    r"|\broles must alternate\b|\bonly\W+(?:the )?\W*user\b.{0,10}\bassistant\b.{0,60}\broles?\b",
    re.IGNORECASE,
)
_SAID = 2_000
"""Characters of an error that are read."""


def refuses_system(said: str) -> bool:
    """Whether an error says that the model takes no system message."""
    return _REFUSAL.search(said[:_SAID]) is not None


def has_system(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Whether one of the messages, in OpenAI's form, is the system's or the developer's."""
    return any(message.get("role") in _ROLES for message in messages)


def without_system(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages, in OpenAI's form, with the system's texts at the head of the first message of the user."""
    told = "\n\n".join(_text(message.get("content")) for message in messages if message.get("role") in _ROLES)
    rest = [dict(message) for message in messages if message.get("role") not in _ROLES]
    first = next((n for n, message in enumerate(rest) if message.get("role") == "user"), None)
    if first is None:
        return [{"role": "user", "content": told}, *rest]
    said = rest[first].get("content")
    head = {"type": "text", "text": told}
    rest[first]["content"] = [head, *said] if isinstance(said, list) else f"{told}\n\n{said or ''}".rstrip()
    return rest


def _text(content: object) -> str:
    if not isinstance(content, list):
        return str(content or "")
    return "".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
