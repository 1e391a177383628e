"""The tables of benchmarks/results/detectors.md as text: a pure function of the summaries that `results.py` makes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eirene.eval.base import Need, unmet
from eirene.views.detectors import floor_name, level_title
from eirene.views.tables import figure

Json = Mapping[str, Any]


def page(
    summaries: Sequence[Json],
    *,
    published: Mapping[str, Mapping[str, float]],
    not_run: Mapping[str, list[Need]],
    models: str | None = None,
) -> str:
    """The whole page."""
    scored = [s for s in summaries if any(has_figures(level) for level in s["levels"])]
    parts = [
        preface(summaries, not_run, models),
        *(set_part(summary) for summary in scored),
        pairs_part(scored),
        unscored_part(summaries),
        cost_part(scored),
        papers_part({s["title"]: s for s in summaries}, published),
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


_ABOVE = re.compile(r"hf:/[^,]*/(?=[^/,]+/[^/,]+)")
"""The folders above a local model and its parent, which are this machine's."""


def preface(summaries: Sequence[Json], not_run: Mapping[str, list[Need]], models: str | None) -> str:
    """How the figures were made, and what was not run."""
    made = summaries[0]["signature"].split("|")
    settings = ", ".join(part.replace(":", " ") for part in made if part.split(":")[0] in ("draws", "seed", "v"))
    versions = {name: c["version"] for s in summaries for name, c in s["costs"].items() if c["version"]}
    lines = [
        "# Detectors on every labelled set",
        "    python benchmarks/results.py DATA",
        "Every detector that runs without a paid model. ROC AUC and average precision are of all answers; F1 is that "
        "of a threshold chosen on 30 % of the clusters (claims, questions, documents), measured on the others. "
        f"Intervals: 95 %, bootstrap over clusters. Settings: {settings}. "
        + " ".join(f"`{name}`: {_ABOVE.sub('hf:', version)}." for name, version in versions.items()),
        "Floors stand in italics: calling everything an error (for areas: a random order), the length, and of all "
        "other counts (sentences, clauses, things given, place) the best, each in the direction that is better where "
        "thresholds are chosen. Labels: [evaluating_detectors.md](../../docs/evaluation/detectors.md#labelled-sets).",
    ]
    if models:
        lines.append(
            f"Detectors on a local model: {models}. Answers that were not drawn for them have no score; of sets with "
            "long texts a quarter as many were drawn, among short ones."
        )
    if not_run:
        by_need: dict[str, list[str]] = {}
        for name, needs in not_run.items():
            by_need.setdefault(unmet(*needs), []).append(f"`{name}`")
        lines.append("Not run: " + "; ".join(f"{', '.join(found)} ({why})" for why, found in by_need.items()) + ".")
    lines.append(
        "Elsewhere: `verifier`, which was trained on parts of RAGTruth and QA-Feedback ([verifier.md](verifier.md)); "
        "what a real language model gives the detectors that need one ([smollm2](smollm2/README.md))."
    )
    return "\n\n".join(lines)


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
    """What has no score: the detectors, the reason, the sets with the number of their answers."""
    found: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
    for summary in summaries:
        for level in summary["levels"]:
            if level["level"] == "answer":
                for why, count, detectors in _reasons(level):
                    shown = "" if count == level["n"] else f" ({count:,} of {level['n']:,})"
                    place = f"{summary['title']}, {level['error']}{shown}"
                    found.setdefault((detectors, why), {})[place] = ""
    head = "## Unscored\n\nAnswers with a label that a detector gives no score; all of them where no number is named.\n"
    rows = [
        f"- {', '.join(f'`{name}`' for name in detectors)}: {why.replace('|', '/')}. {'; '.join(places)}."
        for (detectors, why), places in found.items()
    ]
    return "\n".join([head, *rows])


def _reasons(level: Json) -> Iterator[tuple[str, int, tuple[str, ...]]]:
    """Each reason with its count and the detectors that have it so often."""
    found: dict[tuple[str, int], list[str]] = {}
    for name, entry in level["detectors"].items():
        for why, count in entry["unscored"].items():
            found.setdefault((why, count), []).append(name)
    for (why, count), names in found.items():
        yield why, count, tuple(names)


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
            if any(
                found["scored"]
                for level in summary["levels"]
                for key, found in level["detectors"].items()
                if key == name
            ):
                ms = f"{1000 * cost['seconds']['median']:.1f} ({1000 * cost['seconds']['p95']:.1f})"
                rows.append(f"| {summary['title']} | {cost['answers']:,} | `{name}` | {ms} |")
    return "\n\n".join(lines) + "\n" + "\n".join(rows)


def papers_part(by_title: Mapping[str, Json], published: Mapping[str, Mapping[str, float]]) -> str:
    """The papers' tables beside ours, with what may be compared and what may not."""
    from results_papers import papers_tables

    return papers_tables(by_title, published)
