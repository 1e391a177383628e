"""Provider prompt caches: where to ask for one, for a prompt that several requests share.

OpenAI, llama.cpp and vLLM know the beginning of a prompt again by themselves; prompts here begin with what requests
share. Anthropic keeps what stands before a breakpoint, and only what is long enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eirene.models.costs import rough_count
from eirene.prompts import Message

LEAST_TOKENS = 1024
"""A shorter prompt Anthropic does not keep (some models want more, and ignore the breakpoint)."""


def wants_breakpoint(model: object, messages: Sequence[Message]) -> bool:
    """Whether the model's provider keeps a prompt only if told to, and these messages are long enough to be kept."""
    if "anthropic_api_key" not in getattr(type(model), "model_fields", ()):
        return False
    return sum(rough_count(message.content) for message in messages) >= LEAST_TOKENS


def with_breakpoint(content: str) -> list[dict[str, Any]]:
    """A message's content with a breakpoint at its end, in the form of Anthropic's API."""
    return [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
