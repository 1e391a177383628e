"""Ending: the one place that decides with which status a run ends, and says why.

Every function gives the update of a state that ends its run. What was accepted in an earlier round stays accepted.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from langgraph.types import Overwrite

from eirene.agent.attempt import Attempt
from eirene.agent.state import Json, State, best_text, item_of, load_critique, load_samples
from eirene.core.critique import Critique
from eirene.core.errors import EireneError
from eirene.core.records import Status
from eirene.feedback_model.base import Scope
from eirene.gate import unusable
from eirene.gate.verdict import UNCHANGED
from eirene.text.quoting import one_line

FAILED = "failed, the original stands"
STOPPED = "a person stopped before the rewriting, so the text stands as it was"
_LONGEST_REASON = 160


def ended(state: State, status: Status, why: str) -> Json:
    """The status at the end."""
    if any(r["decision"] == "accept" for r in state.get("rounds", [])):
        return {"status": "accepted", "why": f"an earlier round's rewrite stands; then {why}"}
    return {"status": status, "why": why}


def without_critique(state: State, abstained: str | None) -> Json:
    """`not_checked` where no critic had anything that it could check; `abstained` where they came to no critique."""
    samples = load_samples(state)
    if samples and all(sample.not_checked for sample in samples):
        return ended(state, "not_checked", "; ".join(dict.fromkeys(sample.invalid or "" for sample in samples)))
    return ended(state, "abstained", abstained or "no usable critique")


def without_fault(state: State, scope: Scope) -> Json:
    """`complete` where nothing was left unchecked; passages do not tell what an answer ought to have said."""
    item = item_of(state)
    is_all = scope.unchecked is None and (bool(item.perspectives) or not item.context)
    return ended(state, "complete" if is_all else "no_fault_found", str(scope))


def stopped(state: State, critique: Critique) -> Json:
    """What a person's stop ends in: the faults of the critique stand."""
    standing = cast(Status, state.get("status") or "complete") if critique.is_complete else "flagged"
    return ended(state, standing, STOPPED)


def unchanged(state: State, attempt: Attempt, last: str) -> Json:
    """`kept` where a rewrite was turned down; `flagged` where there was none, and a fault stands; else `not_checked`.

    `last` is the gate's word on the attempt that ends the run. A reply that is no rewrite is told from one that failed.
    """
    reasons = list(_against_rewrites(state, attempt, last))
    if reasons:
        then = "" if reasons[-1] == last else f"; then {last}"
        return ended(state, "kept", f"no rewrite was accepted: {reasons[-1]}{then}")
    critique = load_critique(state)
    if critique is None or critique.is_complete:
        return ended(state, "not_checked", f"nothing was rewritten: {last}")
    then = "" if last == UNCHANGED else f"; {last}"
    return ended(state, "flagged", f"nothing could be corrected: {_found(critique)}{then}")


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
    reason = one_line((faulty[0].reason or "").rstrip(" .\n"), _LONGEST_REASON)
    counted = f"{len(faulty)} of {total} sentence{'' if total == 1 else 's'}"
    return f"in {counted} a fault was found ({'' if len(faulty) == 1 else 'the first: '}{reason})"


def failure(state: State, error: Exception) -> Json:
    """The update that ends a run at an error: the reason, and the round that was under way, if there was one."""
    kind = error.kind if isinstance(error, EireneError) else type(error).__name__
    failed = failed_with(kind, str(error) or "no message")
    attempt = Attempt.of(state)
    if not state.get("samples") and attempt.candidate is None:
        return failed
    # Something was drawn or written that no round of the record holds yet.
    return {**failed, **attempt.model_copy(update={"scores": {}}).as_round(state, decision="reject", why=failed["why"])}


def late_state(state: State, deadline_s: float) -> State:
    """The state as that of a run whose time is up: failed, with the original answer."""
    # A graph's input has LangGraph's mark around what must not be added to an earlier run's.
    reached = {key: value.value if isinstance(value, Overwrite) else value for key, value in state.items()}
    failed = failed_with("Deadline", f"the item took longer than deadline_s = {deadline_s:g}")
    return cast(State, {**reached, **failed})


def failed_with(kind: str, message: str) -> Json:
    """The update of a state that an error ends, whatever was accepted before."""
    return {"status": "failed", "why": f"{FAILED}: {message}", "error": {"kind": kind, "message": message}}
