"""Sections of a comparison's page: outcomes, differences as plots and tables, errors before and after, costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from eirene.views.charts import IntervalGroup, ShownInterval, intervals
from eirene.views.comparison.figures import digits_of, drawn, figure, p_value, unscored
from eirene.views.comparison.tables import KINDS, SPENT, STATUSES, per_accepted, spent
from eirene.views.comparison.verdict import measure_name
from eirene.views.page import Cell, HtmlTable, RowGroup

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoldedTable:
    """Tables that are shown when their title is opened."""

    title: str
    tables: tuple[HtmlTable, ...]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and what stands under it: plots with their titles, tables, a note, and tables to open.

    `id` is its place in the page.
    """

    id: str
    title: str
    tables: tuple[HtmlTable, ...]
    note: str = ""
    plots: tuple[tuple[str, Markup], ...] = ()
    folded: tuple[FoldedTable, ...] = ()


def sections(summary: Json) -> Iterator[PageSection]:
    """The figures, section by section; what is 0 everywhere is left out."""
    yield PageSection("outcomes", "Outcomes", (_outcomes(summary),))
    if summary["pairs"]:
        yield _differences(summary)
    decide, advise = _scores(summary, advisory=False), _scores(summary, advisory=True)
    folded = (FoldedTable("Advisory scores: shown, and decide nothing", (advise,)),) if advise.groups else ()
    tables = (decide,) if decide.groups else ()
    none = "" if summary["judge"] else "No judge was named (--judge), so there are no errors by a judge."
    yield PageSection("before-after", "Errors before and after", tables, none, folded=folded)
    if summary["judge"]:
        yield PageSection("correction", "Error correction, by the judge", (_corrections(summary),), summary["judge"])
    yield _costs(summary)


def _outcomes(summary: Json) -> HtmlTable:
    per_mode = summary["per_mode"].items()
    shown = [status for status in STATUSES if any(found["status"][status] for _, found in per_mode)]
    rows = [(mode, f"{found['rows']:,}", *(f"{found['status'][s]:,}" for s in shown)) for mode, found in per_mode]
    caption = "What each mode made of the same answers."
    return HtmlTable.plain(caption, ("Mode", "Rows", *(status.capitalize() for status in shown)), rows)


def _scores(summary: Json, *, advisory: bool) -> HtmlTable:
    """By error, so that the modes stand one under the other."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    has_unscored = False
    for mode, found in summary["per_mode"].items():
        for name, score in [*found["judged"].get("errors", {}).items(), *found["scores"].items()]:
            if bool(score.get("advisory")) != advisory:
                continue
            digits = digits_of(name)
            before, after = (figure(score[side], digits) for side in ("before", "after"))
            change = figure(score["change"], digits, signed=True)
            missing = unscored(score)
            has_unscored |= missing != "0"
            groups.setdefault(measure_name(score), []).append(
                (mode, before, after, change, f"{score['change']['n']:,}", missing)
            )
    caption = "Mean errors of each mode's rows with 95 % intervals; lower is better. Change: on the rows with both."
    columns = ("Mode", "Before", "After", "Change", "Rows", "Unscored")
    kept = len(columns) if has_unscored else -1
    found = [RowGroup(label, [line[:kept] for line in lines], muted=advisory) for label, lines in groups.items()]
    return HtmlTable(caption, columns[:kept], found)


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


def _differences(summary: Json) -> PageSection:
    pairs = summary["pairs"]
    equal = _equal(pairs)
    pairs = [{**pair, "differences": [d for d in pair["differences"] if d["label"] not in equal]} for pair in pairs]
    rows = max(pair["rows"] for pair in pairs)
    caption = f"Mean difference on the rows that both modes have (up to {rows:,}), with its 95 % interval. Better or "
    caption += "worse: the interval leaves out 0, on at least six items."
    advisory = _difference_table(pairs, "The same of the advisory scores.", advisory=True)
    folded = [FoldedTable("Advisory scores: shown, and decide nothing", (advisory,))] if advisory.groups else []
    tests = [HtmlTable.plain(f"{pair['a']} and {pair['b']}", _test_columns(pair), _tests(pair)) for pair in pairs]
    about = "Exact tests (McNemar's, an item once; p also with Holm's correction over all tests)"
    if any(table.groups[0].rows for table in tests):
        folded.append(FoldedTable(about, tuple(table for table in tests if table.groups[0].rows)))
    return PageSection(
        "differences", "Differences between modes", (_difference_table(pairs, caption, advisory=False),),
        note=f"The modes do not differ at all in: {', '.join(equal.values())}." if equal else "",
        plots=tuple(_plots(pairs)), folded=tuple(folded),
    )  # fmt: skip


def _equal(pairs: Sequence[Json]) -> dict[str, str]:
    """The errors that are the same in all modes, answer by answer: their labels and names."""
    lines = [d for pair in pairs for d in pair["differences"]]
    differ = {d["label"] for d in lines if not _is_nothing(d["difference"]) or "value" not in d["difference"]}
    return {d["label"]: measure_name(d) for d in lines if d["verdict"] and d["kind"] != "price"
            and d["label"] not in differ}  # fmt: skip


def _plots(pairs: Sequence[Json]) -> Iterator[tuple[str, Markup]]:
    """A plot for each kind of measure that has a better end: those of one kind share a scale."""
    for kind in ("share", "penalty", "score"):
        groups: dict[str, list[ShownInterval]] = {}
        for pair in pairs:
            for d in drawn([d for d in pair["differences"] if d["kind"] == kind and d["verdict"]]):
                if not d.get("advisory"):
                    groups.setdefault(measure_name(d), []).append(_interval(pair, d))
        if groups:
            shown = [IntervalGroup(name, lines) for name, lines in groups.items()]
            title = f"{KINDS[kind]}: differences of the means, with 95 % intervals"
            name = f"{title}. The table below has the figures."
            plot = intervals(shown, name=name, below="← first mode better", above="first mode worse →")
            yield title, plot


def _interval(pair: Json, found: Json) -> ShownInterval:
    difference = found["difference"]
    return ShownInterval(
        f"{pair['a']} minus {pair['b']}",
        figure(difference, min(2, digits_of(found["measure"])), signed=True),
        low=difference["low"],
        value=difference["value"],
        high=difference["high"],
        look=found["verdict"],
    )


def _difference_table(pairs: Sequence[Json], caption: str, *, advisory: bool) -> HtmlTable:
    groups = []
    has_unscored = any(d["unscored"] for pair in pairs for d in pair["differences"])
    for pair in pairs:
        lines = [d for d in pair["differences"] if d["kind"] != "price" and bool(d.get("advisory")) == advisory]
        shown = [_line(d, has_unscored=has_unscored) for d in lines if d["verdict"] or not _is_nothing(d["difference"])]
        if shown:
            groups.append(RowGroup(f"{pair['a']} minus {pair['b']}", shown, muted=advisory))
    columns = ("Of", "Mean [95 %]", "Verdict", "Rows", "Unscored")
    return HtmlTable(caption, columns if has_unscored else columns[:-1], groups)


def _line(found: Json, *, has_unscored: bool) -> tuple[Cell, ...]:
    difference = found["difference"]
    shown = figure(difference, digits_of(found["measure"]), signed=True)
    told: Cell = {"open": "cannot be told"}.get(found["verdict"] or "", "")
    if found["verdict"] in ("better", "worse"):
        told = Markup('<span class="{0}">{0}</span>').format(found["verdict"])
    more = [f"{found['unscored']:,}"] * has_unscored
    return measure_name(found), shown, told, f"{difference.get('n', 0):,}", *more


def _is_nothing(difference: Json) -> bool:
    """Whether a difference is 0 in every resample, or was not taken at all."""
    return not any(difference.get(end) for end in ("value", "low", "high"))


def _test_columns(pair: Json) -> tuple[str, ...]:
    return "Of", f"{pair['a']} alone", f"{pair['b']} alone", "Alike", "p", "p (Holm)", "Unscored"


def _tests(pair: Json) -> list[tuple[str, ...]]:
    rows = []
    for test in pair["tests"]:
        if "p" in test and not test["only_a"] and not test["only_b"]:
            continue  # the two never differ: there is nothing to test
        p = (p_value(test["p"]), p_value(test["p_holm"])) if "p" in test else (test["unscored_why"], "-")
        counts = [f"{test[name]:,}" for name in ("only_a", "only_b", "ties")]
        rows.append((test["label"], *counts, *p, f"{test['unscored']:,}"))
    return rows


def _costs(summary: Json) -> PageSection:
    """Spent in all and for one accepted rewrite, and the differences of a row's; without what nothing was spent of."""
    per_mode = summary["per_mode"].items()
    used = [name for name, key in _KEYS.items() if any(found["usage"][key] != 0 for _, found in per_mode)]
    kept = [SPENT.index(name) for name in used]
    columns = ("Mode", *(name.capitalize() for name in used))

    def table(caption: str, rows: Sequence[tuple[str, tuple[str, ...]]]) -> HtmlTable:
        return HtmlTable.plain(caption, columns, [(mode, *(cells[i] for i in kept)) for mode, cells in rows])

    tables = [table("In all.", [(mode, spent(found["usage"])) for mode, found in per_mode])]
    accepted = [(mode, per_accepted(f["per_accepted"])) for mode, f in per_mode if "unscored" not in f["per_accepted"]]
    if accepted:
        tables.append(table("For one accepted rewrite, with the cost of the mode's other rows.", accepted))
    groups = [
        RowGroup(f"{pair['a']} minus {pair['b']}", rows)
        for pair in summary["pairs"]
        if (rows := [_line(d, has_unscored=False) for d in pair["differences"]
                     if d["kind"] == "price" and not _is_nothing(d["difference"])])
    ]  # fmt: skip
    of_rows = HtmlTable(
        "Mean difference of one row, with its 95 % interval.", ("Of", "Mean [95 %]", "Verdict", "Rows"), groups
    )
    none = "" if any(f["usage"]["calls"] for _, f in per_mode) else "No model was called."
    folded = (FoldedTable("Differences of cost between modes", (of_rows,)),) if groups else ()
    return PageSection("costs", "Cost", tuple(tables), none, folded=folded)


_KEYS = dict(zip(SPENT, ("calls", "input_tokens", "output_tokens", "seconds", "cost_usd"), strict=True))
