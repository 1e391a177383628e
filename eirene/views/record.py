"""A record as data for HTML pages, alone or as a line of a report.

The maps of words that a record's scores hold: which words of the given went into which words of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from eirene.core.grounding import grounding_for
from eirene.core.history import HistoryTurn
from eirene.core.records import Item, Record
from eirene.core.scores import Scores
from eirene.views.critiques import ShownCritique, critiques_of
from eirene.views.diff import DiffLine, DiffLineKind, ShownEdit, diff, edits_taken, edits_undone
from eirene.views.facts import PolledText, ScoreRow, compared_texts, last_candidate, polled_texts, rewrites, score_table
from eirene.views.outcome import (
    Bearing,
    Found,
    GivenTexts,
    ShownArgument,
    ShownOpen,
    arguments_of,
    now_said,
    still_open,
    summary_of,
)
from eirene.views.verification import RecordClaims, Verified, claims_of

MOST_WORDS = 120
"""On a side; a longer one is cut, and the page says so."""

Share = tuple[int, int, float]


@dataclass(frozen=True, slots=True)
class ShownMap:
    """A map: what it is of, a note where words are cut, (group, word) of each row, the columns' words, the shares."""

    title: str
    note: str
    rows: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    shares: tuple[Share, ...]


def word_maps(record: Record, item: Item | None) -> Iterator[ShownMap]:
    """The maps of the original and, where a rewrite was accepted, of the answer; each once, whoever has it.

    None without the `item`: a record does not repeat the given text.
    """
    given = None if item is None else grounding_for(item)
    if given is None or given.source == "derived":
        return
    texts = {(group.name, n): text for group in given.groups for n, text in enumerate(group.arguments, start=1)}
    sides = [("the original", record.original, record.scores.original)]
    if record.status == "accepted":
        sides.append(("the answer", record.answer, record.scores.final))
    for what, answer, by_name in sides:
        named: dict[tuple[Share, ...], list[str]] = {}
        for name, found in by_name.items():
            named.setdefault(found.shares, []).append(name)
        for shares, names in named.items():
            title = f"From the given to {what}, word by word ({', '.join(names)})"
            shown = _shown(title, answer, by_name[names[0]], texts) if shares else None
            if shown is not None:
                yield shown


def _shown(title: str, answer: str, scores: Scores, texts: Mapping[tuple[str, int], str]) -> ShownMap | None:
    rows = [
        (argument.group, texts.get((argument.group, argument.n), "")[word.start : word.end])
        for argument in scores.arguments
        for word in argument.words
    ]
    if not all(word for _, word in rows):  # the item is not the one that was scored
        return None
    columns = [answer[word.start : word.end] for word in scores.words]
    cut = [
        f"the first {MOST_WORDS} of {len(side)} words of {name}"
        for name, side in (("what was given", rows), ("the answer", columns))
        if len(side) > MOST_WORDS
    ]
    note = f"Shown are {' and '.join(cut)}." if cut else ""
    rows, columns = rows[:MOST_WORDS], columns[:MOST_WORDS]
    shares = tuple(share for share in scores.shares if share[0] < len(rows) and share[1] < len(columns))
    return ShownMap(title, note, tuple(rows), tuple(columns), shares)


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A run of text and what was done to it: `removed`, `added`, `moved from here`, `moved to here`, or "" for nothing.

    Pieces lose nothing: all but those that were added or moved here, joined, are the original.
    """

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A sentence of the comparison; `kind` is `same`, `changed`, `new`, `gone`, `moved here` or `moved away`.

    `faults`: the words for what was wrong with it in the original; `missing` for one that was not in it.
    """

    kind: DiffLineKind
    pieces: tuple[ShownPiece, ...]
    faults: tuple[str, ...]


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

    `undone`: the edits that the gate undid, each with its round, from 1.
    """

    summary: str
    diff: tuple[ShownLine, ...]
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


def view_of(
    record: Record, item: Item | None = None, *, bearing: Bearing | None = None, verified: Verified | None = None
) -> RecordView:
    """What is shown of a record. With the `item`, given arguments stand in words and not by number alone.

    `bearing` tells which sentences of the passages a detector of sentences scored; `verified` verifies the answer and
    the original against what the item gives.
    """
    candidate = last_candidate(record)
    lines = () if candidate is None else diff(record.original, candidate)
    table, critiques = score_table(record), critiques_of(record)
    found = Found(critiques)
    arguments = tuple(arguments_of(record, GivenTexts(item, bearing)))
    return RecordView(
        summary=summary_of(record, lines),
        diff=tuple(_line(line, found.of(line)) for line in lines),
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


def _line(line: DiffLine, faults: tuple[str, ...]) -> ShownLine:
    names = {
        "same": "",
        "gone": "moved from here" if line.kind == "moved away" else "removed",
        "new": "moved to here" if line.kind == "moved here" else "added",
    }
    return ShownLine(line.kind, tuple(ShownPiece(names[p.kind], p.text) for p in line.pieces), faults)


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
    cuts += [f"the first {LONGEST_TURN:,} characters of each"] if any(map(_is_long, last)) else []
    note = f"Shown are {', '.join(cuts)}; the record holds all." if cuts else ""
    return ShownConversation(title, note, tuple((turn.role, _cut(turn)) for turn in last))


def _is_long(turn: HistoryTurn) -> bool:
    return len(turn.content) > LONGEST_TURN


def _cut(turn: HistoryTurn) -> str:
    return f"{turn.content[:LONGEST_TURN]}…" if _is_long(turn) else turn.content
