"""The page of a comparison: its verdict, the figures behind it, and every item's rewrites side by side; and of a blind
one: two answers, to be marked by keyboard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from eirene.core.records import Item, Record
from eirene.core.signature import digest
from eirene.views.comparison.tables import sections
from eirene.views.comparison.verdict import cautions, measure_name, verdict
from eirene.views.facts import cost
from eirene.views.faults import STYLES
from eirene.views.page import compact, page, script_safe
from eirene.views.record import shown_conversation, view_of

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ItemMeasure:
    """An error of each record, in the order of the records, before and after; None where it was not scored."""

    label: str
    advisory: bool
    before: Sequence[float | None]
    after: Sequence[float | None]


def render_comparison_page(
    records: Sequence[Record],
    measures: Sequence[ItemMeasure],
    summary: Json,
    *,
    title: str = "Comparison",
    items: Mapping[str, Item] | None = None,
) -> str:
    """The page. `items` by id give what each answer was to be compared with.

    An item's texts are in the page as JSON, a line each, and are read when the item is chosen: thousands of items must
    not take longer to open than ten.
    """
    modes, lead = list(summary["modes"]), (summary["primary"] or {}).get("label")
    index, details = [], []
    for (name, seed), by_mode in _by_item(records).items():
        first = next(iter(by_mode.values()))
        cells = [_cell(by_mode.get(mode), records, measures) for mode in modes]
        index.append((name, records[first].question, seed, cells))
        shown = [None if mode not in by_mode else _details(records[by_mode[mode]]) for mode in modes]
        given = texts_by_group(None if items is None else items.get(name))
        details.append(compact([records[first].original, given, shown]))
    return page(
        "comparison/page.html.j2",
        styles=("page.css", "comparison/page.css"),
        scripts=("scroll.js", "draw.js", "comparison/page.js"),
        title=title,
        verdict=verdict(summary),
        about=_about(summary),
        caution=" ".join(cautions(summary)),
        sections=list(sections(summary)),
        made_with={**summary["signatures"], "statistics": summary["statistics"]},
        modes=modes,
        measures=[measure_name({"label": measure.label}) for measure in measures],
        lead=next((n for n, measure in enumerate(measures) if measure.label == lead), 0),
        advisory=[measure.advisory for measure in measures],
        seeds=summary["seeds"],
        n_items=len(index),
        index=script_safe(compact(index)),
        details=script_safe("\n".join(details)),
        names=script_safe(compact({"modes": modes, "seeds": len(summary["seeds"]), "words": STYLES})),
    )


def _by_item(records: Sequence[Record]) -> dict[tuple[str, int], dict[str, int]]:
    """By item and seed the record of each mode, as its place among the records."""
    found: dict[tuple[str, int], dict[str, int]] = {}
    for place, record in enumerate(records):
        found.setdefault((record.id, record.seed), {})[record.mode] = place
    return found


def _cell(place: int | None, records: Sequence[Record], measures: Sequence[ItemMeasure]) -> list[Any] | None:
    """What the table of items needs of a record: its status, and each error before and after."""
    if place is None:
        return None
    pairs = [[_rounded(measure.before[place]), _rounded(measure.after[place])] for measure in measures]
    return [records[place].status, pairs]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 4)


def _details(record: Record) -> list[Any]:
    """What is shown of a record beside those of the other modes."""
    view = view_of(record)
    found = [
        [s.n, [astuple(f) for f in s.faults], [(g.label, g.text) for g in s.gaps]]
        for critique in view.critiques[:1]
        for s in critique.sentences
        if s.faults or s.gaps
    ]
    undone = [f"{edit.what} ({edit.why})" for _, edit in view.undone]
    error = "" if record.error is None else f"{record.error.kind}: {record.error.message}"
    return [error or record.why, view.summary, [astuple(line) for line in view.diff], found, undone, cost(record.usage)]


def texts_by_group(item: Item | None) -> list[tuple[str, list[str]]]:
    """The texts that an answer is compared with, under the names of their groups."""
    if item is None:
        return []
    if item.perspectives:
        return [(side.name, list(side.arguments)) for side in item.perspectives]
    return [("context", list(item.context))] if item.context else []


def _about(summary: Json) -> str:
    items, seeds, modes = summary["items"], summary["seeds"], summary["modes"]
    text = f"{items:,} item{'' if items == 1 else 's'}, {len(modes)} mode{'' if len(modes) == 1 else 's'}, "
    text += f"seed{'' if len(seeds) == 1 else 's'} {', '.join(map(str, seeds))}: {summary['rows']:,} rows."
    return text + " Errors lie between 0 and 1; brackets hold 95 % bootstrap intervals over items."


def render_blind_page(pairs: Iterable[tuple[str, Item, str, str]]) -> str:
    """The page of pairs: a name, the item, answers A and B. It holds nothing of what an answer came from."""
    lines = []
    for name, item, a, b in pairs:
        before = shown_conversation(item.history)
        lines.append([name, item.question, None if before is None else astuple(before), texts_by_group(item), a, b])
    return page(
        "comparison/blind.html.j2",
        styles=("page.css", "comparison/page.css", "comparison/blind.css"),
        scripts=("draw.js", "comparison/blind.js"),
        n_pairs=len(lines),
        number=digest([line[0] for line in lines])[:12],
        pairs=script_safe("\n".join(map(compact, lines))),
    )
