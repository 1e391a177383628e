"""Asks for a tagged copy of an answer, and reads the reply as a sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from eirene.critique import Finding, Sample, Tag
from eirene.denied_fault import denies_fault
from eirene.errors import InputError
from eirene.fava.kinds import KINDS
from eirene.fava.replies import findings_in_reply
from eirene.fava.tags import escape_tags
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citing import plain
from eirene.feedback_model.hallucination_reasons import cut_copy, parted
from eirene.feedback_model.reading import check_end, is_cut_off
from eirene.feedback_model.reading_clean import UnreadableError, headings_in, without_frame
from eirene.feedback_model.select import findings_by_sentence
from eirene.prompts.loader import Message, Prompt, load_prompt
from eirene.prompts.untrusted import defused, mark_for
from eirene.records import Item
from eirene.sentences import Sentence

HALLUCINATION_PROMPT = "hallucination"
TUNED_PROMPT = "hallucination_tuned"
"""What `eirene train critic` tunes a model on; the model carries it."""
NO_REFERENCES = "(none: go by what is well known, and mark no statement merely because no reference bears on it)"

_SURROGATE = re.compile("[\ud800-\udfff]")


def hallucination_messages(request: FeedbackRequest, *, prompt: Prompt | None = None) -> tuple[Message, ...]:
    """The chat messages that ask for `request.answer` with tags. The same request gives the same messages.

    References are the passages of the context, else the perspectives' arguments. Raises `InputError` for an answer
    without sentences, `PromptError` for placeholders that do not fit.
    """
    if not request.sentences:
        raise InputError("the answer has no sentences to judge; give a text", field="answer")
    prompt, values = prompt or load_prompt(HALLUCINATION_PROMPT), _material(request)
    if "kinds" in prompt.placeholders:  # a tuned model has learnt them
        values["kinds"] = "\n".join(f"- {kind.name}: {kind.definition}." for kind in KINDS.values())
    return prompt.fill(values)


def _material(request: FeedbackRequest) -> dict[str, str]:
    """What is shown, and the mark between which it is."""
    answer, question = defused(escape_tags(request.answer)), defused(request.item.question)
    references = [f"{n}. {defused(text)}" for n, text in enumerate(references_of(request.item), start=1)]
    shown = "\n".join(references) or NO_REFERENCES
    return {"mark": mark_for(answer, question, shown), "question": question, "references": shown, "answer": answer}


def references_of(item: Item) -> tuple[str, ...]:
    """What an answer is held against: the passages of its context and the arguments of its perspectives."""
    arguments = [text for side in item.perspectives or () for text in side.arguments]
    return tuple([*(item.context or ()), *arguments])


def read_tagged_reply(text: str, request: FeedbackRequest, *, finish_reason: str | None = None) -> Sample:
    """The reply as a sample: its findings, and a sentence Incomplete where it has one; or invalid with a short cause.

    The reply must be a copy of the answer but for its tags: one that gives back less than six tenths of its words, or
    adds more than that, is invalid. What else it changed is ignored. Below the copy it may give a reason for each of
    its findings (`eirene.feedback_model.hallucination_reasons`); where it was cut off there, the copy counts. A reason
    that denies its finding makes it invalid. Never raises.
    """
    is_cut = is_cut_off(finish_reason)
    try:
        if not is_cut:
            check_end(finish_reason)
        own = headings_in(request.answer)
        body = without_frame(text, (s.text for s in request.sentences), own_headings=own)
    except UnreadableError as error:
        return Sample(invalid=str(error), critic="hallucination")
    if not body.strip():
        return Sample(invalid="empty", critic="hallucination")
    body, mark = _SURROGATE.sub("\ufffd", body), _material(request)["mark"]
    copy, reasons = (cut_copy(body, mark), ()) if is_cut else parted(body, mark, request.item)
    read = findings_in_reply(copy, request.answer, reasons=reasons)
    if read.no_copy is not None:
        return Sample(invalid="cut off" if is_cut else read.no_copy, critic="hallucination")
    denied = next((n for n, reason in enumerate(reasons, start=1) if denies_fault(reason)), None)
    if denied is not None:
        why = f"contradiction: reason {denied} says that there is no error"
        return Sample(invalid=why, critic="hallucination")
    findings = read.findings if reasons else [_quoting(f, request.item) for f in read.findings]
    return sample_of(findings, request.sentences)


def _quoting(finding: Finding, item: Item) -> Finding:
    """A finding whose reason is made of quotations."""
    return finding.model_copy(update={"reason": plain(finding.reason, item)})


def sample_of(findings: Iterable[Finding], sentences: Sequence[Sentence]) -> Sample:
    """Findings as a sample of the hallucination critic."""
    findings = tuple(findings)
    tags: list[Tag] = []
    reasons: list[str | None] = []
    for found in findings_by_sentence(findings, sentences):
        tags.append("Incomplete" if found else "Complete")
        reasons.append(" ".join(dict.fromkeys(f.reason for f in found)) or None)
    return Sample(tags=tuple(tags), reasons=tuple(reasons), findings=findings, critic="hallucination")
