"""The root span of a run: what was asked for when it begins, how it ended and what it cost when it does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, add_usage, best_text
from eirene.core.tracing import Attributes, HeldSpan, OpenSpan, Tracing, held_span, root_span
from eirene.core.usage import Usage

_NAME = "invoke_workflow eirene"


class RunSpan:
    """The span of one run, or of the stretch of one up to a person's review."""

    def __init__(self, span: OpenSpan | None) -> None:
        self._span = span

    def ended(self, state: State) -> State:
        """Adds what became of the run, and returns the state as it is."""
        if self._span is not None:
            _tell(self._span, state)
        return state


@contextmanager
def run_span(
    start: Any, parts: Parts, settings: Settings, *, tracing: Tracing | None, thread_id: str | None
) -> Iterator[RunSpan]:
    """The span around a run that begins or goes on in the state `start`; nothing where runs are not traced."""

    with root_span(_NAME, _beginning(start, parts, settings, thread_id), tracing=tracing) as found:
        yield RunSpan(found)


def held_run_span(start: Any, parts: Parts, settings: Settings, *, tracing: Tracing, thread_id: str | None) -> HeldSpan:
    """The same for a graph that somebody else runs, piece by piece; `tell_run` says how it goes."""
    return held_span(_NAME, _beginning(start, parts, settings, thread_id), tracing=tracing)


def tell_run(step: OpenSpan | None, state: State, changes: Json) -> None:
    """Adds how a run stands after a step, from the span of the step, for a run whose end nobody tells."""
    if step is None or step.around is None:
        return
    rounds = [*(state.get("rounds") or []), *(changes.get("rounds") or [])]
    usage = add_usage(state.get("usage") or {}, changes.get("usage") or {})
    _tell(step.around, cast(State, {**state, **changes, "rounds": rounds, "usage": usage}))


def _beginning(start: Any, parts: Parts, settings: Settings, thread_id: str | None) -> Callable[[], Attributes]:
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

    return began


def _tell(span: OpenSpan, state: State) -> None:
    item, status = state["item"], state.get("status") or "waiting"
    usage = Usage.model_validate(state.get("usage") or {})
    span.set({
        "eirene.status": status,
        "eirene.rounds": len(state.get("rounds") or []),
        # Not `gen_ai.usage`: who adds up the tokens of a trace would count those of its calls twice.
        **{f"eirene.usage.{name}": value for name, value in usage.model_dump().items()},
    })  # fmt: skip
    span.set_messages(
        "gen_ai.input.messages", lambda: [("user", item["question"], None), ("assistant", item["answer"], None)]
    )
    shown = best_text(state) if status == "accepted" else item["answer"]
    span.set_messages("gen_ai.output.messages", lambda: [("assistant", shown, "stop")])
    span.set_text("eirene.why", lambda: state.get("why") or "")
    error = cast("dict[str, str] | None", state.get("error"))
    if error is not None:
        span.failed(error["kind"], error["message"])
