"""Decides whether a rewrite may take the place of the best text so far.

Two tests on the gated scores: *no harm* (none worse by more than `tolerance`) and *gain* (at least one better by
`min_gain`). What cannot be measured is named, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.agent.settings import Settings
from eirene.scores import Score, Scores, Unscored, number

_SAID = 0.5
"""Coverage error of an argument under which it counts as said."""

_SLACK = 1e-9
"""Keeps 0.12 - 0.10 from counting as more than 0.02."""

Test = Literal["unusable", "unmeasured", "harm", "gain", "gain-unmeasured"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision, the test that made it, and the reason in one sentence."""

    accept: bool
    test: Test
    why: str


@dataclass(frozen=True, slots=True)
class _Change:
    name: str
    before: Score
    after: Score

    @property
    def difference(self) -> float | None:
        """After minus before: positive is worse. None where either is unscored."""
        before, after = number(self.before), number(self.after)
        return None if before is None or after is None else after - before

    def __str__(self) -> str:
        return f"{self.name} {_shown(self.before)} -> {_shown(self.after)}"


def judge(
    before: Mapping[str, Scores], after: Mapping[str, Scores], *, gain_measurable: bool, settings: Settings
) -> Verdict:
    """Compares the best text's scores with the candidate's, detector by detector.

    `gain_measurable` is False where the scores can only show what was kept (nothing given, no critique, no judge).
    A score that the best text has and the candidate has not counts as harm that cannot be ruled out.
    """
    changes = list(_changes(before, after))
    measured = [c for c in changes if c.difference is not None]
    lost = [c for c in changes if not isinstance(c.before, Unscored) and isinstance(c.after, Unscored)]
    if lost or not measured:
        nothing = f"no detector could compare the rewrite with the text before it{_why_unscored(changes)}"
        return Verdict(False, "unmeasured", f"harm cannot be ruled out: {lost[0]}" if lost else nothing)
    worst = max(measured, key=lambda c: c.difference or 0.0)
    if (worst.difference or 0.0) > settings.tolerance + _SLACK:
        return Verdict(False, "harm", f"worse than before: {worst}")
    gone = next(_gone(before, after, settings.tolerance), None)
    if gone is not None:
        return Verdict(False, "harm", f"said before and missing now: {gone}")
    if not gain_measurable:
        accept = settings.when_gain_unmeasured == "accept"
        said = "accepted" if accept else "kept out"
        return Verdict(accept, "gain-unmeasured", f"no harm found, and nothing to measure a gain with: {said}")
    best = min(measured, key=lambda c: c.difference or 0.0)
    if -(best.difference or 0.0) >= settings.min_gain - _SLACK and (best.difference or 0.0) < 0:
        kept = f" by more than {settings.tolerance:g}" if settings.tolerance else ""
        return Verdict(True, "gain", f"better than before, and no gated score worse{kept}: {best}")
    return Verdict(False, "gain", f"no gated score better by {settings.min_gain:g}: best is {best}")


def _changes(before: Mapping[str, Scores], after: Mapping[str, Scores]) -> Iterator[_Change]:
    for name, old in before.items():
        new = after.get(name) or Scores.none("not scored")
        yield _Change(f"{name} coverage", old.coverage, new.coverage)
        yield _Change(f"{name} hallucination", old.hallucination, new.hallucination)


def _gone(before: Mapping[str, Scores], after: Mapping[str, Scores], tolerance: float) -> Iterator[_Change]:
    """Arguments that turned from said to missing: a score that is the worst argument's does not show these."""
    for name, old in before.items():
        new = after.get(name) or Scores.none("not scored")
        then = {(a.group, a.n): a.coverage for a in new.arguments}
        for a in old.arguments:
            change = _Change(f"{name} coverage of {a.group} {a.n}", a.coverage, then.get((a.group, a.n), a.coverage))
            said, missing = number(change.before), number(change.after)
            if said is not None and missing is not None and said < _SAID <= missing and missing - said > tolerance:
                yield change


def _why_unscored(changes: Sequence[_Change]) -> str:
    """The first reason that a detector gives for having no score of the text before, in brackets; or ""."""
    reasons = (c.before.unscored for c in changes if isinstance(c.before, Unscored))
    return next((f" ({reason})" for reason in reasons), "")


def _shown(score: Score) -> str:
    value = number(score)
    return f"unscored ({score.unscored})" if isinstance(score, Unscored) else f"{value:.2f}"
