"""A record as data for HTML pages, alone or as a line of a report.

The maps of words that a record's scores hold: which words of the given went into which words of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from eirene.core.grounding import grounding_for
from eirene.core.records import Item, Record, Round
from eirene.core.scores import Score, Scores, number
from eirene.views import ShownSpan, spans_of
from eirene.views.diff import diff
from eirene.views.edits import ShownEdit, edits_taken, edits_undone
from eirene.views.facts import (
    PolledText,
    Vote,
    compared_texts,
    consistency,
    last_candidate,
    other_findings,
    polled_texts,
    rewrites,
    score_table,
    shown_score,
    unchecked,
    votes,
)

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


MOST_CELLS = 100
_OF_SENTENCES = frozenset({"alignment"})
"""Detectors that number sentences of the passages where others number passages."""
_CELL: Mapping[Vote, str] = {"incomplete": "n", "complete": "y", "invalid": "b"}
Number = float | None
"""A score, rounded to the three decimals that are shown; None where there is none."""


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A run of text and what became of it: `removed`, `added`, `moved from here`, `moved to here`, or "" for nothing.

    Pieces lose nothing: all but those that were added or moved here, joined, are the original.
    """

    what: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of a critique. `cells` has a letter for each drawn vote: n incomplete, y complete, b not valid.

    `spans` is the text again, in runs with and without a hallucination; none where there is none.
    """

    n: int
    is_complete: bool
    text: str
    reason: str
    findings: tuple[tuple[str, str], ...]
    cells: str
    counted: str
    scores: str
    spans: tuple[ShownSpan, ...] = ()


@dataclass(frozen=True, slots=True)
class ShownCritique:
    """The critique of a round; `invalid` are the reasons for which samples did not count.

    `unchecked` says what the critics did not look for; "" where they left nothing out.
    """

    round: int
    said: str
    invalid: tuple[str, ...]
    sentences: tuple[ShownSentence, ...]
    unchecked: str


@dataclass(frozen=True, slots=True)
class ShownScores:
    """One error of one detector, its scores in the order of the columns; `advisory` where they decide nothing."""

    detector: str
    error: str
    scores: tuple[Number, ...]
    advisory: bool


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """A given argument (its text, or its number where the item is not at hand) and its coverage error."""

    detector: str
    group: str
    text: str
    before: Number
    after: Number
    advisory: bool


@dataclass(frozen=True, slots=True)
class ShownRound:
    """A round's decision. `candidate` is None where nothing was rewritten, "" where it is the rewrite of the diff.

    `taken` says how many edits were; `undone` has a line and a reason for each that was not.
    """

    decision: str
    why: str
    candidate: str | None
    taken: str
    undone: tuple[ShownEdit, ...]


@dataclass(frozen=True, slots=True)
class RecordView:
    """Everything but the texts that a record's page has anyway: question, answer, status."""

    diff: tuple[ShownPiece, ...]
    critiques: tuple[ShownCritique, ...]
    columns: tuple[str, ...]
    scores: tuple[ShownScores, ...]
    notes: tuple[str, ...]
    polls: tuple[PolledText, ...]
    arguments: tuple[ShownArgument, ...]
    rounds: tuple[ShownRound, ...]
    maps: tuple[ShownMap, ...]


def view_of(record: Record, item: Item | None = None) -> RecordView:
    """What is shown of a record. With the `item`, given arguments stand in words and not by number alone."""
    table = score_table(record)
    return RecordView(
        diff=tuple(_merged(_pieces(record))),
        critiques=tuple(_critique(n, r, record) for n, r in enumerate(record.rounds, start=1) if _is_new(record, n)),
        columns=table.columns,
        scores=tuple(
            ShownScores(row.detector, row.error, tuple(map(_rounded, row.scores)), row.advisory) for row in table.rows
        ),
        notes=table.notes,
        polls=(*polled_texts(record), *compared_texts(record)),
        arguments=tuple(_arguments(record, item)),
        rounds=tuple(_rounds(record)),
        maps=tuple(word_maps(record, item)),
    )


def _pieces(record: Record) -> Iterator[ShownPiece]:
    candidate = last_candidate(record)
    for line in () if candidate is None else diff(record.original, candidate):
        names = {
            "same": "",
            "gone": "moved from here" if line.kind == "moved away" else "removed",
            "new": "moved to here" if line.kind == "moved here" else "added",
        }
        yield from (ShownPiece(names[piece.kind], piece.text) for piece in line.pieces)


def _merged(pieces: Iterator[ShownPiece]) -> Iterator[ShownPiece]:
    """The pieces, neighbours that nothing happened to as one."""
    held: ShownPiece | None = None
    for piece in pieces:
        if held is not None and held.what == piece.what == "":
            held = ShownPiece("", held.text + piece.text)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _is_new(record: Record, n: int) -> bool:
    """Whether round `n` brought a critique of its own, not that of the round before."""
    critique = record.rounds[n - 1].critique
    if critique is None:
        return bool(record.rounds[n - 1].samples)
    return n == 1 or critique != record.rounds[n - 2].critique


def _critique(n: int, round_: Round, record: Record) -> ShownCritique:
    cast = votes(round_)
    scores = _sentence_scores(record) if n == 1 else {}  # later rounds may judge another text
    sentences = [
        ShownSentence(
            n=s.n,
            is_complete=s.tag == "Complete",
            text=s.text,
            reason=s.reason or "",
            findings=tuple(other_findings(s)),
            cells="".join(_CELL[vote] for vote in cast[i][:MOST_CELLS]) if cast else "",
            counted=_counted(cast[i]) if cast else "",
            scores=scores.get(s.n, ""),
            spans=spans_of(s),
        )
        for i, s in enumerate(round_.critique.sentences if round_.critique else ())
    ]
    invalid = sorted({s.invalid for s in round_.samples if s.invalid is not None})
    return ShownCritique(n, consistency(round_), tuple(invalid), tuple(sentences), unchecked(round_.critique))


def _counted(cast: tuple[Vote, ...]) -> str:
    text = f"{cast.count('incomplete')} of {len(cast):,} say incomplete"
    if "invalid" in cast:
        text += f", {cast.count('invalid')} not valid"
    return text + (f" (the first {MOST_CELLS} are drawn)" if len(cast) > MOST_CELLS else "")


def _sentence_scores(record: Record) -> dict[int, str]:
    """What the detectors say of each sentence of the original, by its number."""
    said: dict[int, list[str]] = {}
    for name, scores in record.scores.original.items():
        for score in scores.sentences:
            if number(score.hallucination) is not None:
                said.setdefault(score.n, []).append(f"{name}: hallucination {shown_score(score.hallucination)}")
    return {n: "; ".join(texts) for n, texts in said.items()}


def _arguments(record: Record, item: Item | None) -> Iterator[ShownArgument]:
    """A line for each argument that a detector scores: before and after."""
    given = None if item is None else grounding_for(item)
    texts = {
        (group.name, n): text
        for group in (given.groups if given is not None and given.source != "derived" else ())
        for n, text in enumerate(group.arguments, start=1)
    }
    detectors = sorted(record.scores.original.items(), key=lambda found: found[0] in record.advisory)
    for name, before in detectors:
        after = record.scores.final.get(name)
        known = {} if after is None else {(a.group, a.n): _rounded(a.coverage) for a in after.arguments}
        for a in before.arguments:
            text = texts.get((a.group, a.n), f"number {a.n}")
            if given is not None and given.source == "context" and name in _OF_SENTENCES:
                text = f"sentence {a.n} of those in the passages that bear on the question"
            numbers = _rounded(a.coverage), known.get((a.group, a.n))
            yield ShownArgument(name, a.group, text, *numbers, name in record.advisory)


def _rounds(record: Record) -> Iterator[ShownRound]:
    shown = last_candidate(record)
    for round_, rewrite in zip(record.rounds, rewrites(record), strict=True):
        candidate = "" if rewrite is not None and rewrite == shown else rewrite
        yield ShownRound(round_.decision, round_.why, candidate, edits_taken(round_), edits_undone(round_))


def _rounded(score: Score) -> Number:
    value = number(score)
    return None if value is None else round(value, 3)
