"""Sections of a comparison in the HTML report: tables, and intervals as bars on a scale that stands above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from eirene.views.comparison.tables import (
    KINDS,
    SPENT,
    STATUSES,
    digits_of,
    drawn,
    figure,
    p_value,
    per_accepted,
    spent,
    unscored,
)
from eirene.views.page import Cell, HtmlTable, RowGroup

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and what stands under it; `id` is its place in the page."""

    id: str
    title: str
    tables: tuple[HtmlTable, ...]
    note: str = ""


def sections(summary: Json) -> Iterator[PageSection]:
    """The figures, section by section."""
    items, seeds = summary["items"], summary["seeds"]
    about = f"{items:,} item{'' if items == 1 else 's'}, seed{'' if len(seeds) == 1 else 's'} "
    about += ", ".join(map(str, seeds)) + ". Intervals: 95 % bootstrap over items."
    yield PageSection("outcomes", "What became of the answers", (_outcomes(summary, about),))
    none = "" if summary["judge"] else "No judge was named: errors, penalties and error correction are unscored."
    yield PageSection("before-after", "Before and after", (_scores(summary),), none)
    if summary["judge"]:
        yield PageSection("correction", "Error correction, by the judge", (_corrections(summary),), summary["judge"])
    for n, pair in enumerate(summary["pairs"], start=1):
        yield PageSection(f"pair-{n}", f"{pair['a']} minus {pair['b']}", (_differences(pair), _tests(pair)))
    yield PageSection("costs", "What it took", tuple(_costs(summary)))


def _outcomes(summary: Json, about: str) -> HtmlTable:
    rows = [
        (mode, f"{found['rows']:,}", *(f"{found['status'][status]:,}" for status in STATUSES))
        for mode, found in summary["per_mode"].items()
    ]
    return HtmlTable.plain(about, ("Mode", "Rows", *(s.capitalize() for s in STATUSES)), rows)


def _scores(summary: Json) -> HtmlTable:
    """By error, so that the modes stand one under the other."""
    groups: dict[tuple[str, bool], list[tuple[str, ...]]] = {}
    for mode, found in summary["per_mode"].items():
        for name, score in [*found["scores"].items(), *found["judged"].get("errors", {}).items()]:
            digits = digits_of(name)
            before, after = (figure(score[side], digits) for side in ("before", "after"))
            change = figure(score["change"], digits, signed=True)
            line = (mode, before, after, change, f"{score['change']['n']:,}", unscored(score))
            groups.setdefault((score["label"], score.get("advisory", False)), []).append(line)
    caption = "Mean errors of each mode's own rows; lower is better. Change is the mean over the rows that have both."
    columns = ("Mode", "Before", "After", "Change", "n", "Unscored")
    found = [RowGroup(label, lines, muted=is_advisory) for (label, is_advisory), lines in groups.items()]
    return HtmlTable(caption, columns, sorted(found, key=lambda group: group.muted))


def _corrections(summary: Json) -> HtmlTable:
    rows = []
    for mode, found in summary["per_mode"].items():
        c = found["judged"]["correction"]
        counts = (f"{c[name]:,}" for name in ("corrected", "introduced", "left", "clean"))
        figures = (figure(c[name]) for name in ("precision", "recall", "f1"))
        rows.append((mode, *counts, *figures, f"{c['unscored_rows']:,}"))
    caption = (
        "Answers with an error before and none after (corrected), the reverse (introduced), before and after (left), "
        "and never (clean)."
    )
    columns = ("Mode", "Corrected", "Introduced", "Left", "Clean", "Precision", "Recall", "F1", "Unscored")
    return HtmlTable.plain(caption, columns, rows)


def _differences(pair: Json) -> HtmlTable:
    groups = []
    for kind, title in KINDS.items():
        lines = [d for d in pair["differences"] if d["kind"] == kind]
        if lines:
            reach = _reach(lines) if kind != "price" else None
            scale = f": bars from -{reach:.2f} to +{reach:.2f}" if reach else ""
            groups.append(RowGroup(title + scale, [_line(d, reach) for d in lines]))
    rows = f"{pair['rows']:,} row{'' if pair['rows'] == 1 else 's'}"
    caption = f"Mean differences on the {rows} that both have. "
    caption += f"{pair['a']} is better or worse where the interval leaves 0 out, on six items or more."
    return HtmlTable(caption, ("Of", "Interval", "Mean [95 %]", "n", "Unscored"), groups, first_number=2)


def _reach(lines: list[Json]) -> float | None:
    ends = [abs(d["difference"][end]) for d in drawn(lines) for end in ("low", "high")]
    return max(ends) * 1.05 if ends and max(ends) else None


def _line(found: Json, reach: float | None) -> tuple[Cell, ...]:
    difference = found["difference"]
    shown: Cell = figure(difference, digits_of(found["measure"]), signed=True)
    if found["verdict"] in ("better", "worse"):
        style = "dim" if found.get("advisory") else found["verdict"]
        shown = Markup('{} <span class="{}">{}</span>').format(shown, style, found["verdict"])
    return found["label"], _bar(found, reach), shown, f"{difference.get('n', 0):,}", f"{found['unscored']:,}"


def _bar(found: Json, reach: float | None) -> Cell:
    """An interval as places on a line of 0 to 100, its middle no difference; nothing where there is none."""
    difference = found["difference"]
    if reach is None or "low" not in difference:
        return ""
    low, value, high = (50 + 50 * difference[name] / reach for name in ("low", "value", "high"))
    return Markup(
        '<svg class="range {}" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">'
        '<line x1="50" y1="0" x2="50" y2="12"/><rect x="{:.1f}" y="5" width="{:.1f}" height="2"/>'
        '<rect x="{:.1f}" y="2" width="1.2" height="8"/></svg>'
    ).format("open" if found.get("advisory") else found["verdict"] or "open", low, max(high - low, 0.6), value - 0.6)


def _tests(pair: Json) -> HtmlTable:
    rows = []
    for test in pair["tests"]:
        p = (p_value(test["p"]), p_value(test["p_holm"])) if "p" in test else (test["unscored_why"], "-")
        counts = [f"{test[name]:,}" for name in ("only_a", "only_b", "ties")]
        rows.append((test["label"], *counts, *p, f"{test['unscored']:,}"))
    columns = ("Of", f"{pair['a']} alone", f"{pair['b']} alone", "Alike", "p", "p (Holm)", "Unscored")
    caption = "McNemar's exact test, an item once; Holm's correction over all tests of the comparison."
    return HtmlTable.plain(caption, columns, rows)


def _costs(summary: Json) -> Iterator[HtmlTable]:
    per_mode = summary["per_mode"].items()
    columns = ("Mode", *(name.capitalize() for name in SPENT))
    yield HtmlTable.plain("In all.", columns, [(mode, *spent(found["usage"])) for mode, found in per_mode])
    rows = [(mode, *per_accepted(found["per_accepted"])) for mode, found in per_mode]
    caption = "For one accepted rewrite, the price of all other rows of the mode in it."
    yield HtmlTable.plain(caption, columns, rows)
