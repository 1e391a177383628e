"""What a run shows of itself while it runs: the loop's own events, and what the state holds after each step."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import astuple
from typing import Any

from eirene.agent.state import Event, State
from eirene.core.critique import HALLUCINATIONS, Critique
from eirene.core.findings.tags import in_order
from eirene.views import kinds_in, spans_of

News = dict[str, Any]
Tell = Callable[[News], None]
_ERRORS = ("hallucination", "coverage")
_FROM_STATE = frozenset({"critique", "scores", "decision"})  # told in full by the state, rather than in a few words


class Watcher:
    """Tells of one choice of a run: each event with the number of the choice, and what is new in the state."""

    def __init__(self, tell: Tell, choice: int, *, advisory: Collection[str] = ()) -> None:
        self._tell = tell
        self._advisory = sorted(advisory)
        self._choice = choice
        self._seen: dict[str, Any] = {}

    def on_event(self, event: Event) -> None:
        """Passes the loop's own events on."""
        if event["kind"] not in _FROM_STATE or event["node"] == "select_critique":
            self._tell({**event, "choice": self._choice})

    def on_state(self, state: State) -> None:
        """Tells of votes, critique, rewrite, scores and decision as soon as the state has them."""
        if samples := self._new("samples", state.get("samples")):
            self._send("votes", state, **_votes(samples))
        if critique := self._new("critique", state.get("critique")):
            self._send("critique_chosen", state, **_critique(critique, state.get("best", state["item"]["answer"])))
        candidate = self._new("candidate", state.get("candidate"))
        if candidate is not None:
            before = state.get("best", state["item"]["answer"])
            self._send("rewrite", state, before=before, after=candidate, unusable=state.get("unusable"))
        if scores := self._new("candidate_scores", state.get("candidate_scores")):
            before, after = _errors(state.get("best_scores", {})), _errors(scores)
            self._send("scored", state, before=before, after=after, advisory=self._advisory)
        rounds = state.get("rounds") or []
        if len(rounds) > self._seen.get("rounds", 0):
            last = rounds[-1]
            told = {"decision": last["decision"], "why": last["why"], "rewritten": last["candidate"] is not None}
            self._send("decided", state, number=len(rounds), **told)
        self._seen["rounds"] = len(rounds)

    def _send(self, kind: str, state: State, **more: Any) -> None:
        self._tell({"kind": kind, "choice": self._choice, "round": state.get("round", 1), **more})

    def _new(self, key: str, value: Any) -> Any:
        """The value where it is another than before."""
        is_new = value != self._seen.get(key)
        self._seen[key] = value
        return value if is_new else None


def _critique(critique: News, text: str) -> News:
    """What is shown of a critique of `text`: its sentences in runs by what was found, and the edits that are known."""
    found = Critique.model_validate(critique)
    keys = ("tag_consistency", "reason_consistency", "n_valid", "n_drawn")
    sentences = [{**s.model_dump(mode="json"), "spans": [astuple(r) for r in spans_of(s)]} for s in found.sentences]
    findings = [f for s in found.sentences for f in s.findings if f.kind in HALLUCINATIONS and f.edit is not None]
    edits = [{**f.model_dump(mode="json"), "old": text[f.start : f.end]} for f in in_order(findings)]
    return {**{k: critique.get(k) for k in keys}, "sentences": sentences, "text": text,
            "kinds": kinds_in([found]), "edits": edits, "unchecked": found.unchecked}  # fmt: skip


def _votes(samples: list[News]) -> News:
    """How many of the valid samples called each sentence incomplete."""
    valid = [s["tags"] for s in samples if s["invalid"] is None]
    counts = [sum(tag == "Incomplete" for tag in column) for column in zip(*valid, strict=True)]
    return {"incomplete": counts, "valid": len(valid), "drawn": len(samples)}


def _errors(scores: News) -> News:
    """The answer's two error scores by detector; null where one is unscored."""
    return {name: {error: _number(found[error]) for error in _ERRORS} for name, found in scores.items()}


def _number(score: Any) -> float | None:
    return None if isinstance(score, dict) else float(score)
