"""Compared edits: an edit is undone where the text is likely better without it; then the whole is compared.

The same comparison judges one edit and the whole rewrite (`eirene.gate.comparison`), so nothing that the whole stands
for can be undone for a reason that the whole does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eirene.core.records import RewriteComparison
from eirene.gate.calibration import GateCalibration
from eirene.text.cancellation import check_cancelled
from eirene.text.edits.words import SentenceEdit
from eirene.text.matching import Span
from eirene.text.quoting import quoted
from eirene.verification.opposites import opposes

if TYPE_CHECKING:
    from eirene.gate.comparison import ComparisonFit
    from eirene.gate.readings import PassageReadings

COMPARISON = "comparison"
"""What a record calls it, beside the names of checks."""
_TURNS = 3
"""Times that edits are undone before the whole is taken as it stands."""
_SURE = 2.0
"""Log-odds from which it is sure that a text is better without an edit."""
_MOST_GONE = -1.1
"""Difference of the logarithms of the words: two in three are gone."""
_MOST_EDITS = 60
"""Edits that are judged one by one; of more only the whole is compared."""
_SHOWN = 80
_SAYS, _SAID_BY_NONE = 0.5, 0.2
"""Probability from which a passage is named as what an edit rests on; under which none is said to say a sentence."""


@dataclass(frozen=True)
class Comparer:
    """What compares the texts of one item: its passages' readings, the fit, and what thresholds stand on."""

    readings: PassageReadings
    fit: ComparisonFit
    calibration: GateCalibration
    risk: float

    def compared(self, before: str, after: str) -> RewriteComparison | None:
        """What a record says of `after`, and whether it is accepted; None where the texts differ in too much."""
        odds = self.log_odds(before, after)
        return None if odds is None else self.calibration.recorded(odds, self.risk)

    def drops(self, before: str, after: str) -> bool:
        """Whether most of the answer is gone, and no more of what bears on the question in the passages is said.

        No fit tells a fragment from an answer that was freed of what nobody asked for.
        """
        gone, said = self._reading(before, after, "length"), self._reading(before, after, "passages said")
        return gone < _MOST_GONE and said <= 0.0

    def answers(self, before: str, after: str) -> bool:
        """Whether `after` says more of what the question asks for."""
        return self._reading(before, after, "answer said") > 0.0

    def log_odds(self, before: str, after: str) -> float | None:
        """Log-odds that `after` is the better one; None where the texts differ in more than can be read."""
        try:
            return self.fit.log_odds(*self.readings.differences(before, after))
        except ValueError:
            return None

    def _reading(self, before: str, after: str, name: str) -> float:
        """How much more of a reading `after` has; 0 where the texts differ in more than can be read."""
        from eirene.gate.readings import PASSAGE_READINGS

        try:
            return float(self.readings.differences(before, after)[0][PASSAGE_READINGS.index(name)])
        except ValueError:
            return 0.0


@dataclass(frozen=True)
class ComparedEdits:
    """The work on one rewrite. `rebuilt` gives the text without the edits of some indices."""

    comparer: Comparer
    before: str
    edits: Sequence[SentenceEdit]
    rebuilt: Callable[[frozenset[int]], str]

    def worse(self, standing: frozenset[int]) -> frozenset[int]:
        """The standing edits without which the text is more likely the better one.

        Where the whole is surely better, only those of which that is sure, too: a correction is one thing, and its
        parts seldom better each by itself. What is put in stays where anything is taken out: it may say the same.
        """
        if len(standing) > _MOST_EDITS:
            return frozenset()
        if any(self.edits[n].kind == "removed" for n in standing):
            standing = frozenset(n for n in standing if self.edits[n].kind != "added")
        gone = self._found(standing, frozenset(), least=_SURE)
        found = self.comparer.compared(self.before, self.rebuilt(gone))
        is_accepted = found is not None and found.accepts
        return gone if is_accepted else self._found(standing, gone, least=0.0)

    def against(self, standing: frozenset[int], gone: frozenset[int]) -> str | None:
        """Why none of the edits is taken, whatever of them is `gone`; None where the rest may be.

        Of a rewrite that is likely the worse text no part is: the parts that look better in the reverse of a person's
        correction are chance. Where nothing but additions is left, they must say what the question asks for: of a
        model's additions that did not, readers found 2 for the better and 16 for the worse.
        """
        if (self.comparer.log_odds(self.before, self.rebuilt(frozenset())) or 0.0) < 0.0:
            return "as a whole, the rewrite makes the answer worse"
        if self.comparer.drops(self.before, self.rebuilt(gone)):
            return "most of the answer would be gone, and nothing more of the passages said"
        only_adds = all(self.edits[n].kind == "added" for n in standing - gone)
        if only_adds and standing != gone and not self.comparer.answers(self.before, self.rebuilt(gone)):
            return "what would be added does not say what the question asks for"
        return None

    def _found(self, standing: frozenset[int], gone: frozenset[int], *, least: float) -> frozenset[int]:
        for _ in range(_TURNS):
            text = self.rebuilt(gone)
            found = {n for n in standing - gone if self._odds_without(text, self.rebuilt(gone | {n})) > least}
            if not found:
                break
            gone |= found
        return gone

    def _odds_without(self, text: str, without: str) -> float:
        """Log-odds that the text is better without an edit; 0 where that cannot be told."""
        check_cancelled()
        return 0.0 if text == without else self.comparer.log_odds(text, without) or 0.0


@dataclass(frozen=True)
class EditReasons:
    """What is said of an edit, for a reader: what was changed, and, of passages that were read, which one says so."""

    readings: PassageReadings | None
    before: str
    after: str

    def taken(self, edit: SentenceEdit, put_back: Sequence[int] = ()) -> str:
        """Why an edit stays: 'Changed "30 June" to "31 March", as passage 2 says'. `put_back`: words of it that go."""
        old, new = self._old(edit), self._new(edit)
        if edit.kind == "moved":
            return f"Moved {quoted(new, _SHOWN)}"
        if not new:
            return f"Removed {quoted(old, _SHOWN)}{self._why_removed(old)}"
        if not old:
            return f"Added {quoted(new, _SHOWN)}{self._by(new)}"
        was, now = self._words(edit, put_back)
        said = f"Changed {quoted(was, _SHOWN)} to {quoted(now, _SHOWN)}" if was and now else self._partly(was, now, new)
        return f"{said}{self._by(new)}"

    def undone(self, edit: SentenceEdit) -> str:
        """Why an edit was undone."""
        old, new = self._old(edit), self._new(edit)
        if not new:
            return f"the answer is better with {quoted(old, _SHOWN)}{self._by(old)}"
        assert self.readings is not None
        reading = self.readings.of(new)
        if reading.unknown:
            return f"{quoted(new, _SHOWN)} has a name, number or date that no passage has"
        if reading.claim is not None and reading.claim.supported < _SAYS:
            return f"no passage says {quoted(new, _SHOWN)}"
        return f"the answer is better without {quoted(new, _SHOWN)}"

    def _partly(self, was: str, now: str, new: str) -> str:
        if now:
            return f"Added {quoted(now, _SHOWN)}"
        return f"Removed {quoted(was, _SHOWN)}" if was else f"Reworded {quoted(new, _SHOWN)}"

    def _words(self, edit: SentenceEdit, put_back: Sequence[int]) -> tuple[str, str]:
        """The changed words of a sentence that mostly stays; else the whole of both.

        From the first to the last, but where words between them may have been put back, one change after the other.
        """
        words = [word for k, word in enumerate(edit.words) if k not in put_back]
        if not edit.mostly_stays or not words:
            return self._old(edit), self._new(edit)
        if put_back:
            return _in_turn(self.before, [w.before for w in words]), _in_turn(self.after, [w.after for w in words])
        old, new = (words[0].before[0], words[-1].before[1]), (words[0].after[0], words[-1].after[1])
        return _in_turn(self.before, [old]), _in_turn(self.after, [new])

    def _by(self, sentence: str) -> str:
        claim = None if self.readings is None else self.readings.of(sentence).claim
        if claim is None or claim.evidence is None or claim.supported < _SAYS:
            return ""
        return f", as passage {claim.evidence.source + 1} says"

    def _why_removed(self, old: str) -> str:
        claim = None if self.readings is None else self.readings.of(old).claim
        if claim is None or claim.supported >= _SAID_BY_NONE:
            return ""
        if claim.contradicted >= _SAYS and claim.evidence is not None and opposes(claim.evidence.text, old):
            return f": passage {claim.evidence.source + 1} says otherwise"
        return ": no passage says it"

    def _old(self, edit: SentenceEdit) -> str:
        return self.before[slice(*edit.before)].strip() if edit.before else ""

    def _new(self, edit: SentenceEdit) -> str:
        return self.after[slice(*edit.after)].strip() if edit.after else ""


def _in_turn(text: str, spans: Sequence[Span]) -> str:
    return " ... ".join(filter(None, (text[slice(*span)].strip(" ,;") for span in spans)))
