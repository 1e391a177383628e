"""Report of a run as one self-contained web page: means by status, and a table of records to sort, filter and search.

A record as one web page that needs nothing else: no outside script, style, font or picture; everything escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import groupby
from typing import Any

from markupsafe import Markup

from eirene.core.records import STATUSES, Item, Record
from eirene.core.usage import Usage
from eirene.data.line_checksum import KEY
from eirene.views.facts import ADVISORY, STATUS_WORDS, Number, cost
from eirene.views.faults import MEANING, STYLES, style_of, words_in
from eirene.views.page import compact, page, script_safe
from eirene.views.record import RecordView, shown_conversation, view_of
from eirene.views.salience import picture
from eirene.views.tables import Cell, HtmlTable, RowGroup, change_cell, score_cell
from eirene.views.verification import CAUTION, RecordClaims, Verified
from eirene.views.verification import MEANING as VERDICTS


def render_report(
    records: Iterable[Record],
    *,
    title: str = "Run",
    items: Mapping[str, Item] | None = None,
    verified: Verified | None = None,
) -> str:
    """The page for any number of records.

    `items` by id give the given arguments in words; sentences of passages that not all were scored have numbers, since
    to find them is an encoder's work on every record. `verified`, which is such work too, adds what the items say of
    each answer. Details are in the page as JSON, a line each, and are read when a record is opened: 5,000 records must
    not take longer to open than ten.
    """
    made = _ReportData()
    for record in records:
        item = None if items is None else items.get(record.id)
        made.add(record, view_of(record, item, verified=verified))
    rows, tally = made.rows, made.tally if verified is not None else None
    statuses = Counter(row.status for row in rows)
    return page(
        "report.html.j2",
        styles=("page.css", "record.css", "report.css", "salience.css"),
        scripts=("scroll.js", "draw.js", "claims.js", "report.js"),
        title=title,
        total=len(rows),
        means=means_by_status(rows),
        statuses=[(status, statuses[status]) for status in STATUSES if statuses[status]],
        modes=list(Counter(row.mode for row in rows).items()),
        seeds=sorted(Counter(row.seed for row in rows).items()),
        words=[(word, meaning) for word, meaning in MEANING.items() if word in made.words],
        verdicts=tally,
        cost=cost(made.usage, summed=True),
        index=script_safe(compact(list(map(astuple, rows)))),
        details=script_safe("\n".join(made.details)),
        signatures=script_safe(compact(list(made.signatures))),
        styles_of=script_safe(compact(STYLES)),
    )


class _ReportData:
    """What a report holds of its records, gathered one at a time; of the verifications it counts the verdicts."""

    def __init__(self) -> None:
        self.rows: list[ReportRow] = []
        self.details: list[str] = []
        self.signatures: dict[str, int] = {}
        self.usage, self.words = Usage(), set[str]()
        self.tally = _ClaimsTally()

    def add(self, record: Record, view: RecordView) -> None:
        self.rows.append(row_of(record, view))
        number = self.signatures.setdefault(record.signature, len(self.signatures))
        self.details.append(compact(_details(record, view, signature=number)))
        self.usage = self.usage + record.usage
        self.words.update(words_in(r.critique for r in record.rounds))
        self.tally.add(view.claims)


def _details(record: Record, view: RecordView, *, signature: int) -> list[Any]:
    """What the page's script draws of a record; `signature` is a number in the page's list."""
    error = "" if record.error is None else f"{record.error.kind}: {record.error.message}"
    original = "" if record.status == "accepted" else record.original  # else it can be read off the diff
    spent = f"{record.backend}: {cost(record.usage)}"
    before = shown_conversation(record.history, bounded=True)
    said = None if before is None else astuple(before)
    return [(record.why, error, original, STATUS_WORDS[record.status], spent, signature, said), *astuple(view)]


def records_in(values: Iterable[tuple[str, object]]) -> Iterator[Record]:
    """Records from (where, value) pairs: a record, or a line of a batch's journal or of a comparison."""
    from eirene.core.errors import FormError, InputError

    for where, value in values:
        data = value["record"] if isinstance(value, dict) and isinstance(value.get("record"), dict) else value
        if isinstance(data, dict) and "hash" in data:  # a line of a batch's journal
            data = {name: part for name, part in data.items() if name not in ("hash", KEY)}
        try:
            yield Record.model_validate(data)
        except FormError as error:
            raise InputError(f"is no record of a run: {error}", where=where) from None


def render_page(record: Record, *, item: Item | None = None, verified: Verified | None = None) -> str:
    """The page. With the `item`, the given arguments stand in words beside their scores, not by number alone.

    `verified` adds what the item says of each sentence of the answer.
    """
    view = view_of(record, item, verified=verified)
    shown = [] if view.claims is None else [view.claims.answer, view.claims.original]
    words = {word for each in shown if each is not None for word in each.words}
    return page(
        "page.html.j2",
        styles=("page.css", "record.css", "salience.css"),
        scripts=("scroll.js", "page.js"),
        record=record,
        view=view,
        conversation=shown_conversation(record.history),
        claim_words=[(word, meaning) for word, meaning in VERDICTS.items() if word in words],
        caution="" if view.claims is None else CAUTION[view.claims.unit],
        status_words=STATUS_WORDS[record.status],
        headline=list(_headline(record, view)),
        judged=any(c.sentences for c in view.critiques),
        words=[(word, MEANING[word]) for word in words_in(r.critique for r in record.rounds) if word in MEANING],
        has_votes=any(s.cells for c in view.critiques for s in c.sentences),
        scores=_scores(view),
        arguments=list(_arguments(view)),
        maps=[(shown, picture(shown)) for shown in view.maps],
        cost=cost(record.usage),
        file_name=re.sub(r"[^\w.-]+", "-", record.id)[:80] + ".json",
        json=script_safe(record.to_json()),
    )


def _headline(record: Record, view: RecordView) -> Iterator[dict[str, Any]]:
    """The scores that decide and that changed, for the top of the page."""
    for row in view.scores if record.status == "accepted" else ():
        before, after = row.scores[0], row.scores[-1]
        if not row.advisory and before is not None and after is not None and abs(after - before) >= 0.0005:
            yield {**asdict(row), "change": change_cell(before, after)}


def _scores(view: RecordView) -> HtmlTable:
    groups = [
        RowGroup(
            ADVISORY if is_advisory else "",
            [(row.detector, row.error, *map(score_cell, row.scores), change_cell(row.scores[0], row.scores[-1]))
             for row in rows],
            muted=is_advisory,
        )
        for is_advisory, rows in groupby(view.scores, key=lambda row: row.advisory)
    ]  # fmt: skip
    columns = ("Detector", "Error", *(name.capitalize() for name in view.columns), "Change")
    return HtmlTable("Error scores from 0 to 1; lower is better.", columns, groups, first_number=2)


def _arguments(view: RecordView) -> Iterator[tuple[str, HtmlTable]]:
    """A table for each detector that scores single arguments."""
    for (detector, is_advisory), rows in groupby(view.arguments, key=lambda row: (row.detector, row.advisory)):
        groups = [
            RowGroup(name, [(a.text, score_cell(a.before), score_cell(a.after), change_cell(a.before, a.after))
                         for a in members], muted=is_advisory)
            for name, members in groupby(rows, key=lambda row: row.group)
        ]  # fmt: skip
        caption = "How far each is missing from the answer: coverage error from 0 to 1; lower is better."
        caption += f" {ADVISORY}." if is_advisory else " What was said, under 0.5, and is missing after is harm."
        yield detector, HtmlTable(caption, ("Given", "Before", "After", "Change"), groups)


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
    badge = Markup('<strong class="badge {}">{}</strong>')
    lines = [_line(badge.format(s, s.replace("_", " ")), [r for r in rows if r.status == s])
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


_NOTHING_GIVEN = "the row gives no passages and no arguments"


class _ClaimsTally:
    def __init__(self) -> None:
        self.verified = 0
        self._counts = Counter[tuple[str, str, str]]()  # (side, part, verdict)
        self._records: Counter[str] = Counter()
        self._why: Counter[str] = Counter()
        self._units: Counter[str] = Counter()

    def add(self, found: RecordClaims | None) -> None:
        """Counts a record; None is one whose row gives nothing."""
        if found is None or found.answer is None:
            self._why[_NOTHING_GIVEN if found is None else found.why] += 1
            return
        self.verified += 1
        self._units[found.unit] += 1
        for side, shown in (("before", found.original or found.answer), ("after", found.answer)):
            self._counts.update((side, "claims", claim.verdict) for claim in shown.claims)
            self._counts.update((side, "quotations", quotation.verdict) for quotation in shown.quotations)
        self._records.update(found.answer.words)

    def table(self) -> HtmlTable | None:
        """Sentences and quotations by verdict, before and after; None where no record was verified."""
        groups = [RowGroup("Sentences", self._rows("claims")), RowGroup("Quotations", self._rows("quotations"))]
        caption = f"What was given says of {self.verified:,} record{'' if self.verified == 1 else 's'}."
        shown = [group for group in groups if group.rows]
        return HtmlTable(caption, ("Verdict", "Originals", "Answers"), shown) if self.verified else None

    def _rows(self, part: str) -> list[tuple[Cell, ...]]:
        chip = Markup('<strong class="fault {}">{}</strong>')
        counts = {word: [self._counts[side, part, word] for side in ("before", "after")] for word in VERDICTS}
        return [(chip.format(style_of(w), w), *map("{:,}".format, both)) for w, both in counts.items() if any(both)]

    def notes(self) -> Iterator[str]:
        """Which records were not verified, and how far to trust the verdicts."""
        for why, count in self._why.most_common():
            yield f"{count:,} record{'' if count == 1 else 's'} not verified: {why}."
        for unit, caution in CAUTION.items():
            if self._units[unit]:
                yield caution

    def words(self) -> list[tuple[str, str]]:
        """The verdicts that occur with their meaning."""
        found = {word for _, _, word in self._counts}
        return [(word, meaning) for word, meaning in VERDICTS.items() if word in found]

    def choices(self) -> list[tuple[str, int]]:
        """The verdicts in answers, with the number of records whose answer has one."""
        return [(word, self._records[word]) for word in VERDICTS if self._records[word]]
