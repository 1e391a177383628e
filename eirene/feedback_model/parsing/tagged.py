"""Prompts for a tagged copy of an answer (hallucinations), and parses the reply as a sample.

Reasons stand below the copy, behind a line that no text which the model was shown can forge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from eirene.core.critique import Finding, Sample, Tag
from eirene.core.errors import InputError
from eirene.core.findings.kinds import KINDS
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.findings.tags import escape_tags, parse_tagged
from eirene.core.records import Item
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import plain, resolved
from eirene.feedback_model.parsing.reply import check_end
from eirene.feedback_model.vote import findings_by_sentence
from eirene.models.replies import ending
from eirene.models.reply_text import UnreadableError, cleaned_instruct, count_headings
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.fence import fence_word
from eirene.prompts.history import history_lines, history_part
from eirene.prompts.lines import one_line
from eirene.prompts.loader import break_control_tokens
from eirene.text.refusals import denies_fault
from eirene.text.sentences import Sentence

HALLUCINATION_PROMPT = "hallucination"
TUNED_PROMPT = "hallucination_tuned"
"""What `eirene train critic` tunes a model on; the model carries it."""
NO_REFERENCES = "(none: go by what is well known, and mark no statement merely because no reference bears on it)"

_SURROGATE = re.compile("[\ud800-\udfff]")
_ITEM = re.compile(r"[ \t*_`]{0,4}(?:\(?(?P<n>\d{1,4})[.):]|[-*•])[ \t*_`]{0,4}(?P<said>\S.*)")
_LONGEST = 300


def hallucination_messages(
    request: FeedbackRequest, *, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[Message, ...]:
    """The chat messages that ask for `request.answer` with tags. The same request gives the same messages.

    References are the passages of the context, else the perspectives' arguments. `prompts` are what it is worded in;
    `prompt` takes the place of the one that asks. Raises `InputError` for an answer without sentences, `PromptError`
    for placeholders that do not fit.
    """
    if not request.sentences:
        raise InputError("the answer has no sentences to judge; give a text", field="answer")
    prompt, values = prompt or prompts.load(HALLUCINATION_PROMPT), _material(request, prompts)
    if "kinds" in prompt.placeholders:  # a tuned model has learnt them
        values["kinds"] = "\n".join(f"- {kind.name}: {kind.definition}." for kind in KINDS.values())
    return prompt.fill(values)


def _material(request: FeedbackRequest, prompts: PromptSet) -> dict[str, str]:
    """What is shown, and the mark between which it is."""
    question, shown = references_shown(request, prompts)
    return {"mark": _mark(request), "question": question, "references": shown, "answer": _shown_answer(request)}


def _shown_answer(request: FeedbackRequest) -> str:
    return break_control_tokens(escape_tags(request.answer))


def _mark(request: FeedbackRequest) -> str:
    """The mark hangs on what comes from outside alone: a reply is read without the words that asked for it."""
    asked = "\n".join(filter(None, [break_control_tokens(request.item.question), history_lines(request.item.history)]))
    return fence_word(_shown_answer(request), asked, _references(request))


def references_shown(request: FeedbackRequest, prompts: PromptSet = SHIPPED) -> tuple[str, str]:
    """The question, with what was said before it below it, and the references, numbered, one a line."""
    asked = break_control_tokens(request.item.question)
    if request.item.history:
        asked += "\n" + history_part(request.item.history, prompts)
    return asked, _references(request)


def _references(request: FeedbackRequest) -> str:
    references = [f"{n}. {break_control_tokens(text)}" for n, text in enumerate(_references_of(request.item), start=1)]
    return "\n".join(references) or NO_REFERENCES


def _references_of(item: Item) -> tuple[str, ...]:
    """What an answer is compared with: the passages of its context and the arguments of its perspectives."""
    arguments = [text for side in item.perspectives or () for text in side.arguments]
    return tuple([*(item.context or ()), *arguments])


def read_tagged_reply(text: str, request: FeedbackRequest, *, finish_reason: str | None = None) -> Sample:
    """The reply as a sample: its findings, and a sentence Incomplete where it has one; or invalid with a short cause.

    The reply must be a copy of the answer but for its tags: one that gives back less than six tenths of its words, or
    adds more than that, is invalid. What else it changed is ignored. Below the copy it may give a reason for each of
    its findings (`eirene.feedback_model.parsing.tagged`); where it was cut off there, the copy counts. A reason
    that denies its finding makes it invalid. Never raises.
    """
    is_cut = ending(finish_reason or "") == "length"
    try:
        if not is_cut:
            check_end(finish_reason)
        own = count_headings(request.answer)
        body = cleaned_instruct(text, quotable=(s.text for s in request.sentences), own_headings=own)
    except UnreadableError as error:
        return Sample(invalid=str(error), critic="hallucination")
    if not body.strip():
        return Sample(invalid="empty", critic="hallucination")
    body, mark = _SURROGATE.sub("\ufffd", body), _mark(request)
    copy, reasons = (cut_copy(body, mark), ()) if is_cut else split_reasons(body, mark, request.item)
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


def split_reasons(reply: str, mark: str, item: Item) -> tuple[str, tuple[str, ...]]:
    """The tagged copy in a reply, and the reasons below it, as many as it has pairs of kind tags, else none.

    The reasons stand behind the last line that holds nothing but `mark`, which occurs in no text that the model was
    shown. They are one line each, numbers of found passages in them resolved to ids (`eirene.feedback_model.citation`).
    What is no such list stays with the copy: a reply that repeats what it was shown has the mark in other places.
    """
    lines = reply.split("\n")
    while lines and (not lines[-1].strip() or _is_mark(lines[-1], mark)):
        lines.pop()
    at = max((n for n, line in enumerate(lines) if _is_mark(line, mark)), default=None)
    if at is None:
        return "\n".join(lines), ()
    copy, said = "\n".join(lines[:at]), _listed(lines[at + 1 :])
    found = parse_tagged(copy, tidy=True).findings if said else ()
    if not found or any(parse_tagged(reason).findings for reason in said):
        return "\n".join(lines), ()
    if len(said) != len(found) or len({f.start for f in found}) < len(found):  # which is whose is not beyond doubt
        return copy, ()
    return copy, tuple(resolved(_short(reason), item) for reason in said)


def cut_copy(reply: str, mark: str) -> str:
    """The copy in a reply that was cut off below it, before its reasons were whole; blank where that cannot be told."""
    lines = reply.split("\n")
    return "\n".join(lines[: max((n for n, line in enumerate(lines) if _is_mark(line, mark)), default=0)])


def _listed(lines: Sequence[str]) -> list[str]:
    """The entries of a list, numbered from 1 or with bullets; none where the lines are something else."""
    found = [_ITEM.fullmatch(line) for line in lines if line.strip()]
    entries = [entry for entry in found if entry is not None]
    in_order = all(entry["n"] in (None, str(n)) for n, entry in enumerate(entries, start=1))
    return [entry["said"] for entry in entries] if in_order and len(entries) == len(found) else []


def _is_mark(line: str, mark: str) -> bool:
    return line.strip(" \t*_`") == mark


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[:_LONGEST].rsplit(" ", 1)[0] + " ..."
