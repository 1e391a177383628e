"""The loop on arguments that stand on the wrong side or are made twice: what it puts right, and what it misplaces.

    python benchmarks/loop_sides.py DATA_DIR [--split dev] [--without-arrangement] [--json OUT]

DATA_DIR holds `cases_*.jsonl`, of which the loop takes the answers with one argument on the wrong side, and
`mixed_*.jsonl`, in which every argument stands on its own side and some are made twice. On which side a part stands is
read off the final text: the last opening before it that names a side ("Opponents argue that", "A further objection is
that"). A side that no opening names is unknown and counts for nothing. Before that, the detector `arrangement` itself:
how well it ranks sentences and answers with an argument on the wrong side above all others of `cases_*` (ROC AUC), with
the number of sentences as a control. Intervals are 95 % bootstrap intervals over claims.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from loop_parts import item_of, read_rows
from loop_truth import Row, arguments_of, parts_of, words
from rich.console import Console
from rich.table import Table

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.alignment.comparison import cue_of
from eirene.core.grounding import grounding_for
from eirene.core.scores import number
from eirene.eval.base import case_of
from eirene.eval.detectors.alignment import score_arrangement
from eirene.eval.metrics.bootstrap import Estimate, Resamples, clusters_of, paired_differences
from eirene.eval.metrics.ranking import ranked
from eirene.models.encoder import load_encoder
from eirene.text.clauses import opening_length
from eirene.text.sentences import split_sentences

SIDES = ("pro", "con")
MEASURES = {
    "righted": "arguments on the wrong side that stand on their own in the end",
    "misled": "arguments on their own side that stand on the wrong one in the end",
    "resolved": "arguments made twice that are made once in the end",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev", choices=["dev", "train"])
    parser.add_argument("--without-arrangement", action="store_true", help="as if no detector looked at places")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    parts = resolve_backend("embedded")
    if args.without_arrangement:
        parts = replace(parts, detectors=[d for d in parts.detectors if d.name != "arrangement"])
    told = read_rows(args.data / f"cases_{args.split}.jsonl")
    detection = {} if args.without_arrangement else detected(told)
    cases = [row for row in told if row["has_stance_error"]]
    mixed = read_rows(args.data / f"mixed_{args.split}.jsonl")
    finals = asyncio.run(run_loop([*cases, *mixed], parts))
    found: dict[str, list[tuple[int, bool]]] = {name: [] for name in MEASURES}
    for row, final in zip(cases, finals, strict=False):
        found["righted"] += righted(row, final)
    for row, final in zip(mixed, finals[len(cases) :], strict=True):
        found["misled"] += misled(row, final)
        found["resolved"] += resolved(row, final)
    report = detection | {name: rate(pairs).to_json() for name, pairs in found.items()}
    show(report, f"{args.split}{', without arrangement' if args.without_arrangement else ''}")
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def detected(rows: Sequence[Row]) -> dict[str, Any]:
    """ROC AUC of the detector's scores, and of a control, against the sentences and answers with a wrong side."""
    encoder, resamples = load_encoder(), Resamples()
    sentences: list[tuple[bool, float, int]] = []
    answers: list[tuple[bool, float, int]] = []
    control: list[tuple[bool, float, int]] = []
    for row in rows:
        item, claim, wrong = item_of(row), row["claim_id"], bool(row["has_stance_error"])
        scores = score_arrangement(case_of(item, given=grounding_for(item)), encoder)
        answers.append((wrong, number(scores.hallucination) or 0.0, claim))
        control.append((wrong, float(len(row["sentences"])), claim))
        for sentence, score in zip(row["sentences"], scores.sentences, strict=False):
            if len(scores.sentences) == len(row["sentences"]) and sentence["argument_id"] is not None:
                hit = sentence["kind"] == "wrong_side"
                sentences.append((hit, number(score.hallucination) or 0.0, claim))
    tables = {"per sentence": sentences, "per answer": answers, "sentences in an answer (control)": control}
    return {f"AUC {name}": auc(table, resamples) for name, table in tables.items()}


def auc(table: Sequence[tuple[bool, float, int]], resamples: Resamples) -> dict[str, Any]:
    labels, scores, claims = zip(*table, strict=True)
    return ranked(labels, scores, clusters_of(claims), resamples).auc.to_json()


async def run_loop(rows: Sequence[Row], parts: Parts) -> list[str]:
    return [(await arefine(item_of(row), backend=parts, settings=Settings.of())).answer for row in rows]


def righted(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    """The misplaced argument, in the answer's words or in those of the given list: on its own side, and there alone."""
    own = sides_of(row)
    for sentence in row["sentences"]:
        if sentence["kind"] == "wrong_side":
            texts = (core(sentence["text"]), arguments_of(row)[sentence["argument_id"]])
            where = {side for text in texts if (side := side_of(text, final)) is not None}
            yield row["claim_id"], where == {own[sentence["argument_id"]]}


def misled(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    own = sides_of(row)
    for part in parts_of(row):
        if part["kind"] == "supported" and side_of(part["text"], row["response"]) == own[part["argument_id"]]:
            side = side_of(part["text"], final)
            yield row["claim_id"], side is not None and side != own[part["argument_id"]]


def resolved(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    for part in parts_of(row):
        if part["kind"] == "repeated":
            twins = [p["text"] for p in parts_of(row) if p["argument_id"] == part["argument_id"]]
            yield row["claim_id"], sum(words(text) in words(final) for text in twins) == 1


def sides_of(row: Row) -> dict[str, str]:
    """The side of each given argument."""
    return {a["id"]: side for side in SIDES for a in row[f"{side}_arguments"]}


def core(sentence: str) -> str:
    """What a sentence says, without "Opponents argue that"."""
    return sentence[opening_length(sentence) :]


def side_of(text: str, answer: str) -> str | None:
    """The side under which a text stands in an answer; None where it does not stand there or no side is named."""
    sentences = split_sentences(answer)
    at = next((i for i, s in enumerate(sentences) if words(text) in words(s.text)), None)
    for i in range(at, -1, -1) if at is not None else ():
        cue = cue_of(sentences[i].text[: opening_length(sentences[i].text)], SIDES)
        if cue is not None:
            return SIDES[cue]
    return None


def rate(pairs: Sequence[tuple[int, bool]]) -> Estimate:
    values = 100.0 * np.array([hit for _, hit in pairs], dtype=np.float64)
    return paired_differences(values, np.zeros_like(values), [claim for claim, _ in pairs], Resamples())[0]


def show(report: dict[str, Any], title: str) -> None:
    table = Table("measure", "% or AUC", "95 % interval", "of", title=title)
    for name, found in report.items():
        said = MEASURES.get(name, name)
        digits = 3 if name.startswith("AUC") else 1
        value, low, high = (f"{found[key]:.{digits}f}" for key in ("value", "low", "high"))
        table.add_row(said, value, f"{low} to {high}", str(found["n"]))
    Console(width=118).print(table)


if __name__ == "__main__":
    main()
