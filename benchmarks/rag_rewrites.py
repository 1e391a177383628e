"""Answers with passages through `--critic hallucination`: every rewrite by its sentences, for a person to read.

    python benchmarks/rag_rewrites.py DATA_DIR [--rows 40] [--verifier FOLDER] [--all]

DATA_DIR holds RAGTruth's `sources.jsonl` and `responses.jsonl`. The first so many responses to questions, as they are
in the file, each with its passages. With `--all` rejected rewrites and findings without an edit are shown too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path

from verifier_mends import parts_with

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.core.records import Item, Record
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import load_verifier
from eirene.text.sentences import split_sentences


def items(folder: Path, n: int) -> list[Item]:
    sources = {r["source_id"]: r for r in map(json.loads, (folder / "sources.jsonl").read_text("utf-8").splitlines())}
    rows = [
        r for r in map(json.loads, (folder / "responses.jsonl").read_text("utf-8").splitlines()) if r["task"] == "qa"
    ]
    found = []
    for k, row in enumerate(rows[:n]):
        source = sources[row["source_id"]]["source"]
        passages = [re.sub(r"^passage \d+:", "", p).strip() for p in source["passages"].split("\n\n")]
        found.append(
            Item(id=str(k), question=source["question"], answer=row["response"], context=[p for p in passages if p])
        )
    return found


def show(item: Item, record: Record, *, everything: bool) -> None:
    if record.answer == item.answer and not everything:
        return
    print(f"\n=== {item.id} {record.status}: {item.question}")
    before = [s.text for s in split_sentences(item.answer)]
    after = [s.text for s in split_sentences(record.answer)]
    for text in before:
        print(("  - " if text not in after else "    ") + text)
    for text in after:
        if text not in before:
            print("  + " + text)
    for turn in record.rounds:
        for sentence in turn.critique.sentences if turn.critique else ():
            for f in sentence.findings:
                if f.edit is not None or everything:
                    print(f"  [{f.kind}] {item.answer[f.start : f.end]!r} -> {f.edit!r}: {f.reason}")


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--verifier", type=Path)
    parser.add_argument("--now", action="store_true", help="the backend as it ships")
    parser.add_argument("--mode", default="fine-grained")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    parts = resolve_backend("embedded")
    if not args.now:
        parts = parts_with(load_verifier(load_encoder(), args.verifier))
    counts: dict[str, int] = {}
    for item in items(args.data, args.rows):
        record = await arefine(item, backend=parts, critic="hallucination", mode=args.mode)
        how = record.status if record.answer == item.answer else f"{record.status}, rewritten"
        counts[how] = counts.get(how, 0) + 1
        show(item, record, everything=args.all)
    print(counts)


if __name__ == "__main__":
    asyncio.run(main())
