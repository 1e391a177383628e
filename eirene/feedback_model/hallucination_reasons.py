"""The reasons that a model writes below its tagged copy of an answer, behind a line that nobody can forge."""

from __future__ import annotations

import re
from collections.abc import Sequence

from eirene.fava.tags import parse_tagged
from eirene.feedback_model.asking import one_line
from eirene.feedback_model.citing import resolved
from eirene.records import Item

_ITEM = re.compile(r"[ \t*_`]{0,4}(?:\(?(?P<n>\d{1,4})[.):]|[-*•])[ \t*_`]{0,4}(?P<said>\S.*)")
_LONGEST = 300


def parted(reply: str, mark: str, item: Item) -> tuple[str, tuple[str, ...]]:
    """The tagged copy in a reply, and the reasons below it, as many as it has pairs of kind tags, else none.

    The reasons stand behind the last line that holds nothing but `mark`, which occurs in no text that the model was
    shown. They are one line each, numbers of found passages in them resolved to ids (`eirene.feedback_model.citing`).
    What is no such list stays with the copy: a reply that repeats what it was shown has the mark in other places.
    """
    lines = reply.split("\n")
    while lines and (not lines[-1].strip() or _is_mark(lines[-1], mark)):
        lines.pop()
    at = max((n for n, line in enumerate(lines) if _is_mark(line, mark)), default=None)
    if at is None:
        return "\n".join(lines), ()
    copy, said = "\n".join(lines[:at]), _listed(lines[at + 1 :])
    found = parse_tagged(copy, tidy=True).findings if said else ()
    if not found or any(parse_tagged(reason).findings for reason in said):
        return "\n".join(lines), ()
    if len(said) != len(found) or len({f.start for f in found}) < len(found):  # which is whose is not beyond doubt
        return copy, ()
    return copy, tuple(resolved(_short(reason), item) for reason in said)


def cut_copy(reply: str, mark: str) -> str:
    """The copy in a reply that was cut off below it, before its reasons were whole; blank where that cannot be told."""
    lines = reply.split("\n")
    return "\n".join(lines[: max((n for n, line in enumerate(lines) if _is_mark(line, mark)), default=0)])


def _listed(lines: Sequence[str]) -> list[str]:
    """The entries of a list, numbered from 1 or with bullets; none where the lines are something else."""
    found = [_ITEM.fullmatch(line) for line in lines if line.strip()]
    entries = [entry for entry in found if entry is not None]
    in_order = all(entry["n"] in (None, str(n)) for n, entry in enumerate(entries, start=1))
    return [entry["said"] for entry in entries] if in_order and len(entries) == len(found) else []


def _is_mark(line: str, mark: str) -> bool:
    return line.strip(" \t*_`") == mark


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[:_LONGEST].rsplit(" ", 1)[0] + " ..."
