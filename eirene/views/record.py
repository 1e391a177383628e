"""A record as data for HTML pages, alone or as a line of a report.

The maps of words that a record's scores hold: which words of the given went into which words of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from eirene.core.history import HistoryTurn
from eirene.core.records import Item, Record
from eirene.views.diff import DiffLine, ShownEdit, diff, edits_taken, edits_undone
from eirene.views.facts import PolledText, ScoreRow, compared_texts, last_candidate, polled_texts, rewrites, score_table
from eirene.views.outcome import (
    Found,
    ShownArgument,
    ShownCritique,
    ShownOpen,
    arguments_of,
    critiques_of,
    now_said,
    still_open,
    summary_of,
)
from eirene.views.salience import ShownMap, word_maps
from eirene.views.verification import RecordClaims, Verified, claims_of


@dataclass(frozen=True, slots=True)
class ShownRound:
    """A round's decision. `candidate` is None where nothing was rewritten, "" where it is the rewrite of the diff.

    `taken` says how many of its edits were.
    """

    decision: str
    why: str
    candidate: str | None
    taken: str


@dataclass(frozen=True, slots=True)
class RecordView:
    """Everything but the texts that a record's page has anyway: question, answer, status.

    `now_said`: arguments that are said now, or how many sentences the passages support. `undone`: the edits that the
    gate undid, each with its round, from 1.
    """

    summary: str
    diff: tuple[DiffLine, ...]
    now_said: tuple[str, ...]
    undone: tuple[tuple[int, ShownEdit], ...]
    open: tuple[ShownOpen, ...]
    critiques: tuple[ShownCritique, ...]
    columns: tuple[str, ...]
    scores: tuple[ScoreRow, ...]
    notes: tuple[str, ...]
    polls: tuple[PolledText, ...]
    arguments: tuple[ShownArgument, ...]
    rounds: tuple[ShownRound, ...]
    maps: tuple[ShownMap, ...]
    claims: RecordClaims | None


def view_of(record: Record, item: Item | None = None, *, verified: Verified | None = None) -> RecordView:
    """What is shown of a record. With the `item`, given arguments stand in words and not by number alone.

    `verified` verifies the answer and the original against what the item gives.
    """
    candidate = last_candidate(record)
    lines = () if candidate is None else diff(record.original, candidate)
    table, critiques = score_table(record), critiques_of(record)
    found = Found(critiques)
    arguments = tuple(arguments_of(record, item))
    return RecordView(
        summary=summary_of(record, lines),
        diff=tuple(replace(line, faults=found.of(line)) for line in lines),
        now_said=tuple(now_said(record, arguments)),
        undone=tuple((n, edit) for n, r in enumerate(record.rounds, start=1) for edit in edits_undone(r)),
        open=tuple(still_open(record, critiques, arguments)),
        critiques=critiques,
        columns=table.columns,
        scores=table.rows,
        notes=table.notes,
        polls=(*polled_texts(record), *compared_texts(record)),
        arguments=arguments,
        rounds=tuple(_rounds(record)),
        maps=tuple(word_maps(record, item)),
        claims=None if verified is None else claims_of(record, item, verified),
    )


def _rounds(record: Record) -> Iterator[ShownRound]:
    shown = last_candidate(record)
    for round_, rewrite in zip(record.rounds, rewrites(record), strict=True):
        candidate = "" if rewrite is not None and rewrite == shown else rewrite
        yield ShownRound(round_.decision, round_.why, candidate, edits_taken(round_))


LAST_TURNS = 20
LONGEST_TURN = 1_000
"""Of a page with many records: turns of each record, and characters of a turn."""


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """How many turns there are in words, a note where not all of it is shown, and (role, content) of each turn."""

    title: str
    note: str
    turns: tuple[tuple[str, str], ...]


def shown_conversation(history: Sequence[HistoryTurn] | None, *, bounded: bool = False) -> ShownConversation | None:
    """The turns before a record's question, or None; `bounded`: the last ones, each with its first characters."""
    if not history:
        return None
    title = f"The conversation before it: {len(history):,} turn{'s' if len(history) > 1 else ''}"
    if not bounded:
        return ShownConversation(title, "", tuple((turn.role, turn.content) for turn in history))
    last = history[-LAST_TURNS:]
    cuts = [f"the last {LAST_TURNS}"] if len(last) < len(history) else []
    texts = [turn.content[:LONGEST_TURN] + "…" * (len(turn.content) > LONGEST_TURN) for turn in last]
    is_long = any(text != turn.content for turn, text in zip(last, texts, strict=True))
    cuts += [f"the first {LONGEST_TURN:,} characters of each"] if is_long else []
    note = f"Shown are {', '.join(cuts)}; the record holds all." if cuts else ""
    return ShownConversation(title, note, tuple((turn.role, text) for turn, text in zip(last, texts, strict=True)))
