"""What in the text around the verdicts makes them doubtful: refusals, examples, talk of instructions, afterthoughts."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eirene.feedback_model.reading_claims import bracketed_tags
from eirene.feedback_model.reading_clean import UnreadableError

_SHOWN = 2000  # characters of a reply without a verdict that are looked at for its cause
_REFUSAL = re.compile(
    r"\b(?:i|we)(?:['’]m| am| are|['’]re)? ?"
    r"(?:can(?:['’]t|not| not)|won['’]t|will not|(?:am |are )?(?:un|not )able to|must decline|refuse|decline)\W{1,3}"
    r"(?:to )?(?:\w{1,12} ){0,2}?(?:help|assist|comply|fulfil|evaluate|judge|rate|assess|examine|provide|continue|do"
    r"|answer|give|process|critique|review)\b"
    r"|\bi must decline\b|\bas an ai\b[^.]{0,60}\b(?:cannot|can['’]t|unable)\b"
    r"|\b(?:ich kann|je ne peux pas|no puedo|non posso|não posso|ik kan)\b[^.]{0,40}"
    r"\b(?:nicht|aider|évaluer|ayudar|evaluar|aiutar|valutare|ajudar|avaliar|niet)\b"
    r"|я не могу|我(?:无法|不能)|申し訳ありません|できません|도와드릴 수 없|لا (?:أستطيع|يمكنني)",
    re.IGNORECASE,
)
_TALK_OF_ORDERS = re.compile(
    r"(?<!you )\b(?:tells?|told|asks?|asked|instructs?|instructed|wants?|orders?|tr(?:ies|ied))"
    r" (?:me|us|the (?:model|reader)) to\b|\bprompt injection\b|\binjected\b"
    r"|\b(?:ignore|disregard) (?:the|all|any|previous|prior|above)\b|<!--|\bi was (?:told|instructed|ordered) to\b"
    r"|\b(?:answer|statement|text|material)(?: \d{1,4})? (?:says|claims|reads|demands|quotes)\b.{0,80}:$",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"(?:\b(?:examples?|e\.g\.|for instance|template|hypothetical(?:ly)?|sample (?:output|reply)"
    r"|would (?:be|look|read|have)|beispiel|exemple|ejemplo|esempio|exemplo|пример)\b|例).{0,80}[:：]\W{0,4}$"
    r"|^\W{0,6}(?:(?:an?|the|for) )?(?:example|template|sample|beispiel|exemple|ejemplo|esempio|exemplo|пример|例)"
    r"\W{0,4}$",
    re.IGNORECASE,
)
_RETRACTS = re.compile(
    r"^\W{0,6}(?:correction|corrected|errata|erratum|on second thoughts?|wait|revised|revision|updated?|scratch that"
    r"|i (?:was wrong|retract|take))\b"
    r"|\b(?:not my (?:verdict|evaluation|judgement|judgment)|disregard (?:this|that|these))\b",
    re.IGNORECASE,
)


def check_surroundings(before: Sequence[str], after: Sequence[str]) -> None:
    """Raises `UnreadableError` where the lines around the verdicts say that they are not meant, or not all."""
    for line in (*before, *after):
        told = line[:_SHOWN]
        if _REFUSAL.search(told):
            raise UnreadableError("refusal")
        if _TALK_OF_ORDERS.search(told):
            raise UnreadableError("ambiguous: the reply speaks of instructions in the answer")
    for line in before:
        if _EXAMPLE.search(line[-200:]):
            raise UnreadableError("example: the verdicts stand under an example")
    for line in after:
        if _RETRACTS.search(line[:_SHOWN]) or bracketed_tags(line):
            raise UnreadableError("ambiguous: the reply comes back to its verdicts")


def why_nothing(text: str, *, repeated: int) -> str:
    """The cause for a reply without any verdict."""
    if repeated:
        return "echo: the reply repeats the answer"
    return "refusal" if _REFUSAL.search(text[:_SHOWN]) else "no verdict"
