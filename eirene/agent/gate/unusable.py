"""Unusable rewrites: empty, too long, refusing, unchanged or rejected before; none of them is checked or scored."""

from __future__ import annotations

from collections.abc import Iterable

from eirene.text.refusals import opens_as_refusal

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
    # Only a text that does not share it with the original: an answer about refusals may well begin so.
    if opens_as_refusal(candidate) and not opens_as_refusal(best):
        return "the reply is a refusal, not a rewrite"
    return None
