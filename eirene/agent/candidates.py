"""Tells a rewrite that is worth scoring from one that is not: empty, refusing, unchanged or already rejected."""

from __future__ import annotations

from collections.abc import Iterable

from eirene.refusals import opens_as_refusal


def unusable(candidate: str, *, best: str, rejected: Iterable[str]) -> str | None:
    """Why `candidate` is a rejected round without any score, or None if it may be scored."""
    if not candidate.strip():
        return "the rewrite is empty"
    if candidate.strip() == best.strip():
        return "the refiner returned the text unchanged"
    if any(candidate.strip() == r.strip() for r in rejected):
        return "the rewrite repeats one that was already rejected"
    # Only a text that does not share it with the original: an answer about refusals may well begin so.
    if opens_as_refusal(candidate) and not opens_as_refusal(best):
        return "the reply is a refusal, not a rewrite"
    return None
