"""Tables of a comparison: Markdown (`table.md`), each line with its settings, and a summary for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.views.comparison.figures import digits_of, figure, p_value, unscored
from eirene.views.comparison.verdict import verdict
from eirene.views.facts import visible

Json = Mapping[str, Any]
STATUSES = ("accepted", "complete", "kept", "abstained", "failed")
KINDS = {"share": "Shares of the answers", "score": "Error scores", "penalty": "Penalties", "price": "Cost of a row"}
"""The kinds of measures in words: those of one kind share a scale."""
SPENT = ("calls", "tokens in", "tokens out", "seconds", "cost")
"""The columns of `spent` and `per_accepted`."""


def comparison_table(summary: Json) -> str:
    """`table.md` of the figures that `eirene compare` writes as `summary.json`."""
    modes = summary["modes"]
    seeds = ", ".join(map(str, summary["seeds"]))
    several = len(summary["seeds"]) > 1
    parts = [
        "# Comparison of feedback modes",
        verdict(summary),
        f"{summary['items']} items, {len(modes)} modes, seed{'s' if several else ''} {seeds}: {summary['rows']} rows. "
        "Scores are error scores from 0 to 1; lower is better. Intervals are 95 % percentile bootstrap intervals over "
        "items; *n* is the rows that a figure is taken over.",
        _table("Outcomes", ("mode", "rows", *STATUSES), _statuses(summary)),
        _table("Scores before and after", ("mode", "score", "before", "after", "change", "n", "unscored"),
               _scores(summary)),
        *_judge(summary),
        _table("Cost", ("mode", *SPENT), _costs(summary)),
        _table("Cost of an accepted rewrite, with the cost of the mode's other rows", ("mode", *SPENT),
               _per_accepted(summary)),
        _table("Differences between modes, on the rows that both have",
               ("difference", "of", "mean [95 % interval]", "verdict", "n", "unscored"), _differences(summary)),
        _table("Exact tests",
               ("modes", "of", "first alone", "second alone", "p (McNemar)", "p (Holm)", "n", "unscored"),
               _tests(summary)),
        _notes(summary),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _statuses(summary: Json) -> Iterator[Sequence[str]]:
    for mode, found in summary["per_mode"].items():
        yield (mode, str(found["rows"]), *(str(found["status"][s]) for s in STATUSES), summary["signatures"][mode])


def _scores(summary: Json) -> Iterator[Sequence[str]]:
    for mode, found in summary["per_mode"].items():
        for score in found["scores"].values():
            yield (mode, *_change(score, 3), summary["signatures"][mode])


def _change(score: Json, digits: int) -> tuple[str, ...]:
    return (
        score["label"],
        figure(score["before"], digits),
        figure(score["after"], digits),
        figure(score["change"], digits, signed=True),
        str(score["change"]["n"]),
        unscored(score),
    )


def _judge(summary: Json) -> Iterator[str]:
    if not summary["judge"]:
        yield "No judge was named (`--judge`): errors, penalties and error correction are unscored."
        return
    judge = f"judge:{summary['judge']}"
    errors, corrections = [], []
    for mode, found in summary["per_mode"].items():
        signature = f"{summary['signatures'][mode]}|{judge}"
        for name, score in found["judged"]["errors"].items():
            errors.append((mode, *_change(score, digits_of(name)), signature))
        c = found["judged"]["correction"]
        counts = (str(c[name]) for name in ("corrected", "introduced", "left", "clean"))
        figures = (figure(c[name]) for name in ("precision", "recall", "f1"))
        corrections.append((mode, *counts, *figures, str(c["unscored_rows"]), signature))
    yield _table("Errors found by the judge", ("mode", "of", "before", "after", "change", "n", "unscored"), errors)
    columns = ("mode", "corrected", "introduced", "left", "clean", "precision", "recall", "F1", "unscored")
    yield _table("Error correction", columns, corrections)


def _costs(summary: Json) -> Iterator[Sequence[str]]:
    for mode, found in summary["per_mode"].items():
        yield (mode, *spent(found["usage"]), summary["signatures"][mode])


def _per_accepted(summary: Json) -> Iterator[Sequence[str]]:
    for mode, found in summary["per_mode"].items():
        yield (mode, *per_accepted(found["per_accepted"]), summary["signatures"][mode])


def spent(usage: Json) -> tuple[str, ...]:
    """What was spent, in the order of `SPENT`."""
    cost = "unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
    counts = (f"{usage[name]:,}" for name in ("calls", "input_tokens", "output_tokens"))
    return (*counts, f"{usage['seconds']:.2f}", cost)


def per_accepted(per: Json) -> tuple[str, ...]:
    """What an accepted rewrite took, in the order of `SPENT`; dashes and the reason where there was none."""
    if "unscored" in per:
        return ("-",) * (len(SPENT) - 1) + (str(per["unscored"]),)
    cost = per["cost_usd"]
    money = "unknown" if isinstance(cost, Mapping) else f"${cost:.5f}"
    tokens = (f"{per[name]:,.0f}" for name in ("input_tokens", "output_tokens"))
    return (f"{per['calls']:,.1f}", *tokens, f"{per['seconds']:.2f}", money)


def _differences(summary: Json) -> Iterator[Sequence[str]]:
    for pair in summary["pairs"]:
        for found in pair["differences"]:
            shown = figure(found["difference"], digits_of(found["measure"]), signed=True)
            n = str(found["difference"]["n"])
            name = f"{pair['a']} minus {pair['b']}"
            said = found["verdict"] or ""
            yield (name, found["label"], shown, said, n, str(found["unscored"]), pair_signature(summary, pair))


def _tests(summary: Json) -> Iterator[Sequence[str]]:
    for pair in summary["pairs"]:
        for t in pair["tests"]:
            p = ("-", "-") if "p" not in t else (p_value(t["p"]), p_value(t["p_holm"]))
            counts = (str(t["only_a"]), str(t["only_b"]))
            numbers = (str(t["n"]), str(t["unscored"]))
            name = f"{pair['a']}, {pair['b']}"
            yield (name, t["label"], *counts, *p, *numbers, pair_signature(summary, pair))


def pair_signature(summary: Json, pair: Json) -> str:
    """What made a difference: both modes' settings, said once where they are the same, and the statistics'."""
    a, b = (summary["signatures"][pair[side]].split("|") for side in ("a", "b"))
    own = [f"mode:{pair['a']}-{pair['b']}"]
    own += [part for part in dict.fromkeys([*a, *b]) if not part.startswith(("mode:", "v:"))]
    judge = [f"judge:{summary['judge']}"] if summary["judge"] else []
    return "|".join([*own, *judge, summary["statistics"]])


def _notes(summary: Json) -> str:
    text = (
        "Scores of answers that were compared with a critique (neither perspectives nor context given) are left out of "
    )
    text += "the differences and count as unscored there: each mode's critique gives another measure. "
    text += "Failed rows are unscored. With several seeds an item counts once in the exact tests. A difference is "
    text += "called better or worse where its interval leaves 0 out and there are six items or more, else open; more "
    text += "accepted rewrites are neither. Seconds are a row's own, waiting for other rows included; scoring the "
    text += "originals, which all modes share, is not in them."
    usage = summary["judge_usage"]
    if usage is not None:
        cost = "price unknown" if usage["cost_usd"] is None else f"${usage['cost_usd']:.4f}"
        text += f" The judge made {usage['calls']:,} calls ({usage['output_tokens']:,} tokens out, {cost}), apart."
    return text


def _table(title: str, columns: Sequence[str], lines: Iterator[Sequence[str]] | Sequence[Sequence[str]]) -> str:
    rows = [[*map(_cell, line[:-1]), f"`{line[-1]}`".replace("|", "\\|")] for line in lines]
    if not rows:
        return ""
    head = [*columns, "signature"]
    ruled = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return "\n".join([f"## {title}", "", *ruled, *("| " + " | ".join(row) + " |" for row in rows)])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


_STYLE = {"better": "green", "worse": "red"}


def render_comparison(summary: Json) -> RenderableType:
    """The verdict, outcomes, mean errors before and after, and the differences whose interval leaves 0 out."""
    parts: list[RenderableType] = [
        Text(visible(verdict(summary)), style="bold"),
        Text(""),
        _outcomes(summary),
        Text(""),
    ]
    if any(found["scores"] for found in summary["per_mode"].values()):
        parts += [Text("Mean errors (lower is better)", style="bold cyan"), _errors(summary), Text("")]
    if summary["pairs"]:
        parts.append(Text("Differences whose 95 % interval leaves 0 out (six items or more)", style="bold cyan"))
        parts += [line for pair in summary["pairs"] for line in _pair(pair)]
    return Group(*parts)


def _outcomes(summary: Json) -> Table:
    """Without the statuses that no row has."""
    per_mode = summary["per_mode"].items()
    shown = [status for status in STATUSES if any(found["status"][status] for _, found in per_mode)]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("mode")
    for name in ("rows", *shown):
        table.add_column(name, justify="right")
    for mode, found in per_mode:
        table.add_row(mode, f"{found['rows']:,}", *(f"{found['status'][status]:,}" for status in shown))
    return table


def _errors(summary: Json) -> Table:
    """A line a mode under each error, so that any number of modes fits."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("error")
    table.add_column("mode")
    for name in ("before", "after", "change"):
        table.add_column(name, justify="right")
    shown: dict[str, list[tuple[str, ...]]] = {}
    for mode, found in summary["per_mode"].items():
        for name, score in [*found["scores"].items(), *found["judged"].get("errors", {}).items()]:
            digits = digits_of(name)
            means = [_mean(score[side], digits, signed=side == "change") for side in ("before", "after", "change")]
            shown.setdefault(visible(score["label"]), []).append((mode, *means))
    for label, lines in shown.items():
        for n, line in enumerate(lines):
            table.add_row("" if n else label, *line)
    return table


def _mean(found: Json, digits: int, *, signed: bool) -> str:
    """The figure without its interval."""
    return figure(found, digits, signed=signed).split(" ")[0] if "value" in found else "unscored"


def _pair(pair: Json) -> Iterator[Text]:
    yield Text(f"{pair['a']} minus {pair['b']}", style="bold")
    told = sorted((d for d in pair["differences"] if d["verdict"] in _STYLE), key=lambda d: d.get("advisory", False))
    for d in told:
        shown = figure(d["difference"], digits_of(d["measure"]), signed=True)
        style = "dim" if d.get("advisory") else _STYLE[d["verdict"]]
        yield Text.assemble("  ", (d["verdict"], style), f"  {visible(d['label'])} {shown}")
    if not told:
        yield Text("  none", style="dim")
