"""Critiques as data for pages: each sentence with its faults, the votes on it, and what is missing beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from eirene.core.critique import TaggedSentence
from eirene.core.records import Record, Round
from eirene.views.facts import Vote, consistency, rounded, shown_score, unchecked, votes
from eirene.views.faults import Gap, ShownFault, ShownSpan, marked_spans, verdict_of

MOST_CELLS = 100
_CELL: Mapping[Vote, str] = {"incomplete": "n", "complete": "y", "invalid": "b"}


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of a critique. `cells` has a letter for each drawn vote: n finds a fault, y none, b is not valid.

    No `faults`: it is complete. `votes_for_gap`: the votes are on what is missing beside it. `spans` is the text again,
    in runs at fault and between; none where no part of it alone is at fault.
    """

    n: int
    text: str
    faults: tuple[ShownFault, ...]
    gaps: tuple[Gap, ...]
    votes_for_gap: bool
    cells: str
    counted: str
    scores: str
    spans: tuple[ShownSpan, ...]


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


def critiques_of(record: Record) -> tuple[ShownCritique, ...]:
    """The critique of each round that brought one of its own, not that of the round before."""
    return tuple(_critique(n, r, record) for n, r in enumerate(record.rounds, start=1) if _is_new(record, n))


def _is_new(record: Record, n: int) -> bool:
    critique = record.rounds[n - 1].critique
    if critique is None:
        return bool(record.rounds[n - 1].samples)
    return n == 1 or critique != record.rounds[n - 2].critique


def _critique(n: int, round_: Round, record: Record) -> ShownCritique:
    cast = votes(round_)
    scores = _sentence_scores(record) if n == 1 else {}  # later rounds may judge another text
    sentences = round_.critique.sentences if round_.critique else ()
    shown = (_sentence(s, cast[i] if cast else (), scores.get(s.n, "")) for i, s in enumerate(sentences))
    invalid = sorted({s.invalid for s in round_.samples if s.invalid is not None})
    return ShownCritique(n, consistency(round_), tuple(invalid), tuple(shown), unchecked(round_.critique))


def _sentence(sentence: TaggedSentence, cast: tuple[Vote, ...], scores: str) -> ShownSentence:
    verdict = verdict_of(sentence)
    return ShownSentence(
        n=sentence.n,
        text=sentence.text,
        faults=verdict.faults,
        gaps=verdict.gaps,
        votes_for_gap=verdict.votes_for_gap,
        cells="".join(_CELL[vote] for vote in cast[:MOST_CELLS]),
        counted=_counted(cast, "miss it" if verdict.votes_for_gap else "find a fault") if cast else "",
        scores=scores,
        spans=marked_spans(sentence),
    )


def _counted(cast: tuple[Vote, ...], what: str) -> str:
    text = f"{cast.count('incomplete')} of {len(cast):,} critiques {what}"
    if "invalid" in cast:
        text += f", {cast.count('invalid')} not valid"
    return text + (f" (the first {MOST_CELLS} are drawn)" if len(cast) > MOST_CELLS else "")


def _sentence_scores(record: Record) -> dict[int, str]:
    """What the detectors say of each sentence of the original, by its number."""
    said: dict[int, list[str]] = {}
    for name, scores in record.scores.original.items():
        for score in scores.sentences:
            if rounded(score.hallucination) is not None:
                said.setdefault(score.n, []).append(f"{name}: hallucination {shown_score(score.hallucination)}")
    return {n: "; ".join(texts) for n, texts in said.items()}
