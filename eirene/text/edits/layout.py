"""Leads: the white space and the list markers between sentences, where some of the sentences went or came back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from eirene.text.matching import Span

_NUMBERED = re.compile(r"(?P<open>[ \t]*\(?)(?P<number>\d{1,3})(?P<close>[.)])[ \t]+")


class TextSide:
    """One of two texts: its sentences in order, by the index of their edit, and what stands before each."""

    def __init__(self, text: str, spans: Mapping[int, Span]) -> None:
        self.order = sorted(spans, key=lambda n: spans[n])
        self.rank = {n: k for k, n in enumerate(self.order)}
        ends = [0, *(spans[n][1] for n in self.order)]
        starts = [*(spans[n][0] for n in self.order), len(text)]
        self.leads = [text[end:start] for end, start in zip(ends, starts, strict=True)]
        """What stands before each sentence; the last stands after all."""


def joined_lead(leads: Sequence[str], *, renumber: bool) -> str:
    """The lead of a sentence when those before it are dropped, whose leads come first: paragraphs stay apart.

    A sentence that went on in the line of a dropped one takes over its place; a list item takes over its number.
    """
    joined = leads[-1]
    for lead in reversed(leads[:-1]):
        head, marker = _split(joined)
        if not head:
            joined = lead or joined
            continue
        before, dropped = _split(lead)
        if _breaks(before) > _breaks(head):
            head = before
        found, next_found = _NUMBERED.fullmatch(dropped), _NUMBERED.fullmatch(marker)
        if renumber and found and next_found and int(next_found["number"]) == int(found["number"]) + 1:
            marker = _with_number(marker, int(found["number"]))
        joined = head + marker
    return joined


def opening_lead(first: str, joined: str) -> str:
    """A lead for the beginning of a text that began with the lead `first`."""
    head, marker = _split(joined)
    return _split(first)[0] + marker if head else first


def has_break(lead: str) -> bool:
    """Whether a sentence with this lead begins a line."""
    return bool(_split(lead)[0])


def lead_within(first: str, following: str) -> str:
    """A lead for what began its text with the lead `first`, after a sentence that had `following` after it."""
    marker, head = _split(first)[1].lstrip(), _split(following)[0]
    return (head or "\n") + marker if marker else head or " "


def same_marker(a: str, b: str) -> bool:
    """Whether two leads have the same list marker, whatever its number."""
    (_, left), (_, right) = _split(a), _split(b)
    return re.sub(r"\d+", "1", left).strip() == re.sub(r"\d+", "1", right).strip()


def is_regular(leads: Sequence[str]) -> bool:
    """Whether the numbered lists count one by one, or say the same number each time."""
    return all(_is_lazy(run) or all(b == a + 1 for a, b in pairwise(run.values())) for run in _runs(leads))


def is_numbered(leads: Sequence[str]) -> bool:
    """Whether there is a numbered list of several items."""
    return any(len(run) > 1 for run in _runs(leads))


def renumbered_leads(leads: Sequence[str]) -> list[str]:
    """The leads with numbered lists counting one by one from their first number."""
    result = list(leads)
    for run in _runs(leads):
        if not _is_lazy(run):
            first = next(iter(run.values()))
            for n, k in enumerate(run):
                head, marker = _split(result[k])
                result[k] = head + _with_number(marker, first + n)
    return result


def _is_lazy(run: Mapping[int, int]) -> bool:
    return len(run) > 1 and len(set(run.values())) == 1


def _runs(leads: Sequence[str]) -> list[dict[int, int]]:
    """The numbers of each numbered list, by the index of their lead; what is indented further breaks no list."""
    runs: list[dict[int, int]] = []
    form: tuple[str, str] | None = None
    for k, lead in enumerate(leads):
        head, marker = _split(lead)
        if k and not head:
            continue
        found = _NUMBERED.fullmatch(marker)
        if found and (found["open"], found["close"]) == form:
            runs[-1][k] = int(found["number"])
        elif form is None or _indent(marker) <= _indent(form[0]):
            form = (found["open"], found["close"]) if found else None
            runs += [{k: int(found["number"])}] if found else []
    return runs


def _indent(marker: str) -> int:
    return len(marker) - len(marker.lstrip(" \t"))


def _with_number(marker: str, number: int) -> str:
    return re.sub(r"\d+", str(number), marker, count=1)


def _split(lead: str) -> tuple[str, str]:
    """A lead up to its last line break, and what follows that: the indentation, the marker and a space."""
    at = max(lead.rfind("\n"), lead.rfind("\r")) + 1
    return lead[:at], lead[at:]


def _breaks(head: str) -> int:
    return len(head.splitlines())
