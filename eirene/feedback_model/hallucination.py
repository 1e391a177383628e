"""The critic of hallucinations on a model: its two forms, a copy of the answer with tags and JSON by sentence.

Reasons stand below the tagged copy, behind a line that no text which the model was shown can forge.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind, Sample
from eirene.core.errors import InputError
from eirene.core.findings.kinds import KINDS, REMOVED, REPLACED, finding_of
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.findings.tags import escape_tags, parse_tagged
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import plain, resolved
from eirene.feedback_model.finding_vote import sample_of
from eirene.feedback_model.reply import check_end
from eirene.feedback_model.request import LONGEST_REASON, LONGEST_WORDS, schema_by_sentence
from eirene.models.replies import ending
from eirene.models.reply_text import UnreadableError, cleaned_instruct, count_headings
from eirene.models.structured import ReplyForm, choice_schema, json_object, object_schema, text_schema
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word, one_line
from eirene.prompts.history import history_lines, history_part
from eirene.prompts.material import numbered_lines
from eirene.text.quoting import one_line as shortened
from eirene.text.refusals import denies_fault
from eirene.text.sentences import Sentence

HALLUCINATION_PROMPT = "hallucination"
HALLUCINATION_JSON_PROMPT = "hallucination_json"
NO_REFERENCES = "(none: go by what is well known, and mark no statement merely because no reference bears on it)"
_NO_FAULT = "none"

_SURROGATE = re.compile("[\ud800-\udfff]")
_ITEM = re.compile(r"[ \t*_`]{0,4}(?:\(?(?P<n>\d{1,4})[.):]|[-*•])[ \t*_`]{0,4}(?P<said>\S.*)")
_LONGEST = 300


def hallucination_messages(
    request: FeedbackRequest, *, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[Message, ...]:
    """The chat messages that ask for `request.answer` with tags. The same request gives the same messages.

    References are the evidence and the perspectives' arguments. `prompts` are what it is worded in;
    `prompt` takes the place of the one that asks. Raises `InputError` for an answer without sentences, `PromptError`
    for placeholders that do not fit.
    """
    if not request.sentences:
        raise InputError("the answer has no sentences to judge; give a text", field="answer")
    prompt = prompt or prompts.load(HALLUCINATION_PROMPT)
    question, references = _question(request, prompts), _references(request)
    values = {"mark": _mark(request), "question": question, "references": references, "answer": _shown_answer(request)}
    if "kinds" in prompt.placeholders:  # a tuned model has learnt them
        values["kinds"] = _kinds()
    return prompt.fill(values)


def hallucination_form(request: FeedbackRequest, prompts: PromptSet = SHIPPED) -> ReplyForm | None:
    """The JSON of a critique of hallucinations, one entry a sentence; None for an answer of too many sentences."""
    words, reason = text_schema(LONGEST_WORDS), text_schema(LONGEST_REASON)
    shapes = [
        object_schema({"fault": choice_schema([_NO_FAULT])}),
        object_schema({"fault": choice_schema(sorted(REPLACED)), "words": words, "right": words, "reason": reason}),
        object_schema({"fault": choice_schema(sorted(REMOVED)), "words": words, "reason": reason}),
    ]
    schema = schema_by_sentence(request, shapes)
    if schema is None:
        return None
    shown = {"statements": numbered_lines(request.sentences), "question": _question(request, prompts)}
    shown["references"] = _references(request)
    values = {**shown, "mark": fence_word(*shown.values()), "kinds": _kinds(), "last": str(len(request.sentences))}
    return ReplyForm.of("faults", schema, prompts.load(HALLUCINATION_JSON_PROMPT).fill(values))


def _kinds() -> str:
    return "\n".join(f"- {kind.name}: {kind.definition}." for kind in KINDS.values())


def _shown_answer(request: FeedbackRequest) -> str:
    return break_control_tokens(escape_tags(request.answer))


def _mark(request: FeedbackRequest) -> str:
    """The mark hangs on what comes from outside alone: a reply is read without the words that asked for it."""
    asked = "\n".join(filter(None, [break_control_tokens(request.item.question), history_lines(request.item.history)]))
    return fence_word(_shown_answer(request), asked, _references(request))


def _question(request: FeedbackRequest, prompts: PromptSet) -> str:
    """The question, with what was said before it below it."""
    asked = break_control_tokens(request.item.question)
    return f"{asked}\n{history_part(request.item.history, prompts)}" if request.item.history else asked


def _references(request: FeedbackRequest) -> str:
    """What an answer is compared with: the evidence, and the arguments of its perspectives, numbered."""
    arguments = [text for side in request.item.perspectives or () for text in side.arguments]
    texts = enumerate([*(found.text for found in request.shown.sentences), *arguments], start=1)
    return "\n".join(f"{n}. {break_control_tokens(text)}" for n, text in texts) or NO_REFERENCES


def read_hallucinations(text: str, request: FeedbackRequest, finish_reason: str | None = None) -> Sample:
    """A reply in either form as a sample: its findings, and a sentence Incomplete where it has one; or invalid with a
    short cause. Never raises.
    """
    entries = json_object(text)
    try:
        if entries and all(key.isdecimal() for key in entries):
            return sample_of(_of_entries(entries, request), request.sentences)
        return sample_of(_of_copy(text, request, finish_reason), request.sentences)
    except UnreadableError as error:
        return Sample(invalid=str(error), critic="hallucination")


def _of_entries(entries: Mapping[str, Any], request: FeedbackRequest) -> Iterator[Finding]:
    """The findings of the JSON form: one entry a sentence. Words that it does not have mark the whole sentence."""
    for n, sentence in enumerate(request.sentences, start=1):
        if str(n) not in entries:
            raise UnreadableError(f"missing: sentence {n}")
        finding = _finding(entries[str(n)], sentence, n, request)
        if finding is not None:
            yield finding
    # Python reads no number of thousands of digits.
    extra = next((key for key in entries if not 1 <= int(key[:6]) <= len(request.sentences)), None)
    if extra is not None:
        raise UnreadableError(f"extra: sentence {extra[:20]}")


def _finding(entry: object, sentence: Sentence, n: int, request: FeedbackRequest) -> Finding | None:
    fault = entry.get("fault") if isinstance(entry, dict) else None
    if fault == _NO_FAULT:
        return None
    if not isinstance(entry, dict) or fault not in HALLUCINATIONS:
        raise UnreadableError(f"no verdict: sentence {n}")
    kind: HallucinationKind = fault
    said = {key: " ".join(value.split()) for key, value in entry.items() if isinstance(value, str)}
    reason = said.get("reason", "")
    if denies_fault(reason):
        raise UnreadableError(f"contradiction: the reason of sentence {n} says that there is no error")
    start, end = _place(said.get("words", ""), sentence)
    edit: str | None = ""
    if kind in REPLACED:  # by what, is known of the words alone
        edit = None if (start, end) == (sentence.text_start, sentence.text_end) else said.get("right") or None
    finding = finding_of(kind, start, end, text=request.answer, edit=edit)
    return finding.model_copy(update={"reason": resolved(reason, request.shown.ids)}) if reason else finding


def _place(words: str, sentence: Sentence) -> tuple[int, int]:
    """Where the words stand in the answer: in the sentence, whatever their case; else the whole sentence."""
    at = sentence.text.find(words) if words else -1
    if words and at < 0 and len(sentence.text.casefold()) == len(sentence.text):
        at = sentence.text.casefold().find(words.casefold())
    if at < 0:
        return sentence.text_start, sentence.text_end
    return sentence.text_start + at, sentence.text_start + at + len(words)


def _of_copy(text: str, request: FeedbackRequest, finish_reason: str | None) -> Sequence[Finding]:
    """The findings of a copy of the answer with tags. What else the copy changed is ignored.

    One that gives back less than six tenths of the answer's words, or adds more than that, is no copy. Below it there
    may be a reason for each finding; where it was cut off there, the copy counts.
    """
    is_cut = ending(finish_reason or "") == "length"
    if not is_cut:
        check_end(finish_reason)
    own = count_headings(request.answer)
    body = cleaned_instruct(text, quotable=(s.text for s in request.sentences), own_headings=own)
    if not body.strip():
        raise UnreadableError("empty")
    body, mark = _SURROGATE.sub("\ufffd", body), _mark(request)
    copy, reasons = (cut_copy(body, mark), ()) if is_cut else split_reasons(body, mark, request.shown.ids)
    read = findings_in_reply(copy, request.answer, reasons=reasons)
    if read.no_copy is not None:
        raise UnreadableError("cut off" if is_cut else read.no_copy)
    denied = next((n for n, reason in enumerate(reasons, start=1) if denies_fault(reason)), None)
    if denied is not None:
        raise UnreadableError(f"contradiction: reason {denied} says that there is no error")
    if reasons:
        return read.findings
    return [f.model_copy(update={"reason": plain(f.reason, request.item)}) for f in read.findings]  # of quotations


def split_reasons(reply: str, mark: str, ids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The tagged copy in a reply, and the reasons below it, as many as it has pairs of kind tags, else none.

    The reasons stand behind the last line that holds nothing but `mark`, which occurs in no text that the model was
    shown. They are one line each, numbers of evidence in them resolved to `ids` (`eirene.feedback_model.citation`).
    What is no such list stays with the copy: a reply that repeats what it was shown has the mark in other places.
    """
    lines = reply.split("\n")
    while lines and (not lines[-1].strip() or _is_mark(lines[-1], mark)):
        lines.pop()
    at = _last_mark(lines, mark)
    if at is None:
        return "\n".join(lines), ()
    copy, said = "\n".join(lines[:at]), _listed(lines[at + 1 :])
    found = parse_tagged(copy, tidy=True).findings if said else ()
    if not found or any(parse_tagged(reason).findings for reason in said):
        return "\n".join(lines), ()
    if len(said) != len(found) or len({f.start for f in found}) < len(found):  # which is whose is not beyond doubt
        return copy, ()
    return copy, tuple(resolved(shortened(one_line(reason), _LONGEST), ids) for reason in said)


def cut_copy(reply: str, mark: str) -> str:
    """The copy in a reply that was cut off below it, before its reasons were whole; blank where that cannot be told."""
    lines = reply.split("\n")
    return "\n".join(lines[: _last_mark(lines, mark) or 0])


def _last_mark(lines: Sequence[str], mark: str) -> int | None:
    return max((n for n, line in enumerate(lines) if _is_mark(line, mark)), default=None)


def _is_mark(line: str, mark: str) -> bool:
    return line.strip(" \t*_`") == mark


def _listed(lines: Sequence[str]) -> list[str]:
    """The entries of a list, numbered from 1 or with bullets; none where the lines are something else."""
    found = [_ITEM.fullmatch(line) for line in lines if line.strip()]
    entries = [entry for entry in found if entry is not None]
    in_order = all(entry["n"] in (None, str(n)) for n, entry in enumerate(entries, start=1))
    return [entry["said"] for entry in entries] if in_order and len(entries) == len(found) else []
