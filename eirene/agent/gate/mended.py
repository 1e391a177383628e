"""Mended faults: what the edits took out that a check objects to, and what the text before says without it.

Where a given argument is no longer said, that is harm, unless nothing but a mended falsehood said it: a claim turned
into its opposite sounds like the argument. Other faults are no such excuse (`Objection.falsifies`): a sentence in bad
form, or with more in it than was given, says the argument all the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from eirene.agent.gate.checks.base import EditCase, Objection
from eirene.agent.gate.checks.places import quoted
from eirene.agent.gate.checks.registry import NamedCheck
from eirene.text.clauses import units_of
from eirene.text.matching import Span
from eirene.text.sentences import split_sentences


@dataclass(frozen=True, slots=True)
class Mended:
    """A fault that the edits took out: what was changed, in words, and where it stood in the text before (offsets).

    `falsifies`: an argument that was said there alone was never said.
    """

    check: str
    change: str
    places: tuple[Span, ...]
    falsifies: bool

    def __str__(self) -> str:
        return f"{self.check}: {self.change}"


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
                yield Mended(check.name, _change(turned, objection), places, falsifies)


def without_falsehoods(before: str, mended: Sequence[Mended]) -> str | None:
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
