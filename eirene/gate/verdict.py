"""Verdict of the gate: two tests on the scores of the text before and of the rewrite.

*No harm* (none worse by more than `tolerance`) and *gain* (at least one better by `min_gain`, or the pairwise judge's
probability where nothing was given). What cannot be measured is named, never guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from eirene.core.grounding import Grounding
from eirene.core.loop_settings import LoopSettings
from eirene.core.records import EditDecision, RewriteComparison
from eirene.core.scores import PairJudgement, Score, Scores, Unscored, number
from eirene.text.quoting import quoted
from eirene.text.refusals import opens_as_refusal

_SAID = 0.5
"""Error score of an argument under which it counts as said, of a sentence under which it counts as supported."""

_SURE = 0.2
"""Error score of one sentence or argument under which there is nothing to gain: it is supported, or said."""
_SURER = 0.1
"""How much the error of one argument must change to count: 0.03 to 0.01 is no gain, 0.51 to 0.54 no harm."""

_MOST_SAID, _LONGEST = 3, 80
"""Edits that a reason tells of, and characters of an argument."""

_SLACK = 1e-9
"""Keeps 0.12 - 0.10 from counting as more than 0.02."""

Test = Literal["unusable", "comparison", "unmeasured", "harm", "pairwise", "gain", "gain-unmeasured"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The gate's decision, the test that made it, and the reason in one sentence."""

    accept: bool
    test: Test
    why: str


@dataclass(frozen=True, slots=True)
class _Difference:
    what: str
    by: str
    before: Score
    after: Score
    fine: float = 0.0
    of_arguments: bool = False

    @property
    def difference(self) -> float | None:
        """After minus before: positive is worse; under `fine` all is as good. None where either is unscored."""
        before, after = number(self.before), number(self.after)
        return None if before is None or after is None else max(after, self.fine) - max(before, self.fine)

    @property
    def gain(self) -> float:
        """By how much it got better, 0 where it did not; of one sentence or argument down to `_SURE` alone."""
        before, after = number(self.before), number(self.after)
        floor = _SURE if self.fine else 0.0
        return 0.0 if before is None or after is None else max(before, floor) - max(after, floor)

    def slack(self, tolerance: float) -> float:
        """By how much it may get worse: what is one sentence's or argument's, and was faulty before, by a little."""
        return max(tolerance, _SURER) if self.fine else tolerance

    def __str__(self) -> str:
        return f"{self.what} {_shown(self.before)} -> {_shown(self.after)} (by {self.by})"


def judge(
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    *,
    gain_measurable: bool,
    settings: LoopSettings,
    mended: Sequence[str] = (),
    without_errors: Mapping[str, Scores] = MappingProxyType({}),
    pairwise: PairJudgement | None = None,
    edits: Sequence[EditDecision] = (),
    given: Grounding | None = None,
) -> Verdict:
    """Compares the best text's scores with the candidate's, detector by detector.

    `mended`: faults of the best text that the candidate took out, as the checks found them; each is a gain.
    `without_errors`: the scores of the best text without what those faults made false. An argument that it does not say
    was not said.

    `gain_measurable` is False where the scores can only show what was kept (nothing given, no critique, no judge).
    A score that the best text has and the candidate has not counts as harm that cannot be ruled out. `pairwise`: the
    judgement of the pairwise judge where it was asked, in place of the scores; unscored, nothing is accepted. A rewrite
    that does what a person's notes ask (mode human) need only not surely be the worse one. One that puts a fault right
    may bring falsehoods with it: that excuses nothing. What `edits` did is the reason for what is accepted; without any
    it is the score that tells. `given` has the words of an argument that is lost.
    """
    harm = harm_by_scores(before, after, settings=settings, mended=mended, without_errors=without_errors, given=given)
    if harm is not None:
        return harm
    if pairwise is not None:
        better, is_asked_for = number(pairwise.better), settings.mode == "human"
        if not is_asked_for or better is None or not settings.judge_risk < better < 1.0 - settings.judge_risk:
            return _by_pair(pairwise, settings.judge_risk)
    gain = _gain(before, after, settings, edits, given) if gain_measurable else None
    if mended:
        return Verdict(True, "gain", _shown_edits(edits) or "a fault was corrected, and nothing got worse")
    if gain is not None:
        return gain
    accept = settings.when_gain_unmeasured == "accept"
    said = "accepted" if accept else "kept out"
    return Verdict(accept, "gain-unmeasured", f"no harm found, and nothing to measure a gain with: {said}")


def judge_comparison(comparison: RewriteComparison, edits: Sequence[EditDecision]) -> Verdict:
    """The verdict by how likely the rewrite is the better answer; its reasons are those of the edits that stay."""
    chance = f"better with probability {comparison.better:.2f}"
    if comparison.threshold is None:
        return Verdict(False, "comparison", f"{chance}, and none is high enough for a risk of {comparison.risk:g}")
    shown = _shown_edits(edits)
    if comparison.accepts:
        return Verdict(True, "comparison", f"{shown or 'the answer changed'} ({chance})")
    if comparison.better <= 0.5:
        return Verdict(False, "comparison", f"not better: {chance}")
    needed = f"{comparison.threshold:.2f} is needed for a risk of {comparison.risk:g}"
    return Verdict(False, "comparison", f"not surely better: {chance}, and {needed}")


def _shown_edits(edits: Sequence[EditDecision]) -> str:
    """What the edits that stay did: 'Changed "30 June" to "31 March", as passage 2 says'."""
    said = [edit.why for edit in edits if edit.taken and edit.why]
    return "; ".join(said[:_MOST_SAID]) + (f"; and {len(said) - _MOST_SAID} more" if len(said) > _MOST_SAID else "")


def harm_by_scores(
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    *,
    settings: LoopSettings,
    mended: Sequence[str] = (),
    without_errors: Mapping[str, Scores] = MappingProxyType({}),
    given: Grounding | None = None,
) -> Verdict | None:
    """The verdict against a candidate whose scores tell of harm, or cannot rule it out; None where there is none.

    `mended` and `without_errors` are what `judge` takes: what nothing but a mended falsehood said can go without
    harm. Where a fault is mended, the worst argument's score may have been the fault's: each is looked at by itself.
    """
    changes = list(_changes(before, after))
    compared = [c for c in changes if not (mended and c.fine and c.of_arguments)]
    said = {name: _said_by(scores, without_errors.get(name)) for name, scores in before.items()}
    return _unmeasured(changes) or _worse(compared, said, after, settings, given)


def _said_by(scores: Scores, rest: Scores | None) -> Scores:
    """The scores of a text with the coverage of its arguments without its errors, where that is worse."""
    if rest is None or not scores.arguments:
        return scores
    covered = {(a.group, a.n): number(a.coverage) for a in rest.arguments}
    arguments = []
    for a in scores.arguments:
        whole, part = number(a.coverage), covered.get((a.group, a.n))
        is_worse = whole is not None and part is not None and part > whole
        arguments.append(a.model_copy(update={"coverage": part}) if is_worse else a)
    return scores.model_copy(update={"arguments": tuple(arguments)})


def _by_pair(judged: PairJudgement, risk: float) -> Verdict:
    """The verdict by how likely the pairwise judge finds the rewrite the better answer."""
    if isinstance(judged.better, Unscored):
        return Verdict(False, "pairwise", f"the pairwise judge could not tell: {judged.better.unscored}")
    counted = f" by {judged.votes} votes" if judged.votes else ""
    said = f"the pairwise judge finds it better with probability {judged.better:.2f}{counted}"
    if judged.better >= 1.0 - risk:
        return Verdict(True, "pairwise", said)
    return Verdict(False, "pairwise", f"{said}, and {1.0 - risk:.2f} is needed")


def _unmeasured(changes: Sequence[_Difference]) -> Verdict | None:
    """Harm that cannot be ruled out: a score that was lost, or none at all."""
    lost = [c for c in changes if not isinstance(c.before, Unscored) and isinstance(c.after, Unscored)]
    if lost:
        return Verdict(False, "unmeasured", f"it may be worse, and that cannot be told: {lost[0]}")
    if any(c.difference is not None for c in changes):
        return None
    nothing = f"no detector could compare the rewrite with the text before it{_why_unscored(changes)}"
    return Verdict(False, "unmeasured", nothing)


def _worse(
    changes: Sequence[_Difference],
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    settings: LoopSettings,
    given: Grounding | None,
) -> Verdict | None:
    worst = max(changes, key=lambda c: (c.difference or 0.0) - c.slack(settings.tolerance), default=None)
    if worst is not None and (worst.difference or 0.0) > worst.slack(settings.tolerance) + _SLACK:
        return Verdict(False, "harm", f"worse than before: {worst}")
    gone = next(_gone(before, after, settings.tolerance, given), None)
    return None if gone is None else Verdict(False, "harm", f"an argument is lost: {gone.what}")


def _gain(
    before: Mapping[str, Scores],
    after: Mapping[str, Scores],
    settings: LoopSettings,
    edits: Sequence[EditDecision],
    given: Grounding | None,
) -> Verdict:
    gained, shown = next(_gained(before, after, settings.min_gain, given), None), _shown_edits(edits)
    if gained is not None:
        return Verdict(True, "gain", f"a missing argument is said now: {shown or gained.what}")
    best = max((c for c in _changes(before, after) if c.difference is not None), key=lambda c: c.gain)
    if best.gain >= settings.min_gain - _SLACK and best.gain > 0:
        kept = f" by more than {settings.tolerance:g}" if settings.tolerance else ""
        by_scores = f"better, and nothing is worse{kept}: {best}"
        return Verdict(True, "gain", f"{shown}; {by_scores}" if shown else by_scores)
    return Verdict(False, "gain", f"nothing is better by {settings.min_gain:g}: the best is {best}")


def _changes(before: Mapping[str, Scores], after: Mapping[str, Scores]) -> Iterator[_Difference]:
    for name, old in before.items():
        new = after.get(name) or Scores.none("not scored")
        said = [argument.coverage for argument in old.arguments]
        held = [sentence.hallucination for sentence in old.sentences]
        fine = _fine(old.coverage, said)
        yield _Difference("missing content", name, old.coverage, new.coverage, fine, of_arguments=True)
        fine = _fine(old.hallucination, held)
        yield _Difference("unsupported content", name, old.hallucination, new.hallucination, fine)


def _fine(whole: Score, parts: Sequence[Score]) -> float:
    """Under which score an answer is fine: where it is that of its worst sentence or argument, 0.5, as one is there.

    A sentence that goes from 0.01 to 0.03 is as well supported as before. A share (of polls, of sentences) is not.
    """
    scored = [value for part in parts if (value := number(part)) is not None]
    return _SAID if scored and number(whole) == max(scored) else 0.0


def _gone(
    before: Mapping[str, Scores], after: Mapping[str, Scores], tolerance: float, given: Grounding | None
) -> Iterator[_Difference]:
    """Arguments that turned from said to missing: a score that is the worst argument's does not show these."""
    for change in _arguments(before, after, given):
        said, missing = number(change.before), number(change.after)
        if (
            said is not None
            and missing is not None
            and said < _SAID <= missing
            and missing - said > max(tolerance, _SURER)
        ):
            yield change


def _gained(
    before: Mapping[str, Scores], after: Mapping[str, Scores], min_gain: float, given: Grounding | None
) -> Iterator[_Difference]:
    """Arguments that are said now, and were not or not as surely before, whichever is the worst one."""
    for change in _arguments(before, after, given):
        missing, said = number(change.before), number(change.after)
        if said is not None and missing is not None and said < _SAID and missing - said >= max(min_gain, _SURER):
            yield change


def _arguments(
    before: Mapping[str, Scores], after: Mapping[str, Scores], given: Grounding | None
) -> Iterator[_Difference]:
    groups = () if given is None else given.groups
    texts = {(group.name, n): text for group in groups for n, text in enumerate(group.arguments, start=1)}
    of = {g.name: f" ({g.name})" for g in groups} if given is not None and given.source == "perspectives" else {}
    for name, old in before.items():
        new = after.get(name) or Scores.none("not scored")
        then = {(a.group, a.n): a.coverage for a in new.arguments}
        for a in old.arguments:
            now = then.get((a.group, a.n), a.coverage)
            text = texts.get((a.group, a.n))
            what = f"argument {a.n} of {a.group}" if text is None else f"{quoted(text, _LONGEST)}{of.get(a.group, '')}"
            yield _Difference(what, name, a.coverage, now)


def _why_unscored(changes: Sequence[_Difference]) -> str:
    """The first reason that a detector gives for having no score of the text before, in brackets; or ""."""
    reasons = (c.before.unscored for c in changes if isinstance(c.before, Unscored))
    return next((f" ({reason})" for reason in reasons), "")


def _shown(score: Score) -> str:
    value = number(score)
    return f"unscored ({score.unscored})" if isinstance(score, Unscored) else f"{value:.2f}"


_OF_THE_PROMPT = ("The criticism, by sentence:", "The answer is not complete.")
"""Words of the prompt of mode fine-grained (`eirene/prompts/refine_fine_grained.md`) that small models copy."""
_TIMES, _MORE = 4, 4_000
"""A rewrite may have so many times the characters of the answer, or so many more: a model that runs on would have the
detectors read for minutes what nobody wants to read."""


UNCHANGED = "the refiner returned the text unchanged"


def unusable(candidate: str, *, answer: str, best: str, rejected: Iterable[str]) -> str | None:
    """Why `candidate` is a rejected round without any score, or None if it may be scored.

    `answer` is the original, `best` the text that was to be rewritten.
    """
    if not any(c.isalnum() for c in candidate) and any(c.isalnum() for c in best):
        return "the rewrite is empty"
    most = max(_TIMES * len(answer), len(answer) + _MORE)
    if len(candidate) > most:
        return f"the rewrite has {len(candidate)} characters; for an answer of {len(answer)} at most {most} are read"
    if candidate.strip() == best.strip():
        return UNCHANGED
    if any(candidate.strip() == r.strip() for r in rejected):
        return "the rewrite repeats one that was already rejected"
    return _no_rewrite(candidate, best)


def _no_rewrite(candidate: str, best: str) -> str | None:
    """Why a reply is something else than a rewrite; what the original has, too, tells nothing."""
    if opens_as_refusal(candidate) and not opens_as_refusal(best):
        return "the reply is a refusal, not a rewrite"
    if any(words in candidate and words not in best for words in _OF_THE_PROMPT):
        return "the reply copies the criticism, and is no rewrite"
    return None
