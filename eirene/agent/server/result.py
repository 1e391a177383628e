"""A run as data for the page: its events step by step, and in the end the answer, what changed in it, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from typing import Any

from eirene.agent.state import Event, State
from eirene.core.critique import HALLUCINATIONS, Critique, TaggedSentence
from eirene.core.findings.tags import in_order
from eirene.core.records import Item, Record, Round
from eirene.core.scores import ERRORS
from eirene.views.diff import DiffLine, DiffPiece, changes_in_words, diff, edits_taken, edits_undone
from eirene.views.facts import (
    STATUS_WORDS,
    consistency,
    cost,
    last_candidate,
    readings,
    rewrites,
    score_table,
    unchecked,
    votes,
)
from eirene.views.faults import WORDS, marked_spans, verdict_of
from eirene.views.outcome import support_in_words

Json = dict[str, Any]
RunEvent = dict[str, Any]
OnRunEvent = Callable[[RunEvent], None]
_FROM_STATE = frozenset({"critique", "scores", "decision"})  # told in full by the state, rather than in a few words

_SHARED = 0.5
"""The share of a sentence's characters that has to stay for its changes to be shown word by word."""


def shown_critique(critique: Critique, text: str) -> Json:
    """A critique of `text`: its sentences with what is wrong with them and missing beside them, and the known edits."""
    keys = ("tag_consistency", "reason_consistency", "n_valid", "n_drawn")
    findings = [f for s in critique.sentences for f in s.findings if f.kind in HALLUCINATIONS and f.edit is not None]
    ordered = in_order(findings)
    alone = {(f.start, f.end, f.edit): f for f in reversed(ordered)}  # two critics may name the same edit
    edits = [
        {**f.model_dump(mode="json"), "old": text[f.start : f.end], "word": WORDS[f.kind]}
        for f in ordered
        if alone[f.start, f.end, f.edit] is f
    ]
    return {
        **{key: getattr(critique, key) for key in keys},
        "text": text,
        "sentences": list(map(_sentence, critique.sentences)),
        "edits": edits,
        "unchecked": unchecked(critique),
    }


def _sentence(sentence: TaggedSentence) -> Json:
    verdict = verdict_of(sentence)
    return {
        **sentence.model_dump(mode="json", include={"n", "text", "tag", "reason"}),
        "spans": [[run.text, run.kind, run.edit] for run in marked_spans(sentence)],
        "faults": [{"word": fault.word, "reasons": fault.reasons} for fault in verdict.faults],
        "gaps": [asdict(gap) for gap in verdict.gaps],
        "votes_for_gap": verdict.votes_for_gap,
    }


def shown_diff(before: str, after: str) -> list[Json]:
    """The sentences of two texts in reading order, each with its pieces; no word diff where too little is shared."""
    return [asdict(line) for found in diff(before, after) for line in _readable(found)]


def shown_result(record: Record, item: Item) -> Json:
    """What the page shows of a finished run: no scores without their rows, no text without its place."""
    rewrite = last_candidate(record)
    table = score_table(record)
    text = record.original
    rounds: list[Json] = []
    for n, (round_, new) in enumerate(zip(record.rounds, rewrites(record), strict=True), start=1):
        drawn = _round(round_, text, record.rounds[n - 2] if n > 1 else None, readings(record))
        rounds.append({"n": n, "rewritten": new is not None, **drawn})
        if round_.decision == "accept" and round_.candidate is not None:
            text = round_.candidate
    return {
        "status": record.status,
        "outcome": STATUS_WORDS[record.status],
        "why": record.why,
        "support": support_in_words(record),
        "error": None if record.error is None else record.error.model_dump(),
        "answer": record.answer,
        "diff": None if rewrite is None else shown_diff(record.original, rewrite),
        "changes": "" if rewrite is None else changes_in_words(diff(record.original, rewrite)),
        "rounds": rounds,
        "scores": {
            "columns": table.columns,
            "rows": [
                {
                    "detector": row.detector,
                    "error": row.error,
                    "advisory": row.advisory,
                    "scores": row.scores,
                }
                for row in table.rows
            ],
            "notes": table.notes,
        },
        "facts": f"mode {record.mode}, backend {record.backend}, seed {record.seed}; {cost(record.usage)}",
        "item": item.model_dump(mode="json", include={"question", "history", "answer", "perspectives", "context"}),
    }


def _round(round_: Round, text: str, before: Round | None, drawn: str) -> Json:
    critique = round_.critique
    is_new = critique is not None and (before is None or critique != before.critique)
    counted = votes(round_)
    shown = shown_critique(critique, text) if critique is not None and is_new else None
    if shown is not None:
        for sentence, cast in zip(shown["sentences"], counted, strict=False):
            sentence["votes"] = [cast.count("incomplete"), len(cast) - cast.count("invalid")]
    return {
        "decision": round_.decision,
        "why": round_.why,
        "candidate": round_.candidate,
        "critique": shown,
        "agreement": consistency(round_, drawn) if is_new else "",
        "taken": edits_taken(round_),
        "undone": [asdict(edit) for edit in edits_undone(round_)],
    }


def _readable(line: DiffLine) -> Iterator[DiffLine]:
    """The line; or, where less than half of a changed sentence stays, the old sentence and the new one, each whole."""
    if line.kind == "changed":
        old, new = ("".join(p.text for p in line.pieces if p.kind in ("same", own)) for own in ("gone", "new"))
        same = sum(len(piece.text) for piece in line.pieces if piece.kind == "same")
        if same < _SHARED * max(len(old), len(new)):
            yield DiffLine("gone", (DiffPiece("gone", old),))
            yield DiffLine("new", (DiffPiece("new", new),))
            return
    yield line


class RunReporter:
    """Tells of one choice of a run: each event with the number of the choice, and what is new in the state."""

    def __init__(self, tell: OnRunEvent, choice: int, *, advisory: Collection[str] = ()) -> None:
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
            text = state.get("best", state["item"]["answer"])
            self._send("critique_chosen", state, **shown_critique(Critique.model_validate(critique), text))
        attempt = state.get("attempt") or {}
        candidate = self._new("candidate", attempt.get("candidate"))
        if candidate is not None:
            before = state.get("best", state["item"]["answer"])
            told = {"before": before, "after": candidate, "unusable": attempt.get("unusable")}
            self._send("rewrite", state, **told, diff=shown_diff(before, candidate))
        if scores := self._new("scores", attempt.get("scores")):
            before, after = _errors(state.get("best_scores", {})), _errors(scores)
            self._send("scored", state, before=before, after=after, advisory=self._advisory)
        rounds = state.get("rounds") or []
        if len(rounds) > self._seen.get("rounds", 0):
            last = rounds[-1]
            decided = {"decision": last["decision"], "why": last["why"], "rewritten": last["candidate"] is not None}
            self._send("decided", state, number=len(rounds), **decided)
        self._seen["rounds"] = len(rounds)

    def _send(self, kind: str, state: State, **more: Any) -> None:
        self._tell({"kind": kind, "choice": self._choice, "round": state.get("round", 1), **more})

    def _new(self, key: str, value: Any) -> Any:
        """The value where it is another than before."""
        is_new = value != self._seen.get(key)
        self._seen[key] = value
        return value if is_new else None


def _votes(samples: list[RunEvent]) -> RunEvent:
    """How many of the valid samples called each sentence incomplete."""
    valid = [s["tags"] for s in samples if s["invalid"] is None]
    counts = [sum(tag == "Incomplete" for tag in column) for column in zip(*valid, strict=True)]
    return {"incomplete": counts, "valid": len(valid), "drawn": len(samples)}


def _errors(scores: RunEvent) -> RunEvent:
    """The answer's two error scores by detector; null where one is unscored."""
    return {
        name: {error: None if isinstance(found[error], dict) else float(found[error]) for error in ERRORS}
        for name, found in scores.items()
    }
