"""Verification check: what an edit says is read against the given text, and so is what it replaces.

A contradiction with the given text is harm by itself; so is a sentence that the text supports clearly less than the one
it replaces. The changed words that do it, each put into the old sentence alone, are those that are undone. A sentence
of which clauses went and nothing else says nothing new: the verifier may read what is left in another way by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.places import quoted
from eirene.text.cancellation import check_cancelled
from eirene.text.clauses import core_text, units_of
from eirene.text.edits import SentenceEdit
from eirene.text.frames import FrameKind
from eirene.text.sentences import split_sentences
from eirene.verification.claims import claim_of, not_checked
from eirene.verification.context import ClaimReading, ContextReader

CONTRADICTED = 0.6
"""Probability from which a sentence counts as contradicted by the given text."""
MORE = 0.25
"""By how much a reworded sentence must be contradicted more than the one before."""
FALL = 0.35
"""By how much the support of a reworded sentence must fall."""
_SAYS: dict[FrameKind | None, str] = {None: "says otherwise", "denied": "denies it", "open": "leaves it open"}
_MOST_WORDS = 6
"""Changed words of a sentence that are tried one by one."""


def verification(case: EditCase) -> Iterator[Objection]:
    """Objects to edits that the given text contradicts, or supports less than what they replace."""
    if case.reader is None or not case.has_given:
        return
    check = _VerifiedEdits(case, case.reader)
    for n, edit in case.changed():
        check_cancelled()
        if edit.after is not None and edit.kind != "moved" and not check.is_known(edit):
            yield from check.objections(n, edit)


@dataclass(frozen=True)
class _VerifiedEdits:
    case: EditCase
    reader: ContextReader

    def is_known(self, edit: SentenceEdit) -> bool:
        """Whether the new sentence stands in a source as it is, was asked for, or claims nothing."""
        new = self.case.new(edit).strip()
        if self._is_unchecked(new) or any(new in text for text in self.case.drafts):
            return True
        if any(new in text for text in self.case.given_texts):  # but not where it is denied, or only supposed
            return self._read([new])[0].framed is None
        return any(a.edit and a.edit.strip() and a.edit.strip() in new for a in self.case.asked_at(edit))

    def objections(self, n: int, edit: SentenceEdit) -> Iterator[Objection]:
        old, new = self.case.old(edit), self.case.new(edit)
        if not old or self._is_unchecked(old):
            (after,) = self._read([new])
            if after.contradicted >= CONTRADICTED or after.framed:
                yield Objection(n, _against(after), falsifies=True)
            return
        before, after = self._read([old, new])
        why = _fault(before, after)
        if why is not None and not _only_drops_clauses(old, new):
            turned = after.contradicted >= CONTRADICTED
            yield Objection(n, why, self._at_fault(edit, old, before), falsifies=turned)

    def _is_unchecked(self, sentence: str) -> bool:
        return not_checked([sentence], self.reader.encoder)[0] is not None

    def _at_fault(self, edit: SentenceEdit, old: str, before: ClaimReading) -> tuple[int, ...] | None:
        """The changed words that make the old sentence worse when they alone are put into it; None for all."""
        assert edit.before is not None
        if not edit.mostly_stays or not 1 < len(edit.words) <= _MOST_WORDS:
            return None
        start = edit.before[0]
        trials = [
            old[: w.before[0] - start] + self.case.after[slice(*w.after)] + old[w.before[1] - start :]
            for w in edit.words
        ]
        found = [k for k, after in enumerate(self._read(trials)) if _fault(before, after) is not None]
        return tuple(found) if 0 < len(found) < len(edit.words) else None

    def _read(self, sentences: list[str]) -> list[ClaimReading]:
        claims = [claim_of(text) for text in sentences]
        if self.case.given.source == "perspectives":
            claims = [core_text(claim) or claim for claim in claims]
        return self.reader.read(claims)


def _only_drops_clauses(old: str, new: str) -> bool:
    """Whether every clause of the new text stands in the old one, word for word, which had more of them."""
    had, has = _clauses(old), _clauses(new)
    return len(has) < len(had) and has <= had


def _clauses(text: str) -> set[str]:
    """The clauses of a text as words, without what only says that they are claimed."""
    units = units_of(text, split_sentences(text))
    split = {unit.sentence for unit in units if unit.is_clause}
    found = [unit.text for unit in units if unit.is_clause or unit.sentence not in split]
    return {" ".join(re.findall(r"\w+", clause.casefold())) for clause in found} - {""}


def _fault(before: ClaimReading, after: ClaimReading) -> str | None:
    if after.framed and not before.framed:
        return _against(after)
    if after.contradicted >= CONTRADICTED and after.contradicted - before.contradicted >= MORE:
        return _against(after)
    if before.supported - after.supported >= FALL and after.supported < 0.5:
        return "the given text supports it less than what it replaces"
    return None


def _against(reading: ClaimReading) -> str:
    said = "" if reading.evidence is None else f": {quoted(reading.evidence.text)}"
    return f"the given text {_SAYS[reading.framed]}{said}"
