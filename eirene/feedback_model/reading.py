"""Reads a model's reply as a critique. What is not beyond doubt a whole one is an invalid sample with its cause."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from eirene.critique import Sample
from eirene.feedback_model.reading_answer import answer_read
from eirene.feedback_model.reading_claims import Claim, assign, settle
from eirene.feedback_model.reading_clean import UnreadableError, without_frame
from eirene.feedback_model.reading_contradiction import is_contradicted
from eirene.feedback_model.reading_doubt import check_surroundings, why_nothing
from eirene.feedback_model.reading_json import read_json
from eirene.feedback_model.reading_lines import LineReader, quotes_answer
from eirene.sentences import Sentence

_CUT_OFF = frozenset({
    "length", "max_tokens", "max_output_tokens", "model_length", "token_limit", "context_length", "incomplete",
    "truncated", "model_context_window_exceeded",
})  # fmt: skip
# A reply far longer than any critique of that many sentences is a model that does not stop.
_ROOM = (20_000, 5_000)  # characters: for any reply, and more for each sentence
_LINES = (500, 100)
_SURROGATE = re.compile("[\ud800-\udfff]")  # JSON may spell half a pair, which no record can hold
_WITHHELD = frozenset({
    "content_filter", "content_filtered", "safety", "recitation", "blocklist", "prohibited_content", "spii",
    "guardrail_intervened", "refusal",
})  # fmt: skip


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


def _read(text: str, sentences: Sequence[Sentence], finish_reason: str | None) -> list[Claim]:
    check_end(finish_reason)
    if not sentences:
        raise UnreadableError("extra: the answer has no sentences")
    answer = answer_read(sentences)
    statements, is_suspect = answer.statements, answer.is_suspect
    body = without_frame(text, (s.text for s in statements))
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
        check_surroundings(reading.before, reading.after)
    else:
        check_surroundings(head.split("\n"), tail.split("\n"))
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


def is_cut_off(finish_reason: str | None) -> bool:
    """Whether the provider says that the reply was cut off."""
    return (finish_reason or "").strip().casefold() in _CUT_OFF


def check_end(finish_reason: str | None) -> None:
    """Raises `UnreadableError` where the provider says that the reply was cut off or withheld."""
    if is_cut_off(finish_reason):
        raise UnreadableError("cut off")
    if (finish_reason or "").strip().casefold() in _WITHHELD:
        raise UnreadableError("withheld")


def _check_suspect(found: Sequence[Claim], claims: Sequence[Claim]) -> None:
    """Where the answer holds tags, every line could quote it: only numbered verdicts in order, each once, are read."""
    if any(c.n is None for c in found):
        raise UnreadableError("ambiguous: verdicts without numbers, and the answer holds tags of its own")
    numbers = [c.n or 0 for c in claims]
    if any(after <= before for before, after in pairwise(numbers)):
        raise UnreadableError("ambiguous: verdicts out of order, and the answer holds tags of its own")
