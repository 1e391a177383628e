"""The gate: decides whether a rewrite may take the place of the best text so far.

Two tests on the gated scores: *no harm* (none worse by more than `tolerance`) and *gain* (at least one better by
`min_gain`). What cannot be measured is named, never guessed. A rewrite that is empty, too long, refusing, unchanged or
rejected before is not even scored. `rejections` are what a refiner is told of its rewrites that were turned down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal

from eirene.agent.settings import Settings
from eirene.agent.state import State, item_of, load_critique, load_scores
from eirene.core.grounding import Grounding, grounding_for
from eirene.core.scores import ArgumentScore, Score, Scores, Unscored, number
from eirene.refiners.base import Rejection
from eirene.text.refusals import opens_as_refusal
from eirene.text.sentences import split_sentences

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


FAULTY = 0.5
"""Error score of an argument or a sentence from which it is named."""

_MOST_NAMED = 6
_LONGEST = 200
_OF_SENTENCES = {"arrangement": "stands under the wrong side, or is said twice"}
_OF_ARGUMENTS = {"kept": "no longer said", "asked": "still not answered"}  # the groups that a critique gives


def rejections(state: State, *, advisory: Set[str]) -> tuple[Rejection, ...]:
    """The candidates for the current text that the gate has turned down, oldest first.

    What is wrong with one is said after the gate's reason: the arguments still missing from it, and its sentences that
    nothing supports. Detectors in `advisory` decide nothing and name nothing.
    """
    given = grounding_for(item_of(state), load_critique(state))
    found: list[Rejection] = []
    for done in reversed(state.get("rounds", [])):
        if done["decision"] == "accept":
            break
        if done["candidate"] is not None:
            scores = load_scores(done["scores"])
            deciding = {name: s for name, s in scores.items() if name not in advisory}
            named = list(faults(deciding, done["candidate"], given))
            why = done["why"] if not named else f"{done['why']}. Wrong with it: {'; '.join(named)}"
            found.append(Rejection(done["candidate"], why))
    return tuple(reversed(found))


def faults(scores: Mapping[str, Scores], candidate: str, given: Grounding) -> Iterator[str]:
    """The faults that the scores of a text point at, the worst first, a few at most, each once."""
    found: dict[str, float] = {}
    for text, score in [*_arguments(scores, given), *_sentences(scores, candidate)]:
        if score is not None and score >= FAULTY:
            found[text] = max(score, found.get(text, 0.0))
    yield from sorted(found, key=lambda text: -found[text])[:_MOST_NAMED]


def _arguments(scores: Mapping[str, Scores], given: Grounding) -> Iterator[tuple[str, float | None]]:
    if given.source == "context":
        return  # a number there is not that of a passage
    texts = {(group.name, n): text for group in given.groups for n, text in enumerate(group.arguments, start=1)}
    for found in scores.values():
        for score in found.arguments:
            text = texts.get((score.group, score.n))
            if text is not None:
                yield f"{_missing(score, given)}: {_quoted(text)}", number(score.coverage)


def _missing(score: ArgumentScore, given: Grounding) -> str:
    if given.source == "derived":
        return _OF_ARGUMENTS.get(score.group, "missing")
    return f"still missing for {_quoted(score.group)}"


def _sentences(scores: Mapping[str, Scores], candidate: str) -> Iterator[tuple[str, float | None]]:
    texts = {sentence.n: sentence.text for sentence in split_sentences(candidate)}
    for name, found in scores.items():
        said = _OF_SENTENCES.get(name, "not supported by what was given")
        for score in found.sentences:
            if texts.get(score.n):
                yield f"{said}: {_quoted(texts[score.n])}", number(score.hallucination)


def _quoted(text: str) -> str:
    line = " ".join(text.split())
    return f'"{line if len(line) <= _LONGEST else line[:_LONGEST].rsplit(" ", 1)[0] + " ..."}"'
