"""Rejections: what a refiner is told of rewrites that the gate turned down, and of edits undone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from eirene.agent.state import State, item_of, load_critique, load_scores
from eirene.core.grounding import Grounding, grounding_for
from eirene.core.records import Drawn, EditDecision
from eirene.core.scores import ArgumentScore, Scores, number
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
    return f"{_quoted(edit.new or edit.old)} ({edit.why})"


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
