"""Rejections: what a refiner, and the record, are told of rewrites that the gate turned down, and of edits undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from eirene.agent.attempt import Attempt
from eirene.agent.state import State, best_text, item_of, load_critique, load_scores
from eirene.core.critique import Critique
from eirene.core.grounding import Grounding, grounding_for
from eirene.core.records import Drawn, EditDecision
from eirene.core.scores import ArgumentScore, Scores, number
from eirene.gate import unusable
from eirene.gate.compared_edits import COMPARISON
from eirene.refiners.base import Rejection
from eirene.text.quoting import quoted
from eirene.text.sentences import split_sentences

_MOST_UNDONE = 8
"""Edits that were undone that a refiner is told of."""


def undone_before(state: State) -> tuple[str, ...]:
    """The edits of accepted rewrites that were undone, in words, oldest first: what the text as it stands goes without.

    Those of rejected rewrites are in the gate's reason against them.
    """
    accepted = [r for r in state.get("rounds", []) if r["decision"] == "accept"]
    found = [EditDecision.model_validate(e) for r in accepted for e in r.get("edits", []) if not e["taken"]]
    return tuple(describe_undone([edit]) for edit in found[-_MOST_UNDONE:])


def describe_undone(undone: Sequence[EditDecision]) -> str:
    """The edits that may not stay, each with its reason, as a reader and a refiner are told; "" without any."""
    said = list(dict.fromkeys(map(_undone, undone)))
    more = len(said) - _MOST_UNDONE
    return "; ".join(said[:_MOST_UNDONE]) + (f"; and {more} more" if more > 0 else "")


def _undone(edit: EditDecision) -> str:
    if edit.check == COMPARISON:  # its reason quotes the words
        return edit.why or ""
    return f"{_quoted(edit.new or edit.old)} ({edit.check}: {edit.why})"


FAULTY = 0.5
"""Error score of an argument or a sentence from which it is named."""

_MOST_NAMED = 6
_LONGEST = 200
_LONGEST_REASON = 160
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
            written = done.get("written") or done["candidate"]
            scores = load_scores(done["scores"])
            deciding = {name: s for name, s in scores.items() if name not in advisory}
            named = list(faults(deciding, done["candidate"], given))
            undone = describe_undone(
                [e for d in done.get("edits", []) if not (e := EditDecision.model_validate(d)).taken]
            )
            why = done["why"] if not named else f"{done['why']}. Wrong with it: {'; '.join(named)}"
            if undone and undone not in why:
                why = f"{why}. Undone in it: {undone}"
            drawn = Drawn.model_validate(done["drawn"]) if done.get("drawn") else None
            if drawn is not None and drawn.refused:
                why = f"{why}. Not made: {'; '.join(drawn.refused)}"
            found.append(Rejection(written, why, () if drawn is None else drawn.changes))
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
    return quoted(text, _LONGEST)


def why_kept(state: State, attempt: Attempt, last: str) -> str:
    """Why the text stands: the gate's reason against the last rewrite, or that nothing could be corrected, and what.

    `last` is the gate's word on the attempt that ends the run. A reply that is no rewrite is told from one that failed.
    """
    reasons = list(_against_rewrites(state, attempt, last))
    if reasons:
        then = "" if reasons[-1] == last else f"; then {last}"
        return f"no rewrite passed the gate: {reasons[-1]}{then}"
    critique = load_critique(state)
    if critique is None or critique.is_complete:
        return f"nothing was rewritten: {last}"
    return f"nothing could be corrected: {_found(critique)}; {last}"


def _against_rewrites(state: State, attempt: Attempt, last: str) -> Iterator[str]:
    """The gate's reasons against the rewrites of the text as it stands, oldest first."""
    rounds = state.get("rounds", [])
    accepted = [n for n, round_ in enumerate(rounds, start=1) if round_["decision"] == "accept"]
    tried = [(r.get("written") or r["candidate"], r["why"]) for r in rounds[accepted[-1] if accepted else 0 :]]
    texts = {"answer": item_of(state).answer, "best": best_text(state)}
    rejected: list[str] = []
    for candidate, why in [*tried, (attempt.written or attempt.candidate, last)]:
        if candidate is not None and unusable(candidate, rejected=rejected, **texts) is None:
            rejected.append(candidate)
            yield why


def _found(critique: Critique) -> str:
    faulty, total = critique.incomplete, len(critique.sentences)
    reason = " ".join((faulty[0].reason or "").split()).rstrip(".")
    reason = reason if len(reason) <= _LONGEST_REASON else reason[:_LONGEST_REASON].rsplit(" ", 1)[0] + " ..."
    counted = f"{len(faulty)} of {total} sentence{'' if total == 1 else 's'}"
    return f"in {counted} a fault was found ({'' if len(faulty) == 1 else 'the first: '}{reason})"
