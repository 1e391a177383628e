"""What a critic can be asked for, with the way of asking and of reading that goes with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from eirene.core.critique import CriticKind, Sample
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import with_ids
from eirene.feedback_model.parsing.reply import read_reply
from eirene.feedback_model.parsing.tagged import hallucination_messages, read_tagged_reply
from eirene.feedback_model.request import feedback_messages
from eirene.models.local.layout import Role
from eirene.prompts.loader import Message, Prompt


class _Messages(Protocol):
    def __call__(self, request: FeedbackRequest, *, prompt: Prompt | None = None) -> tuple[Message, ...]: ...


@dataclass(frozen=True, slots=True)
class Asking:
    """One way of asking for a critique.

    `role` is under which a tuned model carries its prompt. `in_own_words`: whether replies hold reasons that a model
    words itself, so that equal replies are a sign of copies.
    """

    critic: CriticKind
    role: Role
    messages: _Messages
    read: Callable[[str, FeedbackRequest, str | None], Sample]
    in_own_words: bool

    def invalid(self, why: str) -> Sample:
        """A sample that cannot vote, of this critic."""
        return Sample(invalid=why, critic=None if self.critic == "completeness" else self.critic)


COMPLETENESS = Asking(
    critic="completeness",
    role="feedback",
    messages=feedback_messages,
    read=lambda text, request, ended: with_ids(read_reply(text, request.sentences, finish_reason=ended), request.item),
    in_own_words=True,
)
HALLUCINATION = Asking(
    critic="hallucination",
    role="hallucination",
    messages=hallucination_messages,
    read=lambda text, request, ended: read_tagged_reply(text, request, finish_reason=ended),
    in_own_words=False,
)
