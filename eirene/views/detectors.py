"""Detectors evaluated: tables (Markdown); what a calibration was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eirene.views.tables import cell, figure, markdown_table, p_value

Json = Mapping[str, Any]
FIGURES = ("auc", "ap", "f1")
FEW_CLUSTERS = 10
"""Under so many a percentile bootstrap over clusters is known to give intervals that are too narrow (Cameron, Gelbach
and Miller 2008, "Bootstrap-based improvements for inference with clustered errors")."""
_MOST_REASONS = 5


def evaluation_table(summary: Json) -> str:
    """`table.md` of the figures that `eirene evaluate detectors` writes as `summary.json`."""
    parts = [
        f"# Detectors on {summary['data']['name']}",
        _preface(summary),
        *(part for level in summary["levels"] for part in level_tables(level, summary)),
        _graded(summary),
        table("What it took", ("detector", "answers", "failed", "seconds", "median", "95th percentile", "calls",
                               "tokens in", "tokens out", "cost", "settings"), _costs(summary)),
        _unscored(summary),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def level_tables(level: Json, summary: Json) -> Iterator[str]:
    """The tables of one level: figures and floors, pairs."""
    columns = ("", "ROC AUC", "average precision", "F1", "scored", "settings")
    yield table(level_title(level), columns, figure_rows(level, summary["signature"]), said=counted(level))
    rows = list(_pairs(level, summary["signature"]))
    of_pairs = ("difference of AUC", "[95 % interval]", "n", "p (bootstrap)", "settings")
    said = "P-values: as they are / after Holm, over the pairs at this level."
    yield table(f"{level_title(level)}: pairs", of_pairs, rows, heading="###", said=said) if rows else ""


def _graded(summary: Json) -> str:
    """The rank correlations with grades; empty without grades."""
    graded = summary.get("graded", {})
    rows = [(name, *map(figure, found.values()), summary["signature"]) for name, found in graded.items()]
    columns = ("", "Spearman", "Kendall", "Spearman, length taken out", "Spearman within systems", "settings")
    return table("Rank correlation with the grades of answers", columns, rows) if rows else ""


def counted(level: Json) -> str:
    """How many labels, errors and clusters a level has, and whether these are too few for their intervals."""
    text = f"{level['n']:,} labelled, {level['errors']:,} errors, {level['clusters']:,} clusters"
    return text + ("; intervals over so few clusters are too narrow" if level["clusters"] < FEW_CLUSTERS else "")


def level_title(level: Json) -> str:
    """A level in words, such as "Hallucination, per sentence"."""
    return f"{level['error'].capitalize()}, per {level['level']}"


def figure_rows(level: Json, signature: str) -> Iterator[Sequence[str]]:
    """A line for each detector that scores at this level, then one for each floor."""
    for name, found in level["detectors"].items():
        if found["scored"]:
            settings = f"{signature}|t:{found['threshold']:.4g}" if "threshold" in found else signature
            share = f"{found['scored']:,} of {level['n']:,}"
            yield (name, *(figure(found[key]) for key in FIGURES), share, settings)
    for name, found in level["floors"].items():
        yield (f"*{floor_name(name, found)}*", *(figure(found[key]) for key in FIGURES), "", signature)


def floor_name(name: str, found: Json) -> str:
    """A floor in words, with its direction: "more words", "later"."""
    if name == "all":
        return "everything"
    more = found["direction"] == "more"
    if name == "position":
        return "later" if more else "earlier"
    return f"{'more' if more else 'fewer'} {name}"


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, heading: str = "##", said: str = ""
) -> str:
    """A Markdown table under its title; the last cell of each row is the settings that made it."""
    text = markdown_table(columns, ([*row[:-1], f"`{row[-1]}`"] for row in rows))
    return "\n\n".join(part for part in (f"{heading} {title}", said, text) if part)


def _preface(summary: Json) -> str:
    data, dev = summary["data"], summary["dev"]
    chosen = f"on {dev['name']}" if dev else f"on {summary['development_clusters']} of the clusters, drawn by the seed"
    lines = [
        f"{data['form']}: {summary['answers']:,} answers, {summary['clusters']:,} clusters. Scores are error scores; "
        "intervals are 95 % percentile bootstrap intervals over clusters. F1 is that of a threshold chosen "
        f"{chosen}, measured on the other answers; areas are of all answers. In italics: floors, that is what counting "
        "gives, in the direction that is better where thresholds are chosen.",
    ]
    if dev and dev["shared_clusters"]:
        lines.append(f"{dev['shared_clusters']} clusters are in both sets: thresholds have seen them, and F1 flatters.")
    lines += [f"Left out: {count} rows ({why})." for why, count in data["left_out"].items()]
    lines += [f"Drawn: {data['drawn']} of {data['of']} labelled answers."] if data["drawn"] < data["of"] else []
    return "\n\n".join(lines)


def _pairs(level: Json, signature: str) -> Iterator[Sequence[str]]:
    for pair in level["pairs"]:
        name = f"{pair['a']} minus {pair['b']}"
        if "unscored" in pair:
            yield (name, pair["unscored"], str(pair["n"]), "", signature)
            continue
        p = " / ".join(p_value(pair[key]) for key in ("p", "holm") if key in pair)
        yield (name, figure(pair["difference"], signed=True), str(pair["n"]), p, signature)


def _costs(summary: Json) -> Iterator[Sequence[str]]:
    for name, c in summary["costs"].items():
        seconds = (f"{c['seconds']['total']:.1f}", *(f"{c['seconds'][key]:.4f}" for key in ("median", "p95")))
        cost = "unknown" if c["cost_usd"] is None else f"${c['cost_usd']:.4f}"
        counts = (f"{c['calls']:,}", f"{c['input_tokens']:,}", f"{c['output_tokens']:,}", cost)
        version = f"{summary['signature']}|{c['version']}" if c["version"] else summary["signature"]
        yield (name, f"{c['answers']:,}", str(c["failed"]), *seconds, *counts, version)


def _unscored(summary: Json) -> str:
    """What has no score, and why: by level, detector and reason."""
    lines = []
    for level in summary["levels"]:
        for name, found in level["detectors"].items():
            reasons = list(found["unscored"].items())
            more = [("other reasons", sum(n for _, n in reasons[_MOST_REASONS:]))] if reasons[_MOST_REASONS:] else []
            lines += [
                f"- {level_title(level)}, {name}: {count:,} of {level['n']:,} unscored: {cell(why)}"
                for why, count in [*reasons[:_MOST_REASONS], *more]
            ]
    return "\n".join(["## Unscored", "", *lines]) if lines else ""


def control_lines(controls: Sequence[Json]) -> Iterator[str]:
    """What counting alone finds, a line for each count and error; `controls` as the card holds them."""
    for c in controls:
        area = figure(c["auc"]) if "value" in c["auc"] else "-"
        yield f"  {c['count']}: {c['error'].replace('_', ' ')} {area}, {c['errors']:,} of {c['auc']['n']:,}"


def fitted_on(found: Json) -> str:
    """How many answers, errors and questions, and what detectors left unscored."""
    text = f"{found['answers']:,} answers, {found['errors']:,} with the error, {found['clusters']:,} questions"
    text += "; intervals over so few are too narrow" if found["clusters"] < FEW_CLUSTERS else ""
    gaps = [f"{n:,} by {name}" for name, n in found["unscored"].items() if n]
    return text + (f"; unscored: {', '.join(gaps)}" if gaps else "")
