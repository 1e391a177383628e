"""A round as the state holds it for the record, and how a step that fails ends the run with what was tried."""

from __future__ import annotations

from typing import Literal

from eirene.agent.state import Json, State
from eirene.core.errors import EireneError


def new_round(state: State, *, candidate_scores: Json, decision: Literal["accept", "reject"], why: str) -> list[Json]:
    """The round that the state is in, as an update of its list of rounds."""
    return [
        {
            "critique": state.get("critique"),
            "samples": state.get("samples", []),
            "candidate": state.get("candidate"),
            "scores": candidate_scores,
            "decision": decision,
            "why": why,
        }
    ]


def failure(state: State, error: Exception) -> Json:
    """The update that ends a run at an error: the reason, and the round that was under way, if there was one."""
    kind = error.kind if isinstance(error, EireneError) else type(error).__name__
    message = str(error) or "no message"
    why = f"failed, the original stands: {message}"
    tried = new_round(state, candidate_scores={}, decision="reject", why=why) if _has_open_round(state) else []
    return {"status": "failed", "why": why, "error": {"kind": kind, "message": message}, "rounds": tried}


def _has_open_round(state: State) -> bool:
    """Whether something was drawn or written that no round of the record holds yet."""
    return bool(state.get("samples") or state.get("candidate") is not None)
