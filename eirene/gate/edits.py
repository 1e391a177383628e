"""Edit checks: which edits of a rewrite may stay, and which are undone because a check objects to them.

Every edit is undone by itself: a sentence restored, an addition dropped, a word put back. What is left is checked again
until nothing is objected to. Where that cannot be reached, every edit is undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from eirene.core.critique import Critique
from eirene.core.grounding import Grounding
from eirene.core.records import EditDecision, RewriteComparison
from eirene.gate.calibration import GateCalibration
from eirene.gate.checks.base import Asked, EditCase, Objection
from eirene.gate.checks.registry import CHECKS, NamedCheck
from eirene.gate.checks.sides import texts_compared
from eirene.gate.compared_edits import COMPARISON, ComparedEdits, Comparer, EditReasons
from eirene.gate.decisions import JudgedEdits, Reasons, Undo, mended_faults, without_errors
from eirene.text.cancellation import check_cancelled
from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.undo import Rebuilt, undone
from eirene.text.edits.words import SentenceEdit
from eirene.text.language import likely_code, unsupported_language
from eirene.text.new_characters import CharacterEdit, without_new_characters

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.verifier.runtime import Verifier

_MOST_TURNS = 8
"""Times that a rewrite is checked; past them every edit is undone."""


@dataclass(frozen=True)
class Rewrite:
    """A rewrite to be checked: the text before, what the refiner wrote, and what it was asked for.

    `given` is what the scores are compared with; `drafts` are earlier texts whose words may come back.
    `is_judged`: a model compares what is left with the text before. `is_marked`: what is to be removed stays,
    with a mark after it. `question` is in its place (`Item.query`); `history` is the conversation before it as the
    refiner was shown it, whose words may come in. `edits`: how `before` became `written`, where the refiner tells that,
    in the order of the texts, sentences that stayed as `kept` ones; None where the two texts are to be compared.
    """

    question: str
    before: str
    written: str
    given: Grounding
    critique: Critique | None = None
    drafts: tuple[str, ...] = ()
    is_judged: bool = False
    is_marked: bool = False
    history: str = ""
    edits: tuple[SentenceEdit, ...] | None = None


@dataclass(frozen=True, slots=True)
class CheckedRewrite:
    """The rewrite as it may stand, each edit with what became of it, and the faults that it mended.

    `without_errors`: the text before without what those faults made false; None where they made nothing false.
    `comparison`: how likely it is the better answer, where that was asked; `too_long`: they differ in too much for it.
    """

    text: str
    decisions: tuple[EditDecision, ...]
    mended: tuple[str, ...]
    without_errors: str | None = None
    comparison: RewriteComparison | None = None
    too_long: bool = False

    @property
    def undone(self) -> tuple[EditDecision, ...]:
        """The edits that may not stay."""
        return tuple(d for d in self.decisions if not d.taken)


def check_edits(
    rewrite: Rewrite,
    checks: Sequence[NamedCheck],
    encoder: Encodes | None,
    comparer: Comparer | None = None,
) -> CheckedRewrite:
    """The rewrite with every edit undone that a check objects to; the same rewrite gives the same result.

    With a `comparer` (`comparer_for`) only form and values are checked, and the comparison judges the rest.

    `encoder` compares sentences; None for words alone. It is not asked about texts in a language that it cannot read.
    """
    if comparer is not None:
        beside = [replace(check, find=check.beside) if check.beside else check for check in checks]
        checks = [check for check in beside if check.of_form or check.beside or check not in CHECKS]
    work = _EditChecks(rewrite, checks, encoder, comparer)
    return work.done() if comparer is None else work.compared()


def comparer_for(
    rewrite: Rewrite, verifier: Verifier | None, *, risk: float, calibration: GateCalibration | None = None
) -> Comparer | None:
    """What compares the texts; None where no passages were given, they cannot be read, or faults are only marked.

    `calibration`: by default that of the fit that ships.
    """
    given = rewrite.given
    if verifier is None or given.source != "context" or rewrite.is_marked:
        return None
    if not any(text.strip() for text in given.arguments) or _is_unread(rewrite.before, given.arguments):
        return None
    from eirene.gate.comparison import shipped_fit
    from eirene.gate.readings import PassageReadings

    fit = shipped_fit()
    readings = PassageReadings(rewrite.question, given.arguments, verifier)
    return Comparer(readings, fit, calibration or fit.calibration, risk)


def _is_unread(before: str, given: Sequence[str]) -> bool:
    """Whether the text before, or most of those given, are in another language: one long text does not decide."""
    mixed = unsupported_language(before, given) and 2 * sum(likely_code(text) != "en" for text in given) <= len(given)
    return bool(unsupported_language(before, () if mixed else given))


def asked_for(critique: Critique | None, before: str, *, marked: bool = False) -> tuple[Asked, ...]:
    """The places of a text that a critique names; none where it speaks of another text.

    `marked`: what is to be removed stays, with its kind in brackets after it.
    """
    if critique is None or any(before[s.start : s.end] != s.text for s in critique.sentences):
        return ()
    found = []
    for sentence in critique.sentences:
        if sentence.tag == "Incomplete":
            found.append(Asked(sentence.start, sentence.end, sentence.reason or ""))
        for f in sentence.findings:
            edit = f"{before[f.start : f.end].rstrip(' .!?')} [{f.kind}]" if marked and f.edit == "" else f.edit
            found.append(Asked(f.start, f.end, f.reason, f.kind, edit))
    return tuple(found)


@dataclass
class _EditChecks:
    """The work on one rewrite: what is undone so far, and why."""

    rewrite: Rewrite
    checks: Sequence[NamedCheck]
    encoder: Encodes | None
    comparer: Comparer | None = None
    undo: Undo = field(default_factory=dict)
    why: Reasons = field(default_factory=dict)

    def done(self) -> CheckedRewrite:
        case = self._checked()
        judged = self._judged(EditReasons(None, self.rewrite.before, self._cleaned[0]))
        mended = tuple(mended_faults(case, self.checks))
        rest = without_errors(case.before, mended)
        return CheckedRewrite(
            case.after, tuple(judged.decisions()), tuple(dict.fromkeys(m.change for m in mended)), rest
        )

    def compared(self) -> CheckedRewrite:
        """The rewrite without the edits that checks object to, and without those that make it no better."""
        assert self.comparer is not None
        self._checked()
        rewrite, cleaned = self.rewrite, self._cleaned[0]
        reasons = EditReasons(self.comparer.readings, rewrite.before, cleaned)
        edits = ComparedEdits(self.comparer, rewrite.before, self.edits, self._without)
        standing = self._left()
        gone = edits.worse(standing)
        against = edits.against(standing, gone)
        for n in sorted(gone if against is None else standing):
            self.undo[n] = None
            why = reasons.undone(self.edits[n]) if n in gone else against or ""
            self.why.setdefault(n, []).append((COMPARISON, Objection(n, why)))
        text = self._rebuilt().text
        found = self.comparer.compared(rewrite.before, text)
        judged = self._judged(reasons)
        return CheckedRewrite(text, tuple(judged.decisions()), (), comparison=found, too_long=found is None)

    def _judged(self, reasons: EditReasons) -> JudgedEdits:
        """What became of the edits, each that stays with what it does."""
        rewrite, (cleaned, characters) = self.rewrite, self._cleaned
        taken = {n: reasons.taken(self.edits[n], self.undo.get(n) or ()) for n in self._left()}
        return JudgedEdits(rewrite.before, rewrite.written, cleaned, self.edits, characters, self.undo, self.why, taken)

    def _left(self) -> frozenset[int]:
        return frozenset(n for n, e in enumerate(self.edits) if e.kind != "kept" and self.undo.get(n, ()) is not None)

    def _without(self, gone: frozenset[int]) -> str:
        undo = {**self.undo, **dict.fromkeys(gone)}
        return undone(self.rewrite.before, self._cleaned[0], self.edits, undo).text

    def _checked(self) -> EditCase:
        """The rewrite as the checks leave it; where they come to no end, nothing of it is left."""
        case = self._settled()
        if case is None:
            self.undo = {n: None for n, edit in enumerate(self.edits) if edit.kind != "kept"}
            case = self._case(self._rebuilt().text)
        return case

    def _settled(self) -> EditCase | None:
        """The rewrite as it stands when nothing more is objected to; None where that takes too many turns."""
        for _ in range(_MOST_TURNS):
            check_cancelled()
            rebuilt = self._rebuilt()
            case = self._case(rebuilt.text)
            if case.after == case.before or not self._object(case, rebuilt):
                return case
        return None

    @cached_property
    def _read_by(self) -> Encodes | None:
        given = self.rewrite.given.arguments if self.rewrite.given.source != "derived" else ()
        return None if _is_unread(self.rewrite.before, given) else self.encoder

    @cached_property
    def _cleaned(self) -> tuple[str, tuple[CharacterEdit, ...]]:
        if all(check.name != "security" for check in self.checks):
            return self.rewrite.written, ()
        rewrite = self.rewrite
        sources = (*rewrite.drafts, rewrite.question, rewrite.history, *rewrite.given.arguments)
        return without_new_characters(rewrite.before, rewrite.written, sources)

    @cached_property
    def edits(self) -> tuple[SentenceEdit, ...]:
        return self._edits(self._cleaned[0])

    @cached_property
    def _asked(self) -> tuple[Asked, ...]:
        return asked_for(self.rewrite.critique, self.rewrite.before, marked=self.rewrite.is_marked)

    def _rebuilt(self) -> Rebuilt:
        return undone(self.rewrite.before, self._cleaned[0], self.edits, self.undo)

    def _edits(self, text: str) -> tuple[SentenceEdit, ...]:
        """How the text before became `text`: as the refiner told it, else by comparing the two."""
        told = self.rewrite.edits
        return told if told is not None and text == self.rewrite.written else sentence_edits(self.rewrite.before, text)

    def _case(self, text: str) -> EditCase:
        return EditCase(
            question=self.rewrite.question,
            before=self.rewrite.before,
            after=text,
            edits=self.edits if text == self._cleaned[0] else self._edits(text),
            given=self.rewrite.given,
            asked=self._asked,
            drafts=self.rewrite.drafts,
            is_judged=self.rewrite.is_judged,
            encoder=self._read_by,
            history=self.rewrite.history,
        )

    def _object(self, case: EditCase, rebuilt: Rebuilt) -> bool:
        """Notes what is to be undone in the rewrite as it stands; False where nothing is, or nothing more can be.

        The encoder gets the texts that the checks of meaning will ask for in one run, and keeps their vectors.
        """
        for reads in ("words", "meaning"):
            if reads == "meaning" and case.encoder is not None:
                case.encoder.encode(list(texts_compared(case)))
            found = [
                (check.name, objection)
                for check in self.checks
                if check.reads == reads
                for objection in self._standing(case, check)
            ]
            if found:
                return self._note(case, rebuilt, found)
        return False

    def _standing(self, case: EditCase, check: NamedCheck) -> Iterator[Objection]:
        """What a check objects to, without the words that took out what another check tells to be a fault."""
        found = case.objections(check.find)
        if not check.yields or not found:
            yield from found
            return
        others = [c for c in self.checks if not c.yields and c.tells(case)]
        faults = [o for other in others for o in case.swapped.objections(other.find)]
        for objection in found:
            here = [o for o in faults if o.edit == objection.edit]
            if any(o.words is None for o in here):
                continue
            taken_out = {k for o in here for k in o.words or ()}
            if objection.words is None or not taken_out:
                yield objection
            elif not taken_out.issuperset(objection.words):
                left = tuple(k for k in objection.words if k not in taken_out)
                yield replace(objection, words=left)

    def _note(self, case: EditCase, rebuilt: Rebuilt, found: Iterable[tuple[str, Objection]]) -> bool:
        new: dict[int, set[int] | None] = {}
        for name, objection in found:
            for edit in self._origins(case, rebuilt, objection.edit):
                if self.edits[edit].kind == "kept" or self.undo.get(edit, ()) is None:
                    continue
                words = self._words(case, edit, objection)
                own = None if words is None else Objection(edit, objection.why, words)
                self.why.setdefault(edit, []).append((name, own or Objection(edit, objection.why)))
                known = new.get(edit, set())
                new[edit] = None if words is None or known is None else known | set(words)
        for edit, chosen in new.items():
            self.undo[edit] = None if chosen is None else tuple(sorted({*(self.undo.get(edit) or ()), *chosen}))
        return bool(new)

    def _words(self, case: EditCase, n: int, objection: Objection) -> tuple[int, ...] | None:
        """The changed words of the rewrite as it was written that an objection is to; None for the whole edit.

        Those that are left of a sentence, some of whose words were put back, are its later edits one by one.
        """
        if objection.words is None or not self.edits[n].mostly_stays:
            return None
        undone = self.undo.get(n) or ()
        left = [k for k in range(len(self.edits[n].words)) if k not in undone]
        if len(left) != len(case.edits[objection.edit].words) or max(objection.words, default=0) >= len(left):
            return None
        return tuple(left[k] for k in objection.words) or None

    def _origins(self, case: EditCase, rebuilt: Rebuilt, n: int) -> Sequence[int]:
        """The edits of the rewrite as it was written that an edit of it as it stands comes from."""
        if not self.undo:
            return [n]
        edit = case.edits[n]
        if edit.after is not None:
            start, end = edit.after
            return list(dict.fromkeys(p.edit for p in rebuilt.pieces if p.start < end and start < p.end))
        if edit.before is None:
            return []
        start, end = edit.before
        spans = [(i, own.before) for i, own in enumerate(self.edits)]
        return [i for i, own in spans if own is not None and own[0] < end and start < own[1]]
