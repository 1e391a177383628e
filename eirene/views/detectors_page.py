"""The page of an evaluation of detectors: a conclusion in words, curves, and tables with the floors beside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from eirene.views.charts import ShownCurve, curves, key_line
from eirene.views.detectors import FEW_CLUSTERS, FIGURES, counted, figure, floor_name, level_title, p_value
from eirene.views.detectors_verdict import conclusion
from eirene.views.facts import visible
from eirene.views.page import Cell, HtmlTable, RowGroup, page

Json = Mapping[str, Any]
_FLOORS = "Floors: what counting alone gives, without reading a word"


@dataclass(frozen=True, slots=True)
class LevelSection:
    """One level of the page: what it concludes, its curves with their titles, its tables, and tables to open."""

    id: str
    title: str
    conclusion: str
    counted: str
    plots: Sequence[tuple[str, Markup]]
    tables: Sequence[HtmlTable]
    folded: Sequence[tuple[str, HtmlTable]]


def render_detectors_page(summary: Json, curves_of: Sequence[Json]) -> str:
    """The page of the figures that `eirene evaluate detectors` writes; `curves_of` are the curves of each level."""
    points = {(level["error"], level["level"]): level for level in curves_of}
    levels = [
        _section(n, level, points.get((level["error"], level["level"])))
        for n, level in enumerate(summary["levels"], start=1)
    ]
    return page(
        "detectors.html.j2",
        styles=("page.css", "charts.css", "detectors.css"),
        scripts=("scroll.js",),
        data=summary["data"],
        about=list(_about(summary)),
        levels=levels,
        costs=_costs(summary),
        unscored=_unscored(summary),
        signature=summary["signature"],
    )


def _about(summary: Json) -> Iterator[str]:
    data, dev = summary["data"], summary["dev"]
    chosen = f"on {dev['name']}" if dev else f"on {summary['development_clusters']} clusters that the seed drew"
    yield (
        f"{data['form']}: {summary['answers']:,} answers in {summary['clusters']:,} clusters. Brackets hold 95 % "
        f"bootstrap intervals over clusters. The threshold of F1 was chosen {chosen} and is measured on the others."
    )
    if dev and dev["shared_clusters"]:
        yield f"{dev['shared_clusters']} clusters are in both sets: thresholds have seen them, and F1 flatters."
    few = sorted({level["clusters"] for level in summary["levels"] if level["clusters"] < FEW_CLUSTERS})
    if few:
        yield f"Intervals over fewer than {FEW_CLUSTERS} clusters are too narrow; here there are {few[0]}."
    yield from (f"Left out: {count:,} rows ({why})." for why, count in data["left_out"].items())
    if data["drawn"] < data["of"]:
        yield f"Drawn: {data['drawn']:,} of {data['of']:,} labelled answers."


def _section(n: int, level: Json, points: Json | None) -> LevelSection:
    drawn = list(points["detectors"]) if points is not None else []
    scored = sorted((name for name, found in level["detectors"].items() if found["scored"]), key=_area_in(level))
    looks = {name: place for place, name in enumerate((name for name in scored if name in drawn), start=1)}
    folded = [(f"ROC AUC by {name}", _slices(name, values)) for name, values in level["slices"].items()]
    return LevelSection(
        id=f"level-{n}",
        title=level_title(level),
        conclusion=conclusion(level),
        counted=counted(level) + ".",
        plots=list(_plots(points, looks)) if points is not None and looks else [],
        tables=[_figures(level, scored, looks), *_pairs(level)],
        folded=[(title, table) for title, table in folded if table.groups[0].rows],
    )


def _area_in(level: Json) -> Any:
    """A key that puts the detector with the largest area first."""
    return lambda name: -level["detectors"][name]["auc"].get("value", 0.0)


def _plots(points: Json, looks: Mapping[str, int]) -> Iterator[tuple[str, Markup]]:
    found = points["detectors"]
    roc = [ShownCurve(found[name]["fpr"], found[name]["tpr"], look) for name, look in looks.items()]
    yield "ROC curve", curves(
        roc, name=f"ROC curves of {', '.join(looks)}; the table below has the areas under them.",
        across="false alarms (share of the correct)", up="errors found (share)", line=((0, 0), (1, 1)), steps=False,
    )  # fmt: skip
    # Between two points nothing is reached: average precision is the area under the steps.
    ends = {name: ([0.0, *found[name]["recall"]], [found[name]["precision"][0], *found[name]["precision"]])
            for name in looks}  # fmt: skip
    rate = points["rate"]
    yield "Precision and recall", curves(
        [ShownCurve(*ends[name], look) for name, look in looks.items()],
        name=f"Precision-recall curves of {', '.join(looks)}; the table below has the average precisions.",
        across="recall (share of the errors found)", up="precision", line=((0, rate), (1, rate)), steps=True,
    )  # fmt: skip


def _figures(level: Json, scored: Sequence[str], looks: Mapping[str, int]) -> HtmlTable:
    """The detectors, best first, and under them the floors."""
    own: list[Sequence[Cell]] = []
    for name in scored:
        found = level["detectors"][name]
        key = key_line(looks[name]) if name in looks else Markup("")
        share = f"{found['scored']:,} of {level['n']:,}"
        own.append((key + Markup("{}").format(visible(name)), *(figure(found[key]) for key in FIGURES), share))
    floors = [
        (floor_name(name, found), *(figure(found[key]) for key in FIGURES), "")
        for name, found in level["floors"].items()
    ]
    columns = ("Detector", "ROC AUC", "Average precision", "F1", "Scored")
    groups = [RowGroup("", own)] * bool(own) + [RowGroup(_FLOORS, floors, muted=True)]
    return HtmlTable("Higher is better in every column. The dotted line in the plots is chance.", columns, groups)


def _pairs(level: Json) -> Iterator[HtmlTable]:
    rows: list[tuple[str, ...]] = []
    for pair in level["pairs"]:
        name = f"{pair['a']} minus {pair['b']}"
        if "unscored" in pair:
            rows.append((name, pair["unscored"], f"{pair['n']:,}", "", ""))
            continue
        p = [p_value(pair[key]) if key in pair else "" for key in ("p", "holm")]
        rows.append((name, figure(pair["difference"], signed=True), f"{pair['n']:,}", *p))
    if rows:
        columns = ("Pair", "Difference of ROC AUC", "Rows", "p", "p (Holm)")
        yield HtmlTable.plain("Each two detectors, on what both have scored (paired bootstrap).", columns, rows)


def _slices(name: str, values: Json) -> HtmlTable:
    labels = list(dict.fromkeys(label for found in values.values() for label in found["auc"]))
    rows = [
        (value, f"{found['n']:,}", f"{found['errors']:,}",
         *(figure(found["auc"][label]) if label in found["auc"] else "" for label in labels))
        for value, found in values.items()
        if 0 < found["errors"] < found["n"]
    ]  # fmt: skip
    return HtmlTable.plain(
        f"By {name}, where there are errors and others.", (name, "Labelled", "Errors", *labels), rows
    )


def _costs(summary: Json) -> HtmlTable:
    """What each detector took; without the columns that are 0 for all."""
    rows = []
    for name, c in summary["costs"].items():
        money = "unknown" if c["cost_usd"] is None else f"${c['cost_usd']:.4f}" if c["cost_usd"] else "0"
        counts = (f"{c[key]:,}" for key in ("answers", "failed", "calls", "input_tokens", "output_tokens"))
        seconds = (f"{c['seconds']['total']:.1f}", *(f"{c['seconds'][key]:.4f}" for key in ("median", "p95")))
        rows.append((name, *counts, money, *seconds))
    columns = ("Detector", "Answers", "Failed", "Calls", "Tokens in", "Tokens out", "Cost", "Seconds", "Median", "95 %")
    kept = [n for n in range(len(columns)) if n == 0 or any(row[n] != "0" for row in rows)]
    caption = "Median and 95 %: seconds of one answer, in the middle and at the 95th percentile."
    return HtmlTable.plain(caption, [columns[n] for n in kept], [[row[n] for n in kept] for row in rows])


def _unscored(summary: Json) -> HtmlTable:
    rows = [
        (f"{name}, {level_title(level).lower()}", why, f"{count:,} of {level['n']:,}")
        for level in summary["levels"]
        for name, found in level["detectors"].items()
        for why, count in found["unscored"].items()
    ]
    return HtmlTable.plain("What has no score, and why.", ("Detector", "Reason", "Unscored"), rows, first_number=2)
