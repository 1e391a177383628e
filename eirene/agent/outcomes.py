"""The sentence in which a run ends without a rewrite: what a vote looked for and did not find, what was not mended."""

from __future__ import annotations

from collections.abc import Iterator

from eirene.agent.critics import critics_of
from eirene.agent.gate import unusable
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State, best_text, item_of, load_critique
from eirene.core.critique import Critique
from eirene.core.records import Item
from eirene.feedback_model.base import Limited, Reach

_LONGEST = 160  # characters of a reason


def reach_of(critique: Critique, item: Item, parts: Parts, settings: Settings) -> Reach:
    """What was looked for in an answer, and what was not: by the critics that voted, or by a person."""
    if settings.mode == "human":
        return Reach("no sentence has a note")
    vote = critique.hallucination
    no_vote = {
        "completeness": critique.abstained is not None,
        "hallucination": vote is not None and vote.abstained is not None,
    }
    found = {kind: _reach(kind, critic, item) for kind, critic in critics_of(parts, settings) if not no_vote[kind]}
    first = found.get("completeness")
    if first is None:
        return found["hallucination"]
    if "hallucination" in found and first.unchecked is None:
        return Reach("no fault was found")
    if no_vote["hallucination"] and first.unchecked is None:
        return Reach(first.nothing_found, "whether something said is false")
    return first


def _reach(kind: str, critic: object, item: Item) -> Reach:
    limited = critic.reach(item) if isinstance(critic, Limited) else None
    if limited is not None:
        return limited
    if kind == "hallucination":
        return Reach("no hallucination was found", "whether something is missing")
    return Reach("nothing incomplete was found")


def why_kept(state: State, last: str) -> str:
    """Why the text stands: the gate's reason against the last rewrite, or that nothing could be mended, and what.

    `last` is the gate's word on the round that ends the run. A reply that is no rewrite is told from one that failed.
    """
    reasons = list(_against_rewrites(state, last))
    if reasons:
        then = "" if reasons[-1] == last else f"; then {last}"
        return f"no rewrite passed the gate: {reasons[-1]}{then}"
    critique = load_critique(state)
    if critique is None or critique.is_complete:
        return f"nothing was rewritten: {last}"
    return f"nothing could be mended: {_found(critique)}; {last}"


def _against_rewrites(state: State, last: str) -> Iterator[str]:
    """The gate's reasons against the rewrites of the text as it stands, oldest first."""
    rounds = state.get("rounds", [])
    accepted = [n for n, round_ in enumerate(rounds, start=1) if round_["decision"] == "accept"]
    tried = [(r["candidate"], r["why"]) for r in rounds[accepted[-1] if accepted else 0 :]]
    texts = {"answer": item_of(state).answer, "best": best_text(state)}
    rejected: list[str] = []
    for candidate, why in [*tried, (state.get("candidate"), last)]:
        if candidate is not None and unusable(candidate, rejected=rejected, **texts) is None:
            rejected.append(candidate)
            yield why


def _found(critique: Critique) -> str:
    faulty, total = critique.incomplete, len(critique.sentences)
    reason = " ".join((faulty[0].reason or "").split()).rstrip(".")
    reason = reason if len(reason) <= _LONGEST else reason[:_LONGEST].rsplit(" ", 1)[0] + " ..."
    counted = f"{len(faulty)} of {total} sentence{'' if total == 1 else 's'}"
    return f"in {counted} a fault was found ({'' if len(faulty) == 1 else 'the first: '}{reason})"
