"""Spans of a run and of its steps: what was asked for, what each step found, how the run ended and what it cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, cast

from langgraph.errors import GraphBubbleUp

from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, best_text
from eirene.core.tracing import Attributes, OpenSpan, Tracing, root_span, span
from eirene.core.usage import Usage


@contextmanager
def run_span(
    start: Any, parts: Parts, settings: Settings, *, tracing: Tracing | None, thread_id: str | None
) -> Iterator[Callable[[State], State]]:
    """The span around a run, or a stretch of one, that begins in the state `start`; what it yields notes the end."""

    def began() -> Attributes:
        return {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": "eirene",
            "gen_ai.conversation.id": thread_id,
            "eirene.item.id": start.get("item", {}).get("id"),
            "eirene.mode": settings.mode,
            "eirene.critic": settings.critic,
            "eirene.backend": parts.backend,
            "eirene.samples": settings.samples,
            "eirene.seed": start.get("seed"),
        }

    with root_span("invoke_workflow eirene", began, tracing=tracing) as found:

        def ended(state: State) -> State:
            if found is not None:
                _tell_run(found, state)
            return state

        yield ended


def _tell_run(found: OpenSpan, state: State) -> None:
    item, status = state["item"], state.get("status") or "waiting"
    usage = Usage.model_validate(state.get("usage") or {})
    found.set({
        "eirene.status": status,
        "eirene.rounds": len(state.get("rounds") or []),
        # Not `gen_ai.usage`: who adds up the tokens of a trace would count those of its calls twice.
        **{f"eirene.usage.{name}": value for name, value in usage.model_dump().items()},
    })  # fmt: skip
    found.set_messages(
        "gen_ai.input.messages", lambda: [("user", item["question"], None), ("assistant", item["answer"], None)]
    )
    shown = best_text(state) if status == "accepted" else item["answer"]
    found.set_messages("gen_ai.output.messages", lambda: [("assistant", shown, "stop")])
    found.set_text("eirene.why", lambda: state.get("why") or "")
    error = cast("dict[str, str] | None", state.get("error"))
    if error is not None:
        found.failed(error["kind"], error["message"])


def step_span(name: str, state: State) -> AbstractContextManager[OpenSpan | None]:
    """The span around a step. One that waits for a person ends there, and has not failed."""

    def began() -> Attributes:
        return {"eirene.step": name, "eirene.round": state.get("round", 1)}

    return span(name, began, shown_as="GUARDRAIL" if name in ("check", "gate") else "CHAIN", passing=(GraphBubbleUp,))


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
    attempt = changes.get("attempt") or {}
    if attempt.get("unusable"):
        found.set({"eirene.rewrite.unusable": True})
        found.set_text("eirene.rewrite.why_unusable", lambda: str(attempt["unusable"]))
    if attempt.get("candidate"):
        found.set_text("eirene.rewrite", lambda: str(attempt["candidate"]))
    for judged in changes.get("rounds") or ():
        found.set({"eirene.decision": judged["decision"]})
        found.set_text("eirene.why", partial(str, judged["why"]))
    if changes.get("status"):
        found.set({"eirene.status": changes["status"]})
    error = changes.get("error")
    if error is not None:
        found.failed(error["kind"], error["message"])
