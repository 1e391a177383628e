"""Runs detectors over labelled answers: a row for each answer and detector, on disk; `eirene.eval` makes figures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eirene.core.errors import FormError, InputError
from eirene.core.scores import Scores
from eirene.core.signature import signature
from eirene.core.usage import Usage
from eirene.data.journal import Journal
from eirene.eval.base import Case, Detector, case_of, only_computes, unmet
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detector_pairs import DetectorRow, row_key, row_of
from eirene.eval.metrics.detectors import Part, Plan, costs, detector_report
from eirene.eval.scoring import Outcome, Scorer, in_order, workers_for
from eirene.models.limits import DEFAULT_CONCURRENCY

ROWS = "rows.jsonl"
_TOGETHER = 64
"""Rows of detectors that only compute that go to disk at once: to do so many again costs a second, not money."""

OnRow = Callable[[DetectorRow], None]


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The rows by key, from disk or new, and where each set of answers finds its own.

    `n_from_journal`: rows that were there before; `n_left_out`: rows in the journal that this evaluation does not ask
    for.
    """

    rows: Mapping[str, DetectorRow]
    data: Part
    dev: Part | None
    n_from_journal: int
    n_left_out: int


@dataclass(frozen=True, slots=True)
class Work:
    """How rows are made. `concurrency` bounds a model's calls and, with it, the answers under way; `seed` is that of
    the detectors' draws. `retry_failed` makes rows again whose detector failed.
    """

    seed: int = 0
    concurrency: int = DEFAULT_CONCURRENCY
    retry_failed: bool = False


async def aevaluate_detectors(
    data: Sequence[Labelled],
    detectors: Sequence[Detector],
    *,
    out: str | Path,
    dev: Sequence[Labelled] | None = None,
    work: Work | None = None,
    on_row: OnRow | None = None,
) -> Evaluated:
    """Makes the rows that the folder `out` does not have yet; a rerun after any end does only what is missing.

    Equal answers are scored once. A row whose detector fails is a `failed` row; an error that every row would meet (no
    access, no credit) ends the evaluation and is raised. Raises `InputError` for a folder that another run holds or
    that holds something else.
    """
    work = Work() if work is None else work
    if work.concurrency < 1:
        raise InputError(f"concurrency must be at least 1, got {work.concurrency}", field="concurrency")
    every = [*data, *(dev or ())]
    cases = [case_of(labelled.item) for labelled in every]
    keys = [{d.name: row_key(case, d, seed=work.seed) for d in detectors} for case in cases]
    wanted = dict.fromkeys(key for by_name in keys for key in by_name.values())
    with Journal(Path(out) / ROWS, later_wins=True) as journal:
        rows = _rows_in(journal)
        if work.retry_failed:
            again = {key for key in wanted if key in rows and rows[key].failed}
            journal.drop(again)
            rows = {key: row for key, row in rows.items() if key not in again}
        known = len(wanted.keys() & rows.keys())
        left_out = len(rows.keys() - wanted.keys())
        todo = _todo(every, cases, keys, detectors, set(rows))
        with _Desk(journal, rows, on_row) as desk:
            await _score_all(todo, Scorer(detectors), desk, workers=workers_for(detectors, work.concurrency))
    half = len(data)
    parts = [_part(every[:half], keys[:half], rows, detectors)]
    parts += [] if dev is None else [_part(every[half:], keys[half:], rows, detectors)]
    return Evaluated({key: rows[key] for key in wanted}, parts[0], None if dev is None else parts[1], known, left_out)


@dataclass(frozen=True, slots=True)
class _Task:
    """A case and the detectors that have not scored it, each with the key of its row."""

    id: str
    case: Case
    by: Sequence[tuple[Detector, str]]


def _todo(
    every: Sequence[Labelled],
    cases: Sequence[Case],
    keys: Sequence[Mapping[str, str]],
    detectors: Sequence[Detector],
    done: set[str],
) -> list[_Task]:
    tasks = []
    for labelled, case, by_name in zip(every, cases, keys, strict=True):
        by = [(d, by_name[d.name]) for d in detectors if by_name[d.name] not in done]
        done.update(key for _, key in by)
        if by:
            tasks.append(_Task(labelled.item.id, case, by))
    return tasks


async def _score_all(tasks: Sequence[_Task], scorer: Scorer, desk: _Desk, *, workers: int) -> None:
    async def one(task: _Task) -> None:
        async def by(detector: Detector, key: str) -> None:
            outcome = await _score(scorer, detector, task.case)
            if outcome.hopeless is not None:
                raise outcome.hopeless
            await desk.put(row_of(task.id, detector, outcome, key=key), at_once=not only_computes(detector))

        ends = await asyncio.gather(*(by(detector, key) for detector, key in task.by), return_exceptions=True)
        for end in ends:  # after all have ended: what has been paid for is on disk
            if end is not None:
                raise end

    async for _ in in_order(tasks, one, workers=workers):
        pass


async def _score(scorer: Scorer, detector: Detector, case: Case) -> Outcome:
    """The outcome; what needs given text is not asked about an answer to which nothing was given."""
    if "given" in detector.needs and case.given.source == "derived":
        return Outcome(Scores.none(unmet("given")), Usage())
    return await scorer.score_by(detector, case)


class _Desk:
    """Where finished rows go: those of models to disk at once, the others together."""

    def __init__(self, journal: Journal, rows: dict[str, DetectorRow], on_row: OnRow | None) -> None:
        self._journal = journal
        self._rows = rows
        self._on_row = on_row
        self._waiting: list[DetectorRow] = []

    def __enter__(self) -> _Desk:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()

    async def put(self, row: DetectorRow, *, at_once: bool) -> None:
        """Takes a row. One that has been paid for is on disk when this returns, even if the run is being stopped."""
        if at_once:
            writing = asyncio.ensure_future(asyncio.to_thread(self._journal.append, row.model_dump(mode="json")))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await writing
                raise
        else:
            self._waiting.append(row)
            if len(self._waiting) >= _TOGETHER:
                self._flush()
        self._rows[row.key] = row
        if self._on_row is not None:
            self._on_row(row)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._journal.extend([row.model_dump(mode="json") for row in waiting])


def summarise(found: Evaluated, plan: Plan) -> dict[str, Any]:
    """Every figure of an evaluation in plain JSON, with the settings that made it."""
    from eirene._version import __version__

    report = detector_report(found.data, found.dev, plan=plan)
    line = signature(
        n=report["answers"],
        k=report["clusters"],
        dev=report["development_clusters"],
        draws=plan.draws,
        seed=plan.seed,
        v=__version__,
    )
    return {"signature": line, **report, "costs": costs(list(found.rows.values()))}


def _rows_in(journal: Journal) -> dict[str, DetectorRow]:
    found = {}
    for key, line in journal.lines.items():
        try:
            found[key] = DetectorRow.model_validate(line)
        except FormError:
            raise InputError(
                "holds something else than rows of detectors; name another folder", where=str(journal.path)
            ) from None
    return found


def _part(
    cases: Sequence[Labelled],
    keys: Sequence[Mapping[str, str]],
    rows: Mapping[str, DetectorRow],
    detectors: Sequence[Detector],
) -> Part:
    scores: dict[str, Any] = {d.name: [rows[by_name[d.name]].scores for by_name in keys] for d in detectors}
    return Part(tuple(cases), scores)
