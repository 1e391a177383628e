"""Decisions on the edits of a rewrite: which were taken, which were undone, by which check and why."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from eirene.agent.gate.checks.base import Objection
from eirene.core.records import EditDecision
from eirene.text.edits import SentenceEdit
from eirene.text.matching import Span
from eirene.text.new_characters import CharacterEdit
from eirene.text.refusals import opens_as_refusal

Undo = dict[int, tuple[int, ...] | None]
"""Edits to be undone, by index: some of the changed words, or all of it (None)."""
Reasons = dict[int, list[tuple[str, Objection]]]
"""For each edit the objections to it, each with the name of its check."""


@dataclass(frozen=True)
class JudgedEdits:
    """The edits of a rewrite with what became of them.

    `written` is the rewrite as the refiner wrote it; `cleaned` the same without the `characters` that were taken out,
    to which the offsets of `edits` belong.
    """

    before: str
    written: str
    cleaned: str
    edits: Sequence[SentenceEdit]
    characters: Sequence[CharacterEdit]
    undo: Undo
    why: Reasons

    def decisions(self) -> Iterator[EditDecision]:
        """One for each edit, and for words of it that were undone; one for each run of characters taken out."""
        for character in self.characters:
            yield self._character(character)
        for n, edit in enumerate(self.edits):
            if edit.kind == "kept":
                continue
            undone = self.undo.get(n, ())
            yield self._sentence(n, edit, taken=undone is not None)
            for index in undone or ():
                yield self._words(n, index)

    def _character(self, edit: CharacterEdit) -> EditDecision:
        return EditDecision(
            kind="characters",
            before=None,
            after=(edit.start, edit.end),
            old=edit.instead,
            new=self.written[edit.start : edit.end],
            taken=False,
            check="characters",
            why=f"characters that hide or disguise text: {edit.names}",
        )

    def _sentence(self, n: int, edit: SentenceEdit, *, taken: bool) -> EditDecision:
        name, why = (None, None) if taken else _told(self.why.get(n, ()))
        return EditDecision(
            kind=edit.kind,  # type: ignore[arg-type]  # none that was kept
            before=edit.before,
            after=self._place(edit.after),
            old=self.before[slice(*edit.before)] if edit.before else "",
            new=self.cleaned[slice(*edit.after)] if edit.after else "",
            taken=taken,
            check=name,
            why=why,
        )

    def _words(self, n: int, index: int) -> EditDecision:
        word, reasons = self.edits[n].words[index], self.why.get(n, ())
        own = [(name, o) for name, o in reasons if o.words is not None and index in o.words]
        name, why = _told(own or reasons)
        return EditDecision(
            kind="reworded",
            before=word.before,
            after=self._place(word.after),
            old=self.before[slice(*word.before)],
            new=self.cleaned[slice(*word.after)],
            taken=False,
            check=name,
            why=why,
        )

    def _place(self, span: Span | None) -> Span | None:
        """Offsets in the cleaned text as those in the text as it was written."""
        if span is None:
            return None
        ends, shifts = self._shifts
        start, end = (at + shifts[bisect_right(ends, at)] for at in span)
        return start, end

    @cached_property
    def _shifts(self) -> tuple[list[int], list[int]]:
        """Where in the cleaned text characters were taken out, and how many until then; the second has one more."""
        ends, shifts = list[int](), [0]
        for edit in self.characters:
            shifts.append(shifts[-1] + edit.end - edit.start - len(edit.instead))
            ends.append(edit.end - shifts[-1])
        return ends, shifts


def _told(reasons: Sequence[tuple[str, Objection]]) -> tuple[str, str]:
    if not reasons:
        return "warrant", "it could not be told from what may not stay"
    return reasons[0][0], "; ".join(dict.fromkeys(objection.why for _, objection in reasons))


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
