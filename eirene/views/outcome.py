"""Outcome of a run in words: what is shown and why, what a rewrite mended, what was undone, what is still wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from eirene.core.records import Record
from eirene.text.quoting import quoted
from eirene.views.changes import changes_in_words
from eirene.views.critiques import ShownCritique, ShownSentence
from eirene.views.diff import DiffLine
from eirene.views.edits import edits_undone
from eirene.views.facts import rewrites
from eirene.views.faults import MISSING
from eirene.views.given import Number, ShownArgument

_SAID = 0.5
"""Coverage error of an argument under which it counts as said, as the gate has it."""
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ShownOpen:
    """Something that is still wrong with the answer that is shown: a word, the text it is about, and why."""

    word: str
    text: str
    why: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownUndone:
    """An edit that the gate undid, why, and which of its checks says so; `round` from 1."""

    round: int
    what: str
    why: str
    check: str


def summary_of(record: Record, lines: Sequence[DiffLine]) -> str:
    """What changed in a few words, for a line of a list."""
    if record.status == "accepted":
        return changes_in_words(lines) or "white space alone"
    if record.status == "failed" and record.error is not None:
        return f"nothing: {record.error.kind}"
    tried = sum(rewrite is not None for rewrite in rewrites(record))
    why = {"complete": "no fault found", "abstained": "not judged"}.get(record.status, "no rewrite")
    return f"nothing: {tried} rewrite{'' if tried == 1 else 's'} rejected" if tried else f"nothing: {why}"


def now_said(record: Record, arguments: Iterable[ShownArgument]) -> Iterator[str]:
    """The arguments that the accepted rewrite says and the original did not, by the scores that decide."""
    if record.status != "accepted":
        return
    said = [a for a in arguments if not a.advisory and _is_missing(a.before) and _is_said(a.after)]
    for group, text in dict.fromkeys((a.group, a.text) for a in said):
        yield f"Now said{_of(group)}: {quoted(text, _LONGEST)}"


def faults_of_line(line: DiffLine, critiques: Sequence[ShownCritique]) -> tuple[str, ...]:
    """What the first critique says of the original's sentence; of one that is new, whether it was missing."""
    old, new = ("".join(p.text for p in line.pieces if p.kind != kind).strip() for kind in ("new", "gone"))
    sentences = critiques[0].sentences if critiques and critiques[0].round == 1 else ()
    if line.kind == "new":
        wanted = (gap.edit.strip().rstrip(".").casefold() for s in sentences for gap in s.gaps if gap.label == MISSING)
        return ("missing",) if any(text and text in new.casefold() for text in wanted) else ()
    return next((tuple(f.word for f in s.faults) for s in sentences if s.text == old), ())


def undone_in(record: Record) -> Iterator[ShownUndone]:
    """The edits that were undone, of every round."""
    for n, round_ in enumerate(record.rounds, start=1):
        yield from (ShownUndone(n, edit.what, edit.why, edit.check) for edit in edits_undone(round_))


def still_open(
    record: Record, critiques: Sequence[ShownCritique], arguments: Sequence[ShownArgument]
) -> Iterator[ShownOpen]:
    """What is still missing from the answer that is shown, and which of its sentences are at fault.

    What is missing is what a score that decides calls missing; where none does, what the critique of an original that
    stands calls so. A sentence counts as it was judged last.
    """
    missing = [a for a in arguments if not a.advisory and _is_missing(a.after)]
    for group, text in dict.fromkeys((a.group, a.text) for a in missing):
        yield ShownOpen("missing", f"{_of(group).removeprefix(' ')}: {text}".removeprefix(": "), ())
    is_scored = any(not a.advisory and a.after is not None for a in arguments)
    last: dict[tuple[str, int], ShownSentence] = {}
    for critique in critiques:
        seen = Counter[str]()
        for sentence in critique.sentences:
            seen[sentence.text] += 1
            last[sentence.text, seen[sentence.text]] = sentence
    for (text, count), sentence in last.items():
        if record.answer.count(text) < count:
            continue
        for fault in sentence.faults:
            yield ShownOpen(fault.word, text, fault.reasons)
        if record.status != "accepted" and not is_scored:
            gaps = (gap for gap in sentence.gaps if gap.label == MISSING)
            yield from (ShownOpen("missing", gap.text, ()) for gap in gaps)


def _is_missing(error: Number) -> bool:
    return error is not None and error >= _SAID


def _is_said(error: Number) -> bool:
    return error is not None and error < _SAID


def _of(group: str) -> str:
    return "" if group == "context" else f" for {quoted(group, 80)}"
