"""One record of a report as short lists: what its line in the list needs, and what it shows when it is opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from eirene.given import given_for
from eirene.records import Item, Record, Round
from eirene.scores import Score, number
from eirene.views.diff import diff
from eirene.views.facts import (
    Vote,
    consistency,
    cost,
    last_candidate,
    other_findings,
    score_table,
    votes,
)
from eirene.views.visible import visible

_MOST_CELLS = 100
_CELL: dict[Vote, str] = {"incomplete": "n", "complete": "y", "invalid": "b"}


def index_of(record: Record) -> list[Any]:
    """Id, question, mode, status, seed."""
    return [visible(record.id), visible(record.question), record.mode, record.status, record.seed]


def details_of(record: Record, item: Item | None, *, signature: int) -> dict[str, Any]:
    """Everything else that the page shows of a record, texts made visible. `signature` is a number in the page's list.

    Diff pieces are [kind, text], kind 0 both, 1 gone, 2 new, 3 moved away, 4 moved here; votes are a character each.
    """
    table = score_table(record)
    return {
        "why": visible(record.why),
        "diff": _diff(record),
        "answer": None if record.status == "accepted" else visible(record.original),
        "critiques": [_critique(n, r, record) for n, r in enumerate(record.rounds, start=1) if _is_new(record, n)],
        "columns": list(table.columns),
        "scores": [[row.detector, row.error, [_rounded(s) for s in row.scores]] for row in table.rows],
        "notes": [visible(note) for note in table.notes],
        "arguments": list(_arguments(record, item)),
        "rounds": [[r.decision, visible(r.why), r.candidate is not None] for r in record.rounds],
        "cost": cost(record.usage),
        "backend": visible(record.backend),
        "signature": signature,
        "error": None if record.error is None else visible(f"{record.error.kind}: {record.error.message}"),
    }


def _diff(record: Record) -> list[list[Any]]:
    candidate = last_candidate(record)
    if candidate is None:
        return []
    pieces: list[list[Any]] = []
    for line in diff(record.original, candidate):
        for piece in line.pieces:
            kind = {
                "same": 0,
                "gone": 3 if line.kind == "moved away" else 1,
                "new": 4 if line.kind == "moved here" else 2,
            }
            if pieces and pieces[-1][0] == kind[piece.kind] == 0:
                pieces[-1][1] += visible(piece.text)
            else:
                pieces.append([kind[piece.kind], visible(piece.text)])
    return pieces


def _is_new(record: Record, n: int) -> bool:
    """Whether round `n` brought a critique of its own, not that of the round before."""
    critique = record.rounds[n - 1].critique
    if critique is None:
        return bool(record.rounds[n - 1].samples)
    return n == 1 or critique != record.rounds[n - 2].critique


def _critique(n: int, round_: Round, record: Record) -> dict[str, Any]:
    cast = votes(round_)
    sentences = [
        [
            s.tag == "Complete",
            visible(s.text),
            visible(s.reason or ""),
            [[kind, visible(reason)] for kind, reason in other_findings(s)],
            "".join(_CELL[v] for v in cast[i][:_MOST_CELLS]) if cast else "",
            [cast[i].count("incomplete"), cast[i].count("invalid"), len(cast[i])] if cast else [],
        ]
        for i, s in enumerate(round_.critique.sentences if round_.critique else ())
    ]
    return {"round": n, "said": consistency(round_), "sentences": sentences}


def _arguments(record: Record, item: Item | None) -> Iterator[list[Any]]:
    """Detector, group, text or number, coverage error before and after, of each given argument."""
    given = None if item is None else given_for(item)
    texts = {
        (group.name, n): text
        for group in (given.groups if given is not None and given.source != "derived" else ())
        for n, text in enumerate(group.arguments, start=1)
    }
    for name, before in record.scores.original.items():
        after = record.scores.final.get(name)
        known = {} if after is None else {(a.group, a.n): a.coverage for a in after.arguments}
        for a in before.arguments:
            end = known.get((a.group, a.n))
            text = texts.get((a.group, a.n), f"number {a.n}")
            yield [name, visible(a.group), visible(text), _rounded(a.coverage), None if end is None else _rounded(end)]


def _rounded(score: Score) -> float | None:
    value = number(score)
    return None if value is None else round(value, 3)
