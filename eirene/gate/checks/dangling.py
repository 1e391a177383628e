"""Dangling check: what stays leans on a sentence that was taken out ("Half of them were oaks."), or is one too few."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
from eirene.text.leaning import announced, is_part, refers

_MOST_COUNTED = 10


def dangling(case: EditCase) -> Iterator[Objection]:
    """Objects to removals after which an unchanged sentence goes on with nothing.

    That is one which begins with a part of what was named ("The latter"), and one at the beginning of the text that
    begins with any word for what was named ("They"). So is a sentence that an earlier one counts ("There are three
    reasons."). In the text before, each stood where it made sense.
    """
    stood = sorted((e.before, n) for n, e in enumerate(case.edits) if e.before is not None)
    first = min((e.after for e in case.edits if e.after is not None), default=None)
    follows: int | None = None
    for i in range(len(stood) - 1, -1, -1):
        n = stood[i][1]
        if case.edits[n].kind != "removed":
            follows = n
        elif follows is not None and _hangs(case, follows, is_first=case.edits[follows].after == first):
            yield Objection(n, f"leaves without what it goes on with: {quoted(case.new(case.edits[follows]))}")
        elif _is_counted(case, [n for _, n in stood[max(0, i - _MOST_COUNTED) : i + 1]]):
            yield Objection(n, "leaves fewer than the text announces")


def _hangs(case: EditCase, n: int, *, is_first: bool) -> bool:
    text = case.new(case.edits[n]).strip()
    return case.edits[n].kind == "kept" and (is_part(text) or (is_first and refers(text)))


def _is_counted(case: EditCase, edits: Sequence[int]) -> bool:
    """Whether one of the unchanged sentences among these edits counts the last one in."""
    earlier = [case.old(case.edits[n]) if case.edits[n].kind == "kept" else "" for n in edits[:-1]]
    return announced([*earlier, case.old(case.edits[edits[-1]])], len(earlier))
