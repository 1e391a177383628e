"""The default on real answers with passages (QA-Feedback): what it finds, restores and drops, beside floors. No target.

    python benchmarks/loop_qa_feedback.py DATA_DIR [--limit N] [--json OUT]

DATA_DIR holds `feedback.jsonl`. One half of the questions helped to fit a constant (`bearing`); only the other is used.
Intervals: 95 %, by drawing questions.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from roc import interval, plain_auc, rows_of

import eirene
from eirene.agent.backends import resolve_backend
from eirene.eval.base import Case
from eirene.given import given_for
from eirene.scores import number
from eirene.sentences import split_sentences
from eirene.words import content_words

Row = dict[str, Any]
Values = dict[tuple[str, str], list[tuple[float, bool, int]]]
UNSUPPORTED = {"Wrong-Grounding", "Unverifiable"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    lines = (args.data / "feedback.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if not fitted_on(row)][: args.limit]
    found = asyncio.run(measure(rows))
    show(found)
    if args.json:
        args.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def fitted_on(row: Row) -> bool:
    """Whether `fit_alignment.py` read this question."""
    return not hashlib.sha256(f"bearing:{row['id']}".encode()).digest()[0] & 1


def item_of(row: Row) -> eirene.Item:
    passages = [" ".join(passage[1:]) for passage in row["passages"] if len(passage) > 1]
    return eirene.Item(
        id=f"qa-{row['id']}", question=row["question"], answer=row["prediction 1"], context=passages or None
    )


async def measure(rows: list[Row]) -> dict[str, Any]:
    values: Values = {}
    changes = {"recovered": (0, 0), "wrongly_added": (0, 0), "unsupported_dropped": (0, 0), "others_dropped": (0, 0)}
    statuses: dict[str, int] = {}
    rng = np.random.default_rng(0)
    for number_, row in enumerate(rows):
        item = item_of(row)
        await score_answer(row, item, number_, values, rng)
        record = await eirene.arefine(item)
        statuses[record.status] = statuses.get(record.status, 0) + 1
        for name, (hits, of) in outcome(row, record.answer).items():
            changes[name] = (changes[name][0] + hits, changes[name][1] + of)
    figures = {
        f"{what} / {by}": {"auc": plain_auc(rows_of(v)), "interval": interval(rows_of(v)), "n": len(v)}
        for (what, by), v in values.items()
    }
    return {"questions": len(rows), "auc": figures, "changes": changes, "statuses": statuses}


async def score_answer(row: Row, item: eirene.Item, group: int, values: Values, rng: np.random.Generator) -> None:
    """Adds each detector's scores, and those of two floors: length (short answers lack more) and chance."""
    lacks = bool(row["feedback"]["missing-info"])
    sentences = split_sentences(item.answer)
    wrong = [unsupported(row, s.text_start, s.text_end) for s in sentences]

    def add(what: str, by: str, score: float | None, error: bool) -> None:
        if score is not None:
            values.setdefault((what, by), []).append((score, error, group))

    for detector in resolve_backend("embedded").detectors:
        scores = await detector.score(Case(item.question, item.answer, given_for(item)), meter=eirene.Meter())
        add("missing information, per answer", detector.name, number(scores.coverage), lacks)
        for s in scores.sentences:
            add("unsupported, per sentence", detector.name, number(s.hallucination), wrong[s.n - 1])
    add("missing information, per answer", "shortness", -float(len(content_words(item.answer))), lacks)
    add("missing information, per answer", "chance", float(rng.random()), lacks)
    for s, error in zip(sentences, wrong, strict=True):
        add("unsupported, per sentence", "length", float(len(content_words(s.text))), error)
        add("unsupported, per sentence", "chance", float(rng.random()), error)


def unsupported(row: Row, start: int, end: int) -> bool:
    errors = [e for e in row["feedback"]["errors"] if e["error type"] in UNSUPPORTED]
    return any(e["start"] < end and start < e["end"] for e in errors)


def outcome(row: Row, final: str) -> dict[str, tuple[int, int]]:
    """What stands in the final answer and did not before, and the reverse; told from the texts alone."""
    before, after = plain(row["prediction 1"]), plain(final)
    # Passages count from 1; sentences too, since a passage's first entry is its title.
    lacking = row["feedback"]["missing-info"]
    missing = {plain(row["passages"][m["passage_id"] - 1][s]) for m in lacking for s in m["sentence_id"]}
    offered = {plain(s) for passage in row["passages"] for s in passage[1:]} | missing
    added = {s for s in offered if s and s in after and s not in before}
    parts = [(plain(s.text), unsupported(row, s.text_start, s.text_end)) for s in split_sentences(row["prediction 1"])]
    return {
        "recovered": (len(added & missing), len(missing)),
        "wrongly_added": (len(added - missing), len(added)),
        "unsupported_dropped": (sum(w and t not in after for t, w in parts), sum(w for _, w in parts)),
        "others_dropped": (sum(not w and t not in after for t, w in parts), sum(not w for _, w in parts)),
    }


def plain(text: str) -> str:
    """Words alone, lower-cased: case and punctuation change at joints."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def show(found: dict[str, Any]) -> None:
    console = Console()
    table = Table(title=f"QA-Feedback, {found['questions']} questions: ROC AUC")
    for column in ("what / by", "AUC", "95 % interval", "n"):
        table.add_column(column)
    for name, f in found["auc"].items():
        table.add_row(name, f"{f['auc']:.3f}", f"{f['interval'][0]:.3f} to {f['interval'][1]:.3f}", str(f["n"]))
    console.print(table)
    for name, (hits, of) in found["changes"].items():
        console.print(f"{name}: {hits} of {of}")
    console.print(found["statuses"])


if __name__ == "__main__":
    main()
