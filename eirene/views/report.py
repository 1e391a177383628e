"""A whole run as one web page that needs nothing else: a list to filter and search, each record drawn when opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple
from pathlib import PurePath
from typing import Any

from eirene.critique import HALLUCINATIONS
from eirene.line_checksum import KEY
from eirene.records import Item, Record
from eirene.shown import kinds_in
from eirene.usage import Usage
from eirene.views.compare_table import STATUSES
from eirene.views.comparison import sections
from eirene.views.facts import cost, tone
from eirene.views.record_view import view_of
from eirene.views.web import compact, page, script_safe

Json = Mapping[str, Any]


def render_report(
    records: Iterable[Record],
    *,
    title: str = "Run",
    summary: Json | None = None,
    items: Mapping[str, Item] | None = None,
) -> str:
    """The page for any number of records. `summary`: a comparison's figures, shown above the list.

    `items` by id give the given arguments in words. Details are in the page as JSON, a line each, and are read when a
    record is opened: 5,000 records must not take longer to open than ten.
    """
    index: list[tuple[Any, ...]] = []
    details: list[str] = []
    signatures: dict[str, int] = {}
    usage, kinds = Usage(), set[str]()
    for record in records:
        is_plain = tone(record) == "plain"
        index.append((record.id, record.question, record.mode, record.status, record.seed, is_plain))
        item = None if items is None else items.get(record.id)
        number = signatures.setdefault(record.signature, len(signatures))
        details.append(compact(_details(record, item, signature=number)))
        usage = usage + record.usage
        kinds.update(kinds_in(r.critique for r in record.rounds))
    statuses = Counter(entry[3] for entry in index)
    return page(
        "report.html.j2",
        styles=("page.css", "findings.css", "report.css", "salience.css"),
        scripts=("scroll.js", "findings.js", "report.js"),
        title=title,
        total=len(index),
        statuses=[(status, statuses[status]) for status in STATUSES if statuses[status]],
        plain={entry[3] for entry in index if entry[5]},
        modes=list(Counter(entry[2] for entry in index).items()),
        seeds=sorted(Counter(entry[4] for entry in index).items()),
        kinds=[kind for kind in HALLUCINATIONS if kind in kinds],
        cost=cost(usage),
        comparison=() if summary is None else list(sections(summary)),
        made_with={} if summary is None else {**summary["signatures"], "statistics": summary["statistics"]},
        index=script_safe(compact(index)),
        details=script_safe("\n".join(details)),
        signatures=script_safe(compact(list(signatures))),
    )


def _details(record: Record, item: Item | None, *, signature: int) -> list[Any]:
    """What the page's script draws of a record; `signature` is a number in the page's list."""
    error = "" if record.error is None else f"{record.error.kind}: {record.error.message}"
    original = "" if record.status == "accepted" else record.original  # else it can be read off the diff
    about = (record.why, error, original, f"{record.backend}: {cost(record.usage)}", signature)
    return [about, *astuple(view_of(record, item))]


def report_title(path: str) -> str:
    """What a report of a file is called."""
    return PurePath(path).name or "Run"


def records_in(values: Iterable[tuple[str, object]]) -> Iterator[Record]:
    """Records from (where, value) pairs: a record, or a line of a batch's journal or of a comparison."""
    from pydantic import ValidationError

    from eirene.errors import InputError

    for where, value in values:
        data = value["record"] if isinstance(value, dict) and isinstance(value.get("record"), dict) else value
        if isinstance(data, dict) and "hash" in data:  # a line of a batch's journal
            data = {name: part for name, part in data.items() if name not in ("hash", KEY)}
        try:
            yield Record.model_validate(data)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(str(p) for p in problem["loc"]) or "the row"
            said = problem.get("ctx", {}).get("error", problem["msg"])
            rule = "is missing" if problem["type"] == "missing" else f"does not fit ({said})"
            raise InputError(f"is no record of a run: {place!r} {rule}", where=where) from None
