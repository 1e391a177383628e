"""Parses a model's reply as a critique: a sample, or an invalid sample with its cause where anything is in doubt.

Refusals, examples, talk of instructions and afterthoughts around the verdicts make them doubtful.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from eirene.core.critique import Sample
from eirene.feedback_model.parsing.contradiction import is_contradicted
from eirene.feedback_model.parsing.json import read_json
from eirene.feedback_model.parsing.lines import LineReader, quotes_answer
from eirene.feedback_model.parsing.verdict import StatementVerdict, answer_read, assign, bracketed_tags, settle
from eirene.models.replies import ending
from eirene.models.reply_text import UnreadableError, cleaned_instruct
from eirene.text.sentences import Sentence

# A reply far longer than any critique of that many sentences is a model that does not stop.
_ROOM = (20_000, 5_000)  # characters: for any reply, and more for each sentence
_LINES = (500, 100)
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON may spell half a pair, which no record can hold
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


def read_reply(text: str, sentences: Sequence[Sentence], *, finish_reason: str | None = None) -> Sample:
    """The reply as a sample: one tag a sentence and a reason for every Incomplete, or invalid with a short cause.

    `sentences` are the answer's, numbered by their place. `finish_reason` is the provider's word for why the reply
    ended; a reply cut off or withheld is invalid whatever it holds. Never raises; takes time linear in the reply.
    The causes begin with one of: empty, cut off, withheld, too long, refusal, no verdict, broken JSON, echo, example,
    ambiguous, conflict, contradiction, missing, extra, no reason.
    """
    try:
        claims = _read(text, sentences, finish_reason)
    except UnreadableError as error:
        return Sample(invalid=str(error))
    return Sample(
        tags=tuple(c.tag for c in claims),
        reasons=tuple(_SURROGATE.sub("\ufffd", c.reason or "") if c.tag == "Incomplete" else None for c in claims),
    )


def _read(text: str, sentences: Sequence[Sentence], finish_reason: str | None) -> list[StatementVerdict]:
    check_end(finish_reason)
    if not sentences:
        raise UnreadableError("extra: the answer has no sentences")
    answer = answer_read(sentences)
    statements, is_suspect = answer.statements, answer.is_suspect
    body = cleaned_instruct(text, quotable=(s.text for s in statements))
    if len(body) > _ROOM[0] + _ROOM[1] * len(statements) or body.count("\n") > _LINES[0] + _LINES[1] * len(statements):
        raise UnreadableError("too long")
    if not body.strip():
        raise UnreadableError("empty" if not text.strip() else "empty: nothing after the thinking")
    from_json, head, tail, is_broken = read_json(body, statements)
    reading = LineReader(answer).read(f"{head}\n{tail}")
    found = [*from_json, *reading.claims]
    if not found:
        raise UnreadableError("broken JSON" if is_broken else why_nothing(body, repeated=reading.repeated))
    if reading.claims:
        check_around(reading.before, reading.after)
    else:
        check_around(head.split("\n"), tail.split("\n"))
    claims = assign(found, len(statements), has_numbers=reading.has_numbers)
    if is_suspect:
        _check_suspect(found, claims)
    settled = settle(claims, len(statements))
    for claim in claims:  # all, not only those that were settled on
        if is_contradicted(claim.tag, claim.comment):
            raise UnreadableError(f"contradiction: sentence {claim.n}'s comment denies its tag")
    if (is_suspect or from_json) and quotes_answer(found, statements):
        raise UnreadableError("echo: the verdicts stand in the answer")
    return settled


def check_end(finish_reason: str | None) -> None:
    """Raises `UnreadableError` where the provider says that the reply was cut off or withheld."""
    ended = ending(finish_reason or "")
    if ended == "length":
        raise UnreadableError("cut off")
    if ended == "content_filter":
        raise UnreadableError("withheld")


def _check_suspect(found: Sequence[StatementVerdict], claims: Sequence[StatementVerdict]) -> None:
    """Where the answer holds tags, every line could quote it: only numbered verdicts in order, each once, are read."""
    if any(c.n is None for c in found):
        raise UnreadableError("ambiguous: verdicts without numbers, and the answer holds tags of its own")
    numbers = [c.n or 0 for c in claims]
    if any(after <= before for before, after in pairwise(numbers)):
        raise UnreadableError("ambiguous: verdicts out of order, and the answer holds tags of its own")


def check_around(before: Sequence[str], after: Sequence[str]) -> None:
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
