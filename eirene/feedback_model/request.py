"""The prompts that ask for a critique of completeness: chat messages, JSON by schema, HaluQuestQA's instruct layout.

What is untrusted in them is laid out in `eirene.prompts.material`.
"""

from __future__ import annotations

from typing import Any

from eirene.core.errors import InputError
from eirene.feedback_model.base import LONGEST_LACK, FeedbackRequest
from eirene.models.structured import ReplyForm, choice_schema, object_schema, text_schema
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.history import HISTORY_PROMPT
from eirene.prompts.material import MATERIAL_PROMPT, answer_lines, given_lines, material_of

CHAT_PROMPT = "feedback"
INSTRUCT_PROMPT = "feedback_instruct"
COMPLETENESS_JSON_PROMPT = "feedback_json"
FAULT_PROMPTS = ("fault_open", "fault_given")
"""What a fault is, without passages and with them: a part of those that ask for a critique."""
COMPLETENESS_PROMPTS = (CHAT_PROMPT, COMPLETENESS_JSON_PROMPT, *FAULT_PROMPTS, MATERIAL_PROMPT, HISTORY_PROMPT)
"""All that a chat model is asked for a critique of completeness in."""
MOST_SENTENCES = 100
"""A longer answer is asked about as text: strict servers bound the size of a schema."""
LONGEST_REASON = 300
"""Characters of a reason: room for two sentences; a small model that has no more to say goes on all the same."""
LONGEST_WORDS = 200
"""Characters of the words that are found faulty, and of those in their place."""


def feedback_messages(
    request: FeedbackRequest, *, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[Message, ...]:
    """The chat messages that ask for a critique of `request.answer`. The same request gives the same messages.

    `prompts` are what it is worded in; `prompt` takes the place of the one that asks and must have the same
    placeholders. Raises `InputError` for an answer without sentences, `PromptError` for placeholders that do not fit.
    """
    _check_sentences(request)
    material = material_of(request.item, request.sentences, request.evidence, prompts=prompts)
    fault = prompts.load(FAULT_PROMPTS[bool(request.item.context)]).fill({})[-1].content
    values = {"material": material.block, "fault": fault, "last": str(len(request.sentences))}
    return (prompt or prompts.load(CHAT_PROMPT)).fill(values)


def feedback_instruct(
    request: FeedbackRequest,
    *,
    instruction: str | None = None,
    prompt: Prompt | None = None,
    prompts: PromptSet = SHIPPED,
) -> str:
    """The same as one text that ends where the reply begins, after `### Response:` and a line break.

    `instruction` is what the adapter was trained with; without one the words of the prompt serve.
    """
    layout = prompt or prompts.load(INSTRUCT_PROMPT)
    words = layout.system if instruction is None else instruction.strip()
    _check_sentences(request)
    material = f"{given_lines(request.item, request.evidence, prompts)}\n{answer_lines(request.sentences)}"
    return layout.fill({"instruction": words, "material": material})[-1].content + "\n"


def completeness_form(request: FeedbackRequest, prompts: PromptSet = SHIPPED) -> ReplyForm | None:
    """The JSON of a completeness critique; a complete sentence is that one word. None for too many sentences."""
    schema = schema_by_sentence(request, [choice_schema(["Complete"]), text_schema(LONGEST_LACK, after="Incomplete: ")])
    if schema is None:
        return None
    prompt = prompts.load(COMPLETENESS_JSON_PROMPT)
    return ReplyForm.of("critique", schema, feedback_messages(request, prompt=prompt, prompts=prompts))


def schema_by_sentence(request: FeedbackRequest, shapes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """An object with one entry a sentence under its number, so that none is missing; None for too many sentences."""
    count = len(request.sentences)
    if not 1 <= count <= MOST_SENTENCES:
        return None
    schema = object_schema({str(n): {"$ref": "#/$defs/entry"} for n in range(1, count + 1)})
    return {**schema, "$defs": {"entry": {"anyOf": shapes}}}


def lines_grammar(count: int) -> str:
    """The numbered lines of a reply that tags so many sentences, as a grammar of llguidance.

    For models that were trained to write them. A reason begins with a letter and ends with its line. A bracket in it
    opens a citation, as in [2], and never a tag: with a second one a line could not be read.
    """
    numbers = range(1, count + 1)
    lines = [f'line{n}: "{n}. [" ("Complete]" | "Incomplete] Reasons: " REASON)' for n in numbers]
    start = "start: " + ' "\\n" '.join(f"line{n}" for n in numbers)
    letter, more = r"[^\x00-\x40\x5B-\x60\x7B-\x7F［【〔]", r"([^\x00-\x1F\x5B\x7F［【〔]|\x5B[0-9])"
    reason = f"REASON: /{letter}{more}{{2,{LONGEST_REASON - 1}}}/"
    return "\n".join(["%llguidance {}", start, *lines, reason])


def _check_sentences(request: FeedbackRequest) -> None:
    if not request.sentences:
        raise InputError("the answer has no sentences to judge; give a text", field="answer")
