"""The tables of benchmarks/results/detectors.md as text: a pure function of the summaries that `results.py` makes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eirene.views.detectors import floor_name, level_title
from eirene.views.tables import figure

Json = Mapping[str, Any]


def tables(summaries: Sequence[Json]) -> str:
    """What was measured on every set, the differences, what has no score, and the time."""
    scored = [s for s in summaries if any(has_figures(level) for level in s["levels"])]
    parts = [
        settings_part(summaries),
        *(set_part(summary) for summary in scored),
        pairs_part(scored),
        unscored_part(summaries),
        cost_part(scored),
    ]
    return "\n\n".join(wrapped(part) for part in parts)


def wrapped(text: str) -> str:
    """The text with its paragraphs and list entries in lines of 120 characters; tables and headings as they are."""
    lines = []
    for line in text.split("\n"):
        apart = line.startswith(("|", "#", "    "))
        indent = "  " if line.startswith("- ") else ""
        lines += [line] if apart or not line else textwrap.wrap(line, 120, subsequent_indent=indent)
    return "\n".join(lines)


def settings_part(summaries: Sequence[Json]) -> str:
    """What the figures were made with."""
    made = summaries[0]["signature"].split("|")
    settings = ", ".join(part.replace(":", " ") for part in made if part.split(":")[0] in ("draws", "seed", "v"))
    versions = {name: c["version"] for s in summaries for name, c in s["costs"].items() if c["version"]}
    return f"Settings: {settings}. " + " ".join(f"`{name}`: {version}." for name, version in versions.items())


def has_figures(level: Json) -> bool:
    """Whether a detector has an area at this level."""
    return any("value" in found.get("auc", {}) for found in level["detectors"].values())


def set_part(summary: Json) -> str:
    """A set's table: at each level the detectors, then the floors."""
    out = "".join(f" Left out: {count} ({why})." for why, count in summary["data"]["left_out"].items())
    head = [
        f"## {summary['title']}",
        f"{summary['about']} {summary['answers']:,} answers.{out}",
        "| | n (errors), clusters | | ROC AUC | average precision | F1 |\n| --- | --- | --- | --- | --- | --- |",
    ]
    rows = [row for level in summary["levels"] if has_figures(level) for row in level_rows(level)]
    return "\n\n".join(head) + "\n" + "\n".join(rows)


def level_rows(level: Json) -> Iterator[str]:
    """The lines of one level."""
    first = f"{level_title(level)} | {level['n']:,} ({level['errors']:,}), {level['clusters']:,}"
    for name, found in level["detectors"].items():
        if "value" in found.get("auc", {}):
            yield f"| {first} | `{name}`{scored_of(found, level)} | {figures(found)} |"
            first = " | "
    for name in floors_shown(level["floors"]):
        found = level["floors"][name]
        yield f"| {first} | *{floor_name(name, found)}* | {figures(found)} |"


def scored_of(found: Json, level: Json) -> str:
    """How many were scored where that is not all of them, and that few are a sample."""
    if found["scored"] == level["n"]:
        return ""
    few = found["scored"] < 0.9 * level["n"]
    return f" ({'a sample: ' if few else ''}{found['scored']:,} scored)"


def floors_shown(floors: Json) -> list[str]:
    """Everything, the length, and the best of the other counts."""
    length = "words" if "words" in floors else "characters"
    others = [name for name in floors if name not in ("all", length) and "value" in floors[name]["auc"]]
    best = max(others, key=lambda name: floors[name]["auc"]["value"], default=None)
    return ["all", length, *([best] if best else [])]


def figures(found: Json) -> str:
    """The three figures of a line."""
    return " | ".join(figure(found[key]) if "value" in found[key] else "-" for key in ("auc", "ap", "f1"))


def pairs_part(summaries: Iterable[Json]) -> str:
    """Every two detectors on every set and level that both score."""
    lines = [
        "## Differences",
        "Intervals by paired bootstrap over clusters.",
        "| | | difference of AUC |\n" + "| --- " * 3 + "|",
    ]
    rows = []
    for summary in summaries:
        for level in summary["levels"]:
            for pair in level["pairs"]:
                if "unscored" not in pair:
                    name = f"{summary['title']}: {level_title(level).lower()}"
                    shown = figure(pair["difference"], signed=True)
                    rows.append(f"| {name} | `{pair['a']}` minus `{pair['b']}` | {shown} |")
    return "\n\n".join(lines) + "\n" + "\n".join(rows)


def unscored_part(summaries: Iterable[Json]) -> str:
    """What has no score: the detector, the reason, the sets with the number of their answers."""
    found: dict[tuple[str, str], list[str]] = {}
    for summary in summaries:
        for level in summary["levels"]:
            if level["level"] == "answer":
                for name, entry in level["detectors"].items():
                    for why, count in entry["unscored"].items():
                        place = f"{summary['title']}, {level['error']} ({count:,} of {level['n']:,})"
                        found.setdefault((name, why), []).append(place)
    rows = [f"- `{name}`: {why.replace('|', '/')}. {'; '.join(places)}." for (name, why), places in found.items()]
    return "\n".join(["## Unscored\n\nAnswers with a label that a detector gives no score.\n", *rows])


def cost_part(summaries: Iterable[Json]) -> str:
    """The milliseconds of an answer, by set."""
    lines = [
        "## Latency",
        "Milliseconds an answer on two cores shared with much other work, so upper bounds; one thread for the encoder: "
        "median (95th percentile). What is given again is known, and costs nothing.",
        "| | answers | detector | ms |\n| --- | --- | --- | --- |",
    ]
    rows = []
    for summary in summaries:
        for name, cost in summary["costs"].items():
            levels = [level["detectors"][name] for level in summary["levels"] if name in level["detectors"]]
            if any(found["scored"] for found in levels):
                ms = f"{1000 * cost['seconds']['median']:.1f} ({1000 * cost['seconds']['p95']:.1f})"
                rows.append(f"| {summary['title']} | {cost['answers']:,} | `{name}` | {ms} |")
    return "\n\n".join(lines) + "\n" + "\n".join(rows)
