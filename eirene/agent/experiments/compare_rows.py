"""Rows of a comparison: one for each (item, mode, seed), a judgement for each text, and their keys.

The rows of a comparison as arrays: one column a measure, NaN where a row has no such figure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import ConfigDict

from eirene.agent.record import row_hash, run_signature
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.grounding import Source, grounding_for
from eirene.core.records import Item, Mode, Record
from eirene.core.scores import Scores, Unscored, number
from eirene.core.signature import digest
from eirene.core.usage import Usage
from eirene.core.validation import CheckedModel
from eirene.eval.base import Case
from eirene.eval.detectors.judge import Judgement
from eirene.eval.statistics.bootstrap import Array
from eirene.prompts.history import history_key


class _CompareLine(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CompareRow(_CompareLine):
    """One line of `rows.jsonl`. `hash` stands for everything that the record hangs on.

    `given` says what the answers were compared with: scores against what was `derived` from a critique do not compare
    between modes, whose critiques differ.
    """

    id: str
    mode: Mode
    seed: int
    hash: str
    given: Source
    record: Record

    @property
    def key(self) -> str:
        """What makes the row one of its kind."""
        return row_key(self.id, self.mode, self.seed)

    @property
    def pair(self) -> tuple[str, int]:
        """What two modes' rows must share to be compared."""
        return self.id, self.seed


class JudgedText(_CompareLine):
    """One line of `judgements.jsonl`: what the judge said of one text. `failed`: the model could not be reached."""

    key: str
    id: str
    judge: str
    judgement: Judgement | Unscored
    failed: bool = False
    usage: Usage


@dataclass(frozen=True, slots=True)
class CompareJob:
    """One row to be made."""

    item: Item
    settings: Settings
    hash: str
    signature: str

    @property
    def key(self) -> str:
        """The key of its row."""
        return row_key(self.item.id, self.settings.mode, self.settings.seed)


def row_key(item_id: str, mode: str, seed: int) -> str:
    """The key of a row: item, mode and seed as JSON, so that no id can pass for another."""
    return json.dumps([item_id, mode, seed], ensure_ascii=False)


def jobs_for(
    items: Sequence[Item], parts: Parts, settings: Settings, *, modes: Sequence[Mode], seeds: Sequence[int]
) -> Iterator[CompareJob]:
    """Every row wanted, all modes and seeds of an item together: what they share is then still at hand."""
    for item in items:
        for mode in modes:
            for seed in seeds:
                own = Settings.of(**{**settings.model_dump(), "mode": mode, "seed": seed})
                yield CompareJob(item, own, row_hash(item, parts, own), run_signature(parts, own, item))


def text_key(item: Item, answer: str, judge: str) -> str:
    """The key of a text's judgement: the judge, and everything that it is shown."""
    case = judged_case(item, answer)
    groups = [[g.name, *g.arguments] for g in case.given.groups] if case.given.source != "derived" else []
    return digest([judge, case.question, groups, answer, *history_key(case.history)])[:16]


def judged_case(item: Item, answer: str) -> Case:
    """What a judge is shown of a text."""
    return Case(item.question, answer, grounding_for(item), history=tuple(item.history or ()))


Judgements = Mapping[tuple[str, str], JudgedText]
Side = Literal["before", "after"]
NAN = float("nan")
ERRORS = ("hallucination", "coverage")


Kind = Literal["share", "score", "penalty", "price"]


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of an answer; `lower_is_better` is None where neither is.

    Measures of one `kind` share a scale: shares of the answers, error scores (both in [0, 1]), penalties, prices.
    `advisory` ones are shown and decide nothing.
    """

    name: str
    label: str
    kind: Kind
    lower_is_better: bool | None = True
    advisory: bool = False


JUDGED = (
    Measure("error", "answers with an error (judge)", "share"),
    Measure("penalty", "penalty (judge)", "penalty"),
)
OUTCOMES = (
    Measure("accepted", "accepted", "share", None),  # a mode that gets everything through is not better for it
    Measure("complete", "found complete", "share", None),
)
SPENT = (
    Measure("input_tokens", "input tokens", "price"),
    Measure("output_tokens", "output tokens", "price"),
    Measure("seconds", "seconds", "price"),
    Measure("cost_usd", "cost (US dollars)", "price"),
)


def detector_measures(rows: Sequence[CompareRow]) -> list[Measure]:
    """The errors of each detector that any row knows, in the order of their first appearance, advisory ones last.

    An error that a detector gives in no row, while it gives the other, is none of its errors.
    """
    found: dict[str, dict[str, bool]] = {}
    for row in rows:
        for side in (row.record.scores.original, row.record.scores.final):
            for name, scores in side.items():
                given = found.setdefault(name, dict.fromkeys(ERRORS, False))
                for error, score in zip(ERRORS, (scores.hallucination, scores.coverage), strict=True):
                    given[error] |= number(score) is not None
    advisory = {name for row in rows for name in row.record.advisory}
    return [
        Measure(f"{name}.{error}", f"{name}: {error}{said}", "score", advisory=bool(said))
        for name, given in sorted(found.items(), key=lambda entry: entry[0] in advisory)
        for said in [" (advisory)" if name in advisory else ""]
        for error in ERRORS
        if given[error] or not any(given.values())
    ]


def scores_of(rows: Sequence[CompareRow], measures: Sequence[Measure], side: Side) -> Array:
    """Error scores, (rows, measures), before or after; NaN where a detector did not score, or the run failed."""
    table = np.full((len(rows), len(measures)), NAN)
    for i, row in enumerate(rows):
        if row.record.status == "failed":
            continue
        scores = row.record.scores.original if side == "before" else row.record.scores.final
        for j, measure in enumerate(measures):
            table[i, j] = _score(scores, measure.name)
    return table


def judged(rows: Sequence[CompareRow], judgements: Judgements, side: Side) -> Array:
    """(rows, 2): whether the judge found an error, and the penalty; NaN where nobody judged or the run failed."""
    table = np.full((len(rows), 2), NAN)
    for i, row in enumerate(rows):
        text = row.record.original if side == "before" else row.record.answer
        found = judgements.get((row.id, text))
        if row.record.status != "failed" and found is not None and isinstance(found.judgement, Judgement):
            table[i] = float(found.judgement.has_error), found.judgement.penalty
    return table


def outcomes(rows: Sequence[CompareRow]) -> Array:
    """(rows, 2): accepted, complete, as 0 or 1; NaN for a failed row, which says nothing of its mode."""
    table = [[float(row.record.status == m.name) for m in OUTCOMES] for row in rows]
    failed = np.array([row.record.status == "failed" for row in rows])
    found = np.array(table).reshape(len(rows), len(OUTCOMES))
    found[failed] = NAN
    return found


def spent(rows: Sequence[CompareRow]) -> Array:
    """(rows, 4): tokens in and out, seconds, US dollars (NaN: unknown price) of each row, failed ones too."""
    table = [
        [u.input_tokens, u.output_tokens, u.seconds, NAN if u.cost_usd is None else u.cost_usd]
        for u in (row.record.usage for row in rows)
    ]
    return np.array(table, dtype=np.float64).reshape(len(rows), len(SPENT))


def comparable(rows: Sequence[CompareRow], table: Array) -> Array:
    """The scores without those of answers compared with what a critique gave: another mode's critique gives another."""
    found = table.copy()
    found[[row.given == "derived" for row in rows]] = NAN
    return found


def by_mode(rows: Sequence[CompareRow], modes: Sequence[Mode]) -> dict[Mode, list[CompareRow]]:
    """The rows of each mode, in the order given."""
    return {mode: [row for row in rows if row.mode == mode] for mode in modes}


def _score(scores: Mapping[str, Scores], measure: str) -> float:
    name, _, error = measure.rpartition(".")
    found = scores.get(name)
    if found is None:
        return NAN
    value = number(found.hallucination if error == "hallucination" else found.coverage)
    return NAN if value is None else value


def errors_by_row(rows: Sequence[CompareRow], judgements: Judgements) -> list[tuple[Measure, Array, Array]]:
    """Each measure of an error with every row's value before and after; NaN where a row was not scored."""
    measures = detector_measures(rows)
    found = [(m, scores_of(rows, [m], "before")[:, 0], scores_of(rows, [m], "after")[:, 0]) for m in measures]
    if judgements:
        found.append((JUDGED[1], judged(rows, judgements, "before")[:, 1], judged(rows, judgements, "after")[:, 1]))
    return found


def points(rows: Sequence[CompareRow], judgements: Judgements) -> dict[str, dict[str, list[tuple[float, float]]]]:
    """Measure -> mode -> (before, after) of each row that has both: what a scatter shows."""
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for measure, before, after in errors_by_row(rows, judgements):
        for row, x, y in zip(rows, before, after, strict=True):
            if not np.isnan(x + y):
                found.setdefault(measure.label, {}).setdefault(row.mode, []).append((float(x), float(y)))
    return found
