"""A record as one web page that needs nothing else: no outside script, style, font or picture; everything escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from eirene.records import Item, Record
from eirene.shown import kinds_in
from eirene.views.facts import ADVISORY, STATUS_WORDS, cost, tone
from eirene.views.record_view import RecordView, view_of
from eirene.views.salience_page import picture
from eirene.views.web import Group, HtmlTable, change_cell, page, score_cell, script_safe


def render_page(record: Record, *, item: Item | None = None) -> str:
    """The page. With the `item`, the given arguments stand in words beside their scores, not by number alone."""
    view = view_of(record, item)
    return page(
        "page.html.j2",
        styles=("page.css", "findings.css", "salience.css"),
        scripts=("scroll.js", "page.js"),
        record=record,
        view=view,
        status_words=STATUS_WORDS[record.status],
        plain=tone(record) == "plain",
        moved=sum(piece.what == "moved to here" for piece in view.diff),
        kinds=kinds_in(r.critique for r in record.rounds),
        has_votes=any(s.cells for c in view.critiques for s in c.sentences),
        scores=_scores(view),
        arguments=list(_arguments(view)),
        maps=[(shown, picture(shown.rows, shown.columns, shown.shares)) for shown in view.maps],
        cost=cost(record.usage),
        file_name=re.sub(r"[^\w.-]+", "-", record.id)[:80] + ".json",
        json=script_safe(record.to_json()),
    )


def _scores(view: RecordView) -> HtmlTable:
    groups = [
        Group(
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
            Group(name, [(a.text, score_cell(a.before), score_cell(a.after), change_cell(a.before, a.after))
                         for a in members], muted=is_advisory)
            for name, members in groupby(rows, key=lambda row: row.group)
        ]  # fmt: skip
        caption = "How far each is missing from the answer: coverage error from 0 to 1; lower is better."
        caption += f" {ADVISORY}." if is_advisory else " What was said, under 0.5, and is missing after is harm."
        yield detector, HtmlTable(caption, ("Given", "Before", "After", "Change"), groups)
