"""The JSON schemas of judges' replies: a verdict, a choice between two answers, a list of errors.

The thinking comes before the verdict, as in the replies in text: a judge that must decide first has nothing to go by.
"""

from __future__ import annotations

from collections.abc import Sequence

from eirene.models.structured import ReplyForm, choice_schema, object_schema
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet

VERDICT_JSON_PROMPT = "verdict_json"
PAIRWISE_JSON_PROMPT = "pairwise_json"
ERROR_KINDS = ("factual", "unsupported", "missing", "irrelevant", "contradiction", "unclear")
VERDICTS = ("yes", "no")
_TEXT = {"type": "string"}


def verdict_form(messages: Sequence[Message], prompts: PromptSet = SHIPPED) -> ReplyForm:
    """Thinking, then yes or no. `messages` ask for the same in text."""
    schema = object_schema({"thinking": _TEXT, "verdict": choice_schema(VERDICTS)})
    return ReplyForm.of("verdict", schema, _asking_for_json(messages, prompts.load(VERDICT_JSON_PROMPT)))


def pairwise_form(messages: Sequence[Message], prompts: PromptSet = SHIPPED) -> ReplyForm:
    """Thinking, then which answer is faulty and which is better. `messages` ask for the same in text."""
    faulty, better = choice_schema(["A", "B", "both", "neither"]), choice_schema(["A", "B", "tie"])
    schema = object_schema({"thinking": _TEXT, "faulty": faulty, "better": better})
    return ReplyForm.of("comparison", schema, _asking_for_json(messages, prompts.load(PAIRWISE_JSON_PROMPT)))


def errors_form() -> ReplyForm:
    """The list of errors that the judge is asked for in JSON anyway."""
    error = object_schema(
        {"place": _TEXT, "kind": choice_schema(ERROR_KINDS), "reason": _TEXT, "penalty": {"type": "number"}}
    )
    return ReplyForm.of("errors", object_schema({"errors": {"type": "array", "items": error}}))


def _asking_for_json(messages: Sequence[Message], prompt: Prompt) -> list[Message]:
    return [*messages[:-1], *prompt.fill({"request": messages[-1].content})]
