"""Outcome of a run in words: what of the given is said and missing, what a rewrite mended, and what is still wrong.

A record does not hold what was given: an argument that a detector scores has its text from the item, else its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record
from eirene.core.scores import Scores
from eirene.text.quoting import quoted
from eirene.text.sentences import split_sentences
from eirene.views.critiques import ShownCritique, ShownSentence
from eirene.views.diff import DiffLine, changes_in_words
from eirene.views.facts import Number, rewrites, rounded
from eirene.views.faults import MISSING

Bearing = Callable[[Item], Sequence[str]]
"""The sentences of an item's passages that bear on its question, as `alignment` numbers them."""

OF_SENTENCES = frozenset({"alignment"})
"""Detectors that number sentences of the passages where others number passages."""
_SAID = 0.5
"""Coverage error of an argument under which it counts as said, as the gate has it."""
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """A given argument and its coverage error. Its number stands for a text that is not at hand: not `in_words`."""

    detector: str
    group: str
    text: str
    before: Number
    after: Number
    advisory: bool
    in_words: bool


@dataclass(frozen=True, slots=True)
class GivenTexts:
    """The texts by (detector, group, number). Of passages, `alignment` scores sentences and not whole passages."""

    item: Item | None
    bearing: Bearing | None = None

    def of(self, detector: str, scores: Scores) -> list[str | None]:
        """The text of each scored argument; None where it is not known."""
        given = None if self.item is None else grounding_for(self.item)
        if self.item is None or given is None or given.source == "derived":
            return [None] * len(scores.arguments)
        if given.source == "context" and detector in OF_SENTENCES:
            return self._of_sentences(self.item, len(scores.arguments))
        texts = {(group.name, n): text for group in given.groups for n, text in enumerate(group.arguments, start=1)}
        return [texts.get((a.group, a.n)) for a in scores.arguments]

    def _of_sentences(self, item: Item, count: int) -> list[str | None]:
        every = dict.fromkeys(s.text for text in item.context or () for s in split_sentences(text) if s.text)
        found: Sequence[str] = tuple(every)
        if len(found) != count and self.bearing is not None:
            found = self.bearing(item)
        return list(found) if len(found) == count else [None] * count


def arguments_of(record: Record, given: GivenTexts) -> Iterator[ShownArgument]:
    """A line for each argument that a detector scores: before and after. Those that decide nothing come last."""
    detectors = sorted(record.scores.original.items(), key=lambda found: found[0] in record.advisory)
    for name, before in detectors:
        after = record.scores.final.get(name)
        known = {} if after is None else {(a.group, a.n): rounded(a.coverage) for a in after.arguments}
        for a, text in zip(before.arguments, given.of(name, before), strict=True):
            numbers = rounded(a.coverage), known.get((a.group, a.n))
            what = "argument" if a.group != "context" else "sentence" if name in OF_SENTENCES else "passage"
            yield ShownArgument(name, a.group, text or f"{what} {a.n}", *numbers, name in record.advisory, bool(text))


@dataclass(frozen=True, slots=True)
class ShownOpen:
    """Something that is still wrong with the answer that is shown: a word, the text it is about, and why."""

    word: str
    text: str
    why: tuple[str, ...]


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
    for group, text, in_words in dict.fromkeys((a.group, a.text, a.in_words) for a in said):
        yield f"Now said{_of(group)}: {quoted(text, _LONGEST) if in_words else text}"


class Found:
    """What the first critique says of the original's sentences, for the lines of a comparison."""

    def __init__(self, critiques: Sequence[ShownCritique]) -> None:
        sentences = critiques[0].sentences if critiques and critiques[0].round == 1 else ()
        self._faults = {s.text: tuple(f.word for f in s.faults) for s in reversed(sentences)}
        gaps = (gap for s in sentences for gap in s.gaps if gap.label == MISSING)
        self._missing = {_bare(gap.edit) for gap in gaps} - {""}

    def of(self, line: DiffLine) -> tuple[str, ...]:
        """The words for a line's sentence; `missing` where it is new and says what was missing."""
        old, new = ("".join(p.text for p in line.pieces if p.kind != kind).strip() for kind in ("new", "gone"))
        if line.kind == "new":
            return ("missing",) if any(text in new.casefold() for text in self._missing) else ()
        return self._faults.get(old, ())


def still_open(
    record: Record, critiques: Sequence[ShownCritique], arguments: Sequence[ShownArgument]
) -> Iterator[ShownOpen]:
    """What is still missing from the answer that is shown, and which of its sentences are at fault.

    What is missing is what a score that decides calls missing, and of an original that stands what its critique calls
    so. A sentence counts as it was judged last.
    """
    standing = list(_standing(record, critiques))
    gaps = [] if record.status == "accepted" else [g for s in standing for g in s.gaps if g.label == MISSING]
    scored = [a for a in arguments if not a.advisory and _is_missing(a.after) and (a.in_words or not gaps)]
    for group, text in dict.fromkeys((a.group, a.text) for a in scored):
        yield ShownOpen("missing", f"{_of(group).removeprefix(' ')}: {text}".removeprefix(": "), ())
    said = {_bare(a.text) for a in scored}
    yield from (ShownOpen("missing", gap.text, ()) for gap in gaps if _bare(gap.edit) not in said)
    yield from (ShownOpen(fault.word, s.text, fault.reasons) for s in standing for fault in s.faults)


def _standing(record: Record, critiques: Sequence[ShownCritique]) -> Iterator[ShownSentence]:
    """The judged sentences that are in the answer that is shown; of several alike as many as it has."""
    last: dict[tuple[str, int], ShownSentence] = {}
    for critique in critiques:
        seen = Counter[str]()
        for sentence in critique.sentences:
            seen[sentence.text] += 1
            last[sentence.text, seen[sentence.text]] = sentence
    there = Counter(s.text for s in split_sentences(record.answer))
    yield from (sentence for (text, count), sentence in last.items() if there[text] >= count)


def _bare(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def _is_missing(error: Number) -> bool:
    return error is not None and error >= _SAID


def _is_said(error: Number) -> bool:
    return error is not None and error < _SAID


def _of(group: str) -> str:
    return "" if group == "context" else f" for {quoted(group, 80)}"
