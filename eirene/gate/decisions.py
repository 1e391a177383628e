"""Decisions on the edits of a rewrite: taken or undone, by which check and why; and the faults that they mended.

Where a given argument is no longer said, that is harm, unless nothing but a mended falsehood said it: a claim turned
into its opposite sounds like the argument. Other faults are no such excuse (`Objection.falsifies`): a sentence in bad
form, or with more in it than was given, says the argument all the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from eirene.core.records import EditDecision
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
from eirene.gate.checks.registry import NamedCheck
from eirene.text.clauses import units_of
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span
from eirene.text.new_characters import CharacterEdit
from eirene.text.sentences import split_sentences

Undo = dict[int, tuple[int, ...] | None]
"""Edits to be undone, by index: some of the changed words, or all of it (None)."""
Reasons = dict[int, list[tuple[str, Objection]]]
"""For each edit the objections to it, each with the name of its check."""


@dataclass(frozen=True)
class JudgedEdits:
    """The edits of a rewrite with what became of them.

    `taken` has what is said of edits that stay.

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
    taken: Mapping[int, str]

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
            check="security",
            why=f"characters that hide or disguise text: {edit.names}",
        )

    def _sentence(self, n: int, edit: SentenceEdit, *, taken: bool) -> EditDecision:
        name, why = (None, self.taken.get(n)) if taken else _told(self.why.get(n, ()))
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
        return "undo", "it hangs together with what was not kept"
    return reasons[0][0], "; ".join(dict.fromkeys(objection.why for _, objection in reasons))


@dataclass(frozen=True, slots=True)
class Mended:
    """A fault that the edits took out: what was changed, in words, and where it stood in the text before (offsets).

    `falsifies`: an argument that was said there alone was never said.
    """

    change: str
    places: tuple[Span, ...]
    falsifies: bool


def mended_faults(case: EditCase, checks: Sequence[NamedCheck]) -> Iterator[Mended]:
    """The faults that the edits of a case took out, check by check."""
    if case.before == case.after:
        return
    turned = case.swapped
    for check in checks:
        if check.tells(case):
            for objection in turned.objections(check.mended or check.find):
                places = tuple(_places(turned, objection))
                # Where nothing was given, "arguments" are the text's own sentences, with whatever was wrong in them.
                falsifies = objection.falsifies or not case.has_given
                yield Mended(_change(turned, objection), places, falsifies)


def without_errors(before: str, mended: Sequence[Mended]) -> str | None:
    """The text before without the clauses and sentences that mended faults made false; None where none did."""
    places = [place for fault in mended if fault.falsifies for place in fault.places]
    if not places:
        return None
    sentences = split_sentences(before)
    units = units_of(before, sentences)
    cut = {u.sentence for u in units if u.is_clause}
    atoms = [(u.start, u.end) for u in units if u.is_clause or u.sentence not in cut]
    false = [(a, b) for a, b in atoms if any(start <= b and a <= end for start, end in places)]
    kept, at = [], 0
    for start, end in false:
        kept.append(before[at:start])
        at = end
    return "".join([*kept, before[at:]]).strip()


def _places(turned: EditCase, objection: Objection) -> Iterator[Span]:
    """Where an objection of the case the other way round is at: the changed words, or the whole edit."""
    edit = turned.edits[objection.edit]
    if objection.words:
        yield from (edit.words[k].after for k in objection.words if k < len(edit.words))
    elif edit.after is not None:
        yield edit.after


def _change(turned: EditCase, objection: Objection) -> str:
    """What an edit took out and put in, told from the case the other way round: what came there is what went here."""
    edit = turned.edits[objection.edit]
    words = [edit.words[k] for k in objection.words or () if k < len(edit.words)]
    gone = " ... ".join(turned.after[slice(*w.after)].strip() for w in words) if words else turned.new(edit)
    put = " ... ".join(turned.before[slice(*w.before)].strip() for w in words) if words else turned.old(edit)
    if gone.strip(" .") and put.strip(" ."):
        return f"{quoted(put)} for {quoted(gone)}"
    return f"{quoted(gone)} taken out" if gone.strip(" .") else f"{quoted(put)} put in"
