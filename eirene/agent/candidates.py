"""Tells a rewrite that is worth scoring from one that is not: empty, too long, refusing, unchanged, rejected before."""

from __future__ import annotations

import re
from collections.abc import Iterable

# The first words of a refusal. Only a text that is short and does not share them with the original counts as one:
# an answer about refusals may well begin so.
_REFUSAL = re.compile(
    r"\W*(?:i(?:['’]m| am) (?:very )?sorry|sorry\b|i (?:can(?:no|['’])t|am unable|am not able|won['’]t|will not)\b|"
    r"as an ai\b|unfortunately, i (?:can|am)|i apologi[sz]e)",
    re.IGNORECASE,
)
_REFUSAL_MAX_WORDS = 80

_TIMES, _MORE = 4, 4_000
"""A rewrite may have so many times the characters of the answer, or so many more: a model that runs on would have the
detectors read for minutes what nobody wants to read."""


def unusable(candidate: str, *, answer: str, best: str, rejected: Iterable[str]) -> str | None:
    """Why `candidate` is a rejected round without any score, or None if it may be scored.

    `answer` is the original, `best` the text that was to be rewritten.
    """
    if not candidate.strip():
        return "the rewrite is empty"
    most = max(_TIMES * len(answer), len(answer) + _MORE)
    if len(candidate) > most:
        return f"the rewrite has {len(candidate)} characters; for an answer of {len(answer)} at most {most} are read"
    if candidate.strip() == best.strip():
        return "the refiner returned the text unchanged"
    if any(candidate.strip() == r.strip() for r in rejected):
        return "the rewrite repeats one that was already rejected"
    if _is_refusal(candidate) and not _is_refusal(best):
        return "the reply is a refusal, not a rewrite"
    return None


def _is_refusal(text: str) -> bool:
    return len(text.split()) <= _REFUSAL_MAX_WORDS and _REFUSAL.match(text) is not None
