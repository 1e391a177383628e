"""Tables of a comparison: its sections for the page, the same as `table.md`, and a summary for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.text import Text

from eirene.core.records import STATUSES
from eirene.views.comparison.verdict import cautions, digits_of, measure_name, verdict
from eirene.views.facts import visible
from eirene.views.tables import Cell, HtmlTable, RowGroup, figure, p_value

Json = Mapping[str, Any]
_SPENT = {"calls": "Calls", "input_tokens": "Tokens in", "output_tokens": "Tokens out", "seconds": "Seconds of work",
          "cost_usd": "Cost"}  # fmt: skip
_ADVISORY = "Advisory scores: shown, and decide nothing"


@dataclass(frozen=True, slots=True)
class FoldedTable:
    """Tables that are shown when their title is opened."""

    title: str
    tables: tuple[HtmlTable, ...]


@dataclass(frozen=True, slots=True)
class PageSection:
    """A heading and what stands under it: tables, a note, and tables to open. `id` is its place in the page."""

    id: str
    title: str
    tables: tuple[HtmlTable, ...]
    note: str = ""
    folded: tuple[FoldedTable, ...] = ()


def comparison_table(summary: Json) -> str:
    """`table.md` of the figures that `eirene compare` writes as `summary.json`."""
    seeds = ", ".join(map(str, summary["seeds"]))
    parts = [
        "# Comparison of feedback modes",
        verdict(summary),
        f"{summary['items']} items, {len(summary['modes'])} modes, seeds {seeds}: {summary['rows']} rows. Scores are "
        "error scores from 0 to 1; lower is better. Intervals are 95 % percentile bootstrap intervals over items.",
    ]
    for section in sections(summary):
        parts += [f"## {section.title}", section.note, *(table.markdown() for table in section.tables)]
        for fold in section.folded:
            parts += [f"### {fold.title}", *(table.markdown() for table in fold.tables)]
    parts += [_notes(summary), *cautions(summary), f"All figures: `{signature_of(summary)}`"]
    return "\n\n".join(part for part in parts if part) + "\n"


def signature_of(summary: Json) -> str:
    """What made the figures, in one line: the settings of all modes, those that differ side by side, and the test's."""
    modes = [dict(part.partition(":")[::2] for part in text.split("|")) for text in summary["signatures"].values()]
    found = []
    for name in dict.fromkeys(name for settings in modes for name in settings if name != "v"):
        values = dict.fromkeys(settings.get(name, "-") for settings in modes)
        found.append(f"{name}:{'/'.join(values)}")
    return "|".join([*found, *([f"judge:{summary['judge']}"] if summary["judge"] else []), summary["statistics"]])


def sections(summary: Json) -> Iterator[PageSection]:
    """The figures, section by section; what is 0 everywhere is left out."""
    yield PageSection("outcomes", "Outcomes", (_outcomes(summary),))
    if summary["pairs"]:
        yield _differences(summary)
    decide, advise = _scores(summary, advisory=False), _scores(summary, advisory=True)
    folded = (FoldedTable(_ADVISORY, (advise,)),) if advise.groups else ()
    none = "" if summary["judge"] else "No judge was named (--judge), so there are no errors by a judge."
    yield PageSection("before-after", "Errors before and after", (decide,) if decide.groups else (), none, folded)
    if summary["judge"]:
        yield PageSection("correction", "Error correction, by the judge", (_corrections(summary),), summary["judge"])
    yield _costs(summary)


def _of_modes(
    summary: Json, caption: str, columns: Sequence[str], cells: Callable[[Json], Sequence[Cell]]
) -> HtmlTable:
    """A table with a line a mode: its name, then `cells` of its figures."""
    rows = [(mode, *cells(found)) for mode, found in summary["per_mode"].items()]
    return HtmlTable(caption, ("Mode", *columns), (RowGroup("", rows),))


def _outcomes(summary: Json) -> HtmlTable:
    shown = [s for s in STATUSES if any(found["status"].get(s) for found in summary["per_mode"].values())]
    columns = ("Rows", *(status.replace("_", " ").capitalize() for status in shown))
    caption = "What each mode made of the same answers."
    return _of_modes(
        summary, caption, columns, lambda f: (f"{f['rows']:,}", *(f"{f['status'].get(s, 0):,}" for s in shown))
    )


def _scores(summary: Json, *, advisory: bool) -> HtmlTable:
    """By error, so that the modes stand one under the other."""
    groups: dict[str, list[tuple[str, ...]]] = {}
    for mode, found in summary["per_mode"].items():
        judged = found["judged"].get("errors", {})
        for name, score in [*judged.items(), *found["scores"].items()]:
            if bool(score.get("advisory")) != advisory:
                continue
            digits, label = digits_of(name), measure_name(score)
            figures = [figure(score[side], digits, signed=side == "change") for side in ("before", "after", "change")]
            groups.setdefault(label, []).append((mode, *figures, f"{score['change']['n']:,}", _unscored(score)))
    columns = ("Mode", "Before", "After", "Change", "Rows", "Unscored")
    kept = len(columns) if any(line[-1] != "0" for lines in groups.values() for line in lines) else -1
    found = [RowGroup(label, [line[:kept] for line in lines], muted=advisory) for label, lines in groups.items()]
    caption = "Mean errors of each mode's rows with 95 % intervals; lower is better. Change: on the rows with both."
    return HtmlTable(caption, columns[:kept], found)


def _unscored(score: Json) -> str:
    """How many rows a score before and after is missing in."""
    before, after = score["unscored_before"], score["unscored_after"]
    return f"{before:,}" if before == after else f"{before:,} before, {after:,} after"


def _corrections(summary: Json) -> HtmlTable:
    def cells(found: Json) -> list[str]:
        c = found["judged"]["correction"]
        counts = [f"{c[name]:,}" for name in ("corrected", "introduced", "left", "clean")]
        return [*counts, *(figure(c[name]) for name in ("precision", "recall", "f1")), f"{c['unscored_rows']:,}"]

    caption = (
        "Answers with an error before and none after (corrected), the reverse (introduced), before and after (left), "
        "and never (clean)."
    )
    columns = ("Corrected", "Introduced", "Left", "Clean", "Precision", "Recall", "F1", "Unscored")
    return _of_modes(summary, caption, columns, cells)


def _differences(summary: Json) -> PageSection:
    equal = _equal(summary["pairs"])
    pairs = [{**p, "differences": [d for d in p["differences"] if d["label"] not in equal]} for p in summary["pairs"]]
    caption = (
        f"Mean difference on the rows that all modes have (up to {max(pair['rows'] for pair in pairs):,}), with its "
        "95 % interval, and p by sign flips over items after Holm's correction: over the pairs for the measure of the "
        "verdict, over all else together for the others. Better or worse: p of 0.05 at most, and an interval without "
        "0, on at least six items."
    )
    decide = _difference_table(pairs, caption, lambda d: d["kind"] != "price" and not d.get("advisory"))
    advise = _difference_table(
        pairs, "The same of the advisory scores.", lambda d: d["kind"] != "price" and bool(d.get("advisory"))
    )
    folded = [FoldedTable(_ADVISORY, (advise,))] if advise.groups else []
    note = f"The modes do not differ at all in: {', '.join(equal.values())}." if equal else ""
    title = "Differences between modes"
    return PageSection("differences", title, (decide,), note, tuple(folded))


def _equal(pairs: Sequence[Json]) -> dict[str, str]:
    """The errors that are the same in all modes, answer by answer: their labels and names."""
    lines = [d for pair in pairs for d in pair["differences"]]
    differ = {d["label"] for d in lines if not _is_nothing(d["difference"]) or "value" not in d["difference"]}
    return {d["label"]: measure_name(d) for d in lines if d["verdict"] and d["kind"] != "price"
            and d["label"] not in differ}  # fmt: skip


def _difference_table(pairs: Sequence[Json], caption: str, is_shown: Callable[[Json], bool]) -> HtmlTable:
    has_unscored = any(d["unscored"] for pair in pairs for d in pair["differences"] if d["kind"] != "price")
    groups = []
    for pair in pairs:
        lines = [d for d in pair["differences"] if is_shown(d)]
        rows = [
            _line(d)
            for d in lines
            if d["verdict"] or d["difference"].get("unscored") or not _is_nothing(d["difference"])
        ]
        rows = rows if has_unscored else [row[:-1] for row in rows]
        muted = any(d.get("advisory") for d in lines)
        if rows:
            groups.append(RowGroup(_pair_name(pair), rows, muted))
    columns = ("Of", "Mean [95 %]", "p (Holm)", "Verdict", "Rows", "Unscored")
    return HtmlTable(caption, columns if has_unscored else columns[:-1], groups)


def _line(found: Json) -> tuple[Cell, ...]:
    difference = found["difference"]
    shown = figure(difference, digits_of(found["measure"]), signed=True)
    told: Cell = {"open": "cannot be told"}.get(found["verdict"] or "", "")
    if found["verdict"] in ("better", "worse"):
        told = Markup('<span class="{0}">{0}</span>').format(found["verdict"])
    p = p_value(found["p_holm"]) if "p_holm" in found else ""
    return measure_name(found), shown, p, told, f"{difference.get('n', 0):,}", f"{found['unscored']:,}"


def _is_nothing(difference: Json) -> bool:
    """Whether a difference is 0 in every resample, or was not taken."""
    return not any(difference.get(end) for end in ("value", "low", "high"))


def _pair_name(pair: Json) -> str:
    return f"{pair['a']} minus {pair['b']}"


def _costs(summary: Json) -> PageSection:
    """Spent in all and for one accepted rewrite, and the differences of a row's; without what nothing was spent of."""
    per_mode = summary["per_mode"]
    used = [name for name in _SPENT if any(found["usage"][name] != 0 for found in per_mode.values())]
    columns = [_SPENT[name] for name in used]
    tables = [_of_modes(summary, "In all.", columns, lambda f: [_amount(name, f["usage"], "in all") for name in used])]
    if any("unscored" not in found["per_accepted"] for found in per_mode.values()):
        caption = "For one accepted rewrite, with the cost of the mode's other rows."
        tables.append(_of_modes(summary, caption, columns, lambda f: [_amount(n, f["per_accepted"], "") for n in used]))
    differences = _difference_table(
        summary["pairs"], "Mean difference of one row, with its 95 % interval.",
        lambda d: d["kind"] == "price" and not _is_nothing(d["difference"]),
    )  # fmt: skip
    folded = (FoldedTable("Differences of cost between modes", (differences,)),) if differences.groups else ()
    none = "" if any(f["usage"]["calls"] for f in per_mode.values()) else "No model was called."
    return PageSection("costs", "Cost", tuple(tables), none, folded=folded)


def _amount(name: str, spent: Json, of: str) -> str:
    """What was spent, in all or for one accepted rewrite; a dash where none was accepted."""
    if "unscored" in spent:
        return "-"
    value = spent[name]
    if name == "cost_usd":
        return "unknown" if value is None or isinstance(value, Mapping) else f"${value:.{4 if of else 5}f}"
    return f"{value:,.2f}" if name == "seconds" else f"{value:,}" if of else f"{value:,.{name == 'calls':d}f}"


def _notes(summary: Json) -> str:
    text = (
        "Scores of answers that were compared with a critique (neither perspectives nor context given) are left out of "
        "the differences and count as unscored there: each mode's critique gives another measure. Failed rows are "
        "unscored. With several seeds an item counts once in the tests. Seconds are a row's own, waiting for "
        "other rows included; scoring the originals, which all modes share, is not in them."
    )
    usage = summary["judge_usage"]
    if usage is not None:
        cost = "price unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
        text += f" The judge made {usage['calls']:,} calls ({usage['output_tokens']:,} tokens out, {cost}), apart."
    return text


_STYLE = {"better": "green", "worse": "red"}


def render_comparison(summary: Json) -> RenderableType:
    """The verdict, outcomes, mean errors before and after, and the differences that can be told."""
    outcomes, decide, advise = _outcomes(summary), *(_scores(summary, advisory=a) for a in (False, True))
    parts: list[RenderableType] = [Text(visible(verdict(summary)), style="bold"), Text("")]
    parts += [outcomes.terminal(len(outcomes.columns)), Text("")]
    named = [replace(group, name=f"{group.name} (advisory)") for group in advise.groups]
    errors = HtmlTable("", decide.columns, [*decide.groups, *named])
    if errors.groups:
        parts += [Text("Mean errors (lower is better)", style="bold cyan"), errors.terminal(4), Text("")]
    if summary["pairs"]:
        parts.append(Text("Differences that can be told (after Holm's correction)", style="bold cyan"))
        parts += [line for pair in summary["pairs"] for line in _pair(pair)]
    parts += [Text(caution, style="yellow") for caution in cautions(summary)]
    return Group(*parts)


def _pair(pair: Json) -> Iterator[Text]:
    yield Text(_pair_name(pair), style="bold")
    told = sorted((d for d in pair["differences"] if d["verdict"] in _STYLE), key=lambda d: d.get("advisory", False))
    for d in told:
        shown = figure(d["difference"], digits_of(d["measure"]), signed=True)
        style, of = ("dim", " (advisory)") if d.get("advisory") else (_STYLE[d["verdict"]], "")
        yield Text.assemble("  ", (d["verdict"], style), f"  {visible(measure_name(d))}{of} {shown}")
    if not told:
        yield Text("  none", style="dim")
