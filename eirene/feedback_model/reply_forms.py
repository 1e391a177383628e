"""The JSON schemas of critiques, for models that can be held to one, and the prompts that go with them.

There is one entry a sentence, under its number, so that no reply has too few or too many. A tag comes before its
reason, as in the replies in text, and a complete sentence is that one word.
"""

from __future__ import annotations

from typing import Any

from eirene.core.findings.kinds import KINDS, REMOVED, REPLACED
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.parsing.tagged import references_shown
from eirene.feedback_model.request import feedback_messages, numbered_lines
from eirene.models.structured import ReplyForm, choice_schema, object_schema, text_schema
from eirene.prompts import SHIPPED, PromptSet
from eirene.prompts.fence import fence_word

COMPLETENESS_JSON_PROMPT = "feedback_json"
HALLUCINATION_JSON_PROMPT = "hallucination_json"
MOST_SENTENCES = 100
"""A longer answer is asked about as text: strict servers bound the size of a schema."""
LONGEST_LACK = 200
"""Characters of what a sentence lacks: the twenty words that are asked for, with room to spare."""
LONGEST_REASON = 300
"""Characters of a reason: room for two sentences; a small model that has no more to say goes on all the same."""
LONGEST_WORDS = 200
"""Characters of the words that are found faulty, and of those in their place."""
NO_FAULT = "none"


def completeness_form(request: FeedbackRequest, prompts: PromptSet = SHIPPED) -> ReplyForm | None:
    """The form of a completeness critique, asked for in these prompts; None for an answer of too many sentences."""
    schema = _by_sentence(request, [choice_schema(["Complete"]), text_schema(LONGEST_LACK, after="Incomplete: ")])
    if schema is None:
        return None
    prompt = prompts.load(COMPLETENESS_JSON_PROMPT)
    return ReplyForm.of("critique", schema, feedback_messages(request, prompt=prompt, prompts=prompts))


def hallucination_form(request: FeedbackRequest, prompts: PromptSet = SHIPPED) -> ReplyForm | None:
    """The form of a critique of hallucinations, as above."""
    words, reason = text_schema(LONGEST_WORDS), text_schema(LONGEST_REASON)
    shapes = [
        object_schema({"fault": choice_schema([NO_FAULT])}),
        object_schema({"fault": choice_schema(sorted(REPLACED)), "words": words, "right": words, "reason": reason}),
        object_schema({"fault": choice_schema(sorted(REMOVED)), "words": words, "reason": reason}),
    ]
    schema = _by_sentence(request, shapes)
    if schema is None:
        return None
    question, references = references_shown(request, prompts)
    statements = numbered_lines(request.sentences)
    values = {
        "mark": fence_word(statements, question, references),
        "kinds": "\n".join(f"- {kind.name}: {kind.definition}." for kind in KINDS.values()),
        "question": question,
        "references": references,
        "statements": statements,
        "last": str(len(request.sentences)),
    }
    return ReplyForm.of("faults", schema, prompts.load(HALLUCINATION_JSON_PROMPT).fill(values))


def _by_sentence(request: FeedbackRequest, shapes: list[dict[str, Any]]) -> dict[str, Any] | None:
    """An object with one entry a sentence, each of one of the shapes."""
    count = len(request.sentences)
    if not 1 <= count <= MOST_SENTENCES:
        return None
    schema = object_schema({str(n): {"$ref": "#/$defs/entry"} for n in range(1, count + 1)})
    return {**schema, "$defs": {"entry": {"anyOf": shapes}}}


def lines_grammar(count: int) -> str:
    """The numbered lines of `render_reply` for so many sentences, as a grammar of llguidance.

    For models that were trained to write them. A reason begins with a letter and ends with its line. A bracket in it
    opens a citation, as in [2], and never a tag: with a second one a line could not be read.
    """
    numbers = range(1, count + 1)
    lines = [f'line{n}: "{n}. [" ("Complete]" | "Incomplete] Reasons: " REASON)' for n in numbers]
    start = "start: " + ' "\\n" '.join(f"line{n}" for n in numbers)
    letter, more = r"[^\x00-\x40\x5B-\x60\x7B-\x7F［【〔]", r"([^\x00-\x1F\x5B\x7F［【〔]|\x5B[0-9])"
    reason = f"REASON: /{letter}{more}{{2,{LONGEST_REASON - 1}}}/"
    return "\n".join(["%llguidance {}", start, *lines, reason])
