"""Parses the JSON critique of hallucinations: one entry a sentence, its fault with the words, as a checked sample."""

from __future__ import annotations

from typing import Any

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind, Sample
from eirene.core.findings.kinds import REPLACED, finding_of
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import resolved
from eirene.feedback_model.parsing.tagged import sample_of
from eirene.models.reply_text import UnreadableError
from eirene.text.refusals import denies_fault
from eirene.text.sentences import Sentence


def read_fault_entries(entries: dict[str, Any], request: FeedbackRequest) -> Sample:
    """The entries, by the number of the sentence, as a sample; an invalid one with a short cause where they are not
    one a sentence, or say of a fault that it is none. Words that the sentence does not have mark the whole sentence.
    """
    try:
        findings = _findings(entries, request)
    except UnreadableError as error:
        return Sample(invalid=str(error), critic="hallucination")
    return sample_of(findings, request.sentences)


def is_fault_entries(entries: dict[str, Any]) -> bool:
    """Whether an object looks like the one asked for, well made or not."""
    return bool(entries) and all(key.isdecimal() for key in entries)


def _findings(entries: dict[str, Any], request: FeedbackRequest) -> list[Finding]:
    found: list[Finding] = []
    for n, sentence in enumerate(request.sentences, start=1):
        if str(n) not in entries:
            raise UnreadableError(f"missing: sentence {n}")
        finding = _finding(entries[str(n)], sentence, n, request)
        if finding is not None:
            found.append(finding)
    extra = next((key for key in entries if not 1 <= int(key) <= len(request.sentences)), None)
    if extra is not None:
        raise UnreadableError(f"extra: sentence {extra[:20]}")
    return found


def _finding(entry: object, sentence: Sentence, n: int, request: FeedbackRequest) -> Finding | None:
    fault = entry.get("fault") if isinstance(entry, dict) else None
    if fault == "none":
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
    return finding.model_copy(update={"reason": resolved(reason, request.item)}) if reason else finding


def _place(words: str, sentence: Sentence) -> tuple[int, int]:
    """Where the words stand in the answer: in the sentence, whatever their case; else the whole sentence."""
    at = sentence.text.find(words) if words else -1
    if words and at < 0 and len(sentence.text.casefold()) == len(sentence.text):
        at = sentence.text.casefold().find(words.casefold())
    if at < 0:
        return sentence.text_start, sentence.text_end
    return sentence.text_start + at, sentence.text_start + at + len(words)
