"""Spans of the graph's steps: which round, what the step found, and the gate's decision and checks."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from langgraph.errors import GraphBubbleUp

from eirene.agent.state import Json, State
from eirene.core.tracing import Attributes, OpenSpan, span
from eirene.core.usage import Usage

if TYPE_CHECKING:
    from eirene.agent.gate.edits import CheckedRewrite


def step_span(name: str, state: State) -> AbstractContextManager[OpenSpan | None]:
    """The span around a step. One that waits for a person ends there, and has not failed."""

    def began() -> Attributes:
        return {"eirene.step": name, "eirene.round": state.get("round", 1)}

    return span(name, began, shown_as="GUARDRAIL" if name == "gate" else "CHAIN", passing=(GraphBubbleUp,))


def tell_step(found: OpenSpan, changes: Json, spent: Usage) -> None:
    """Adds what a step changed in the state, and what its calls cost."""
    if spent.calls or spent.cache_hits:
        names = ("calls", "retries", "cache_hits", "input_tokens", "output_tokens")
        found.set({f"eirene.usage.{name}": getattr(spent, name) for name in names})
    samples, critique = changes.get("samples"), changes.get("critique")
    if samples:
        valid = sum(sample["invalid"] is None for sample in samples)
        found.set({"eirene.samples.drawn": len(samples), "eirene.samples.valid": valid})
    if critique is not None:
        found.set({"eirene.critique.sentences": len(critique["sentences"])})
        found.set_text("eirene.critique", lambda: json.dumps(critique, ensure_ascii=False))
    if changes.get("unusable"):
        found.set({"eirene.rewrite.unusable": True})
        found.set_text("eirene.rewrite.why_unusable", lambda: str(changes["unusable"]))
    if changes.get("candidate"):
        found.set_text("eirene.rewrite", lambda: str(changes["candidate"]))
    for judged in changes.get("rounds") or ():
        found.set({"eirene.decision": judged["decision"]})
        found.set_text("eirene.why", partial(str, judged["why"]))
    if changes.get("status"):
        found.set({"eirene.status": changes["status"]})
    error = changes.get("error")
    if error is not None:
        found.failed(error["kind"], error["message"])


def tell_checks(found: OpenSpan, checked: CheckedRewrite) -> None:
    """Adds how many edits the checks looked at, and how many they undid."""
    found.set({
        "eirene.edits": len(checked.decisions),
        "eirene.edits.undone": len(checked.undone),
        "eirene.edits.mended": len(checked.mended),
    })  # fmt: skip
