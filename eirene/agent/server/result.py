"""A run as data for the page: the answer, what changed in it, why, and the details; critiques and comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from eirene.core.critique import HALLUCINATIONS, Critique, TaggedSentence
from eirene.core.findings.tags import in_order
from eirene.core.records import Item, Record, Round
from eirene.views.diff import DiffLine, DiffPiece, changes_in_words, diff, edits_taken, edits_undone
from eirene.views.facts import STATUS_WORDS, consistency, cost, last_candidate, score_table, unchecked, votes
from eirene.views.faults import WORDS, marked_spans, verdict_of

Json = dict[str, Any]

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
    for n, round_ in enumerate(record.rounds, start=1):
        rounds.append({"n": n, **_round(round_, text, record.rounds[n - 2] if n > 1 else None)})
        if round_.decision == "accept" and round_.candidate is not None:
            text = round_.candidate
    return {
        "status": record.status,
        "outcome": STATUS_WORDS[record.status],
        "why": record.why,
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


def _round(round_: Round, text: str, before: Round | None) -> Json:
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
        "rewritten": round_.candidate is not None,
        "candidate": round_.candidate,
        "critique": shown,
        "agreement": consistency(round_) if is_new else "",
        "taken": edits_taken(round_),
        "undone": [asdict(edit) for edit in edits_undone(round_)],
    }


def _readable(line: DiffLine) -> Iterator[DiffLine]:
    """The line; or, where less than half of a changed sentence stays, the old sentence and the new one, each whole."""
    if line.kind == "changed":
        old, new = (_joined(line, other) for other in ("gone", "new"))
        same = sum(len(piece.text) for piece in line.pieces if piece.kind == "same")
        if same < _SHARED * max(len(old), len(new)):
            yield DiffLine("gone", (DiffPiece("gone", old),))
            yield DiffLine("new", (DiffPiece("new", new),))
            return
    yield line


def _joined(line: DiffLine, kind: str) -> str:
    return "".join(piece.text for piece in line.pieces if piece.kind in ("same", kind))
