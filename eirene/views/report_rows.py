"""Rows of a report: what a record's line says, and the means of all lines by status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import get_args

from markupsafe import Markup

from eirene.core.records import Record, Status
from eirene.views.given import Number
from eirene.views.record import RecordView
from eirene.views.tables import Cell, HtmlTable, RowGroup

STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The line of a record. Errors are means over the detectors that decide; None where none scored both texts.

    `verdicts` are those that its answer's sentences and quotations have; none where it was not verified.
    """

    id: str
    question: str
    mode: str
    status: str
    seed: int
    summary: str
    hallucination_before: Number
    hallucination_after: Number
    coverage_before: Number
    coverage_after: Number
    verdicts: tuple[str, ...] = ()


def row_of(record: Record, view: RecordView) -> ReportRow:
    """The line of a record whose page is `view`."""
    errors = (*_errors(view, "hallucination"), *_errors(view, "coverage"))
    about = record.id, record.question, record.mode, record.status, record.seed, view.summary
    found = None if view.claims is None else view.claims.answer
    return ReportRow(*about, *errors, () if found is None else found.words)


def _errors(view: RecordView, error: str) -> tuple[Number, Number]:
    found = [(row.scores[0], row.scores[-1]) for row in view.scores if row.error == error and not row.advisory]
    both = [(before, after) for before, after in found if before is not None and after is not None]
    return (_mean([before for before, _ in both]), _mean([after for _, after in both]))


def means_by_status(rows: Sequence[ReportRow]) -> HtmlTable:
    """How many records ended how, and their mean errors before and after."""
    statuses = [status for status in STATUSES if any(row.status == status for row in rows)]
    lines = [_line(Markup('<strong class="badge {0}">{0}</strong>').format(s), [r for r in rows if r.status == s])
             for s in statuses]  # fmt: skip
    groups = [RowGroup("", lines)]
    if len(statuses) > 1:
        groups.append(RowGroup("", [_line("all", rows)]))
    names = (f"{error} error, {when}" for error in ("Hallucination", "Coverage") for when in ("before", "after"))
    caption = "Mean errors from 0 to 1, lower is better, by the detectors that decide."
    return HtmlTable(caption, ("Status", "Records", *names), groups)


def _line(name: Cell, rows: Sequence[ReportRow]) -> tuple[Cell, ...]:
    return (name, f"{len(rows):,}", *_figures(rows))


def _figures(rows: Sequence[ReportRow]) -> Iterator[Cell]:
    for field in ("hallucination_before", "hallucination_after", "coverage_before", "coverage_after"):
        known = [value for value in (getattr(row, field) for row in rows) if value is not None]
        mean = _mean(known)
        if mean is None:
            yield Markup('<span aria-hidden="true">–</span><span class="unseen">unscored</span>')
        else:
            of = f" (of {len(known):,})" if len(known) < len(rows) else ""
            yield Markup('<span>{:.3f}<span class="dim">{}</span></span>').format(mean, of)


def _mean(values: Sequence[float]) -> Number:
    return round(sum(values) / len(values), 3) if values else None
