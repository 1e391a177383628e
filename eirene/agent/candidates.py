"""Tells a rewrite that is worth scoring from one that is not: empty, refusing, unchanged or already rejected."""

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


def unusable(candidate: str, *, best: str, rejected: Iterable[str]) -> str | None:
    """Why `candidate` is a rejected round without any score, or None if it may be scored."""
    if not candidate.strip():
        return "the rewrite is empty"
    if candidate.strip() == best.strip():
        return "the refiner returned the text unchanged"
    if any(candidate.strip() == r.strip() for r in rejected):
        return "the rewrite repeats one that was already rejected"
    if _is_refusal(candidate) and not _is_refusal(best):
        return "the reply is a refusal, not a rewrite"
    return None


def _is_refusal(text: str) -> bool:
    return len(text.split()) <= _REFUSAL_MAX_WORDS and _REFUSAL.match(text) is not None
