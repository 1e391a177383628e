"""What the detectors and the loop make of the embedded writer's responses, in which nothing is missing or made up.

    python benchmarks/npov_embedded.py TOPICS [--per-side 3] [--seeds 0,1,2] [--json OUT]

A sanity check of both sides: whatever is found is a false alarm, or a fault of the writer. Topics with one side, and
those that the writer refuses as not English, are left out and counted. Intervals: 95 %, bootstrap over topics.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import eirene
from eirene.core.errors import InputError
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.data.topics import read_topics
from eirene.eval.base import case_of
from eirene.eval.detectors.alignment import AlignmentDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.models.encoder.runtime import shipped_encoder
from eirene.npov import KnowledgeBase, respond


def main() -> None:
    """Reads the arguments, writes the responses, scores them, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics")
    parser.add_argument("--per-side", type=int)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    base = KnowledgeBase(read_topics(options.topics), shipped_encoder())
    left_out: Counter[str] = Counter()
    rows = []
    for n in range(len(base)):
        for seed in map(int, options.seeds.split(",")):
            try:
                response = respond(base[n].question, base, seed=seed, per_side=options.per_side)
            except InputError as error:
                left_out["one side" if "two sides" in str(error) else "not English"] += 1
                continue
            rows.append((n, *measured(response.item())))
    topics = [row[0] for row in rows]
    figures: dict[str, object] = {
        "responses": len(rows),
        "topics": len(set(topics)),
        "left out": dict(left_out),
        "arguments": sum(len(row[2]) for row in rows),
        "sentences": sum(len(row[3]) for row in rows),
        "loop": dict(Counter(row[4] for row in rows)),
        "arguments called missing (p >= 0.5)": share([row[2] for row in rows], topics),
        "sentences called unsupported (p >= 0.5)": share([row[3] for row in rows], topics),
        "loop: left as it is": share([[float(row[4] == "complete")] for row in rows], topics),
    }
    for at, name in enumerate(
        ("rouge hallucination", "rouge coverage", "alignment hallucination", "alignment coverage")
    ):
        figures[f"mean {name}"] = share([[row[1][at]] for row in rows], topics, threshold=None)
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def measured(item: eirene.Item) -> tuple[list[float], list[float], list[float], str]:
    """Scores of the answer, of each argument (coverage), of each sentence (hallucination); what the loop says."""
    case = case_of(item)
    rouge = asyncio.run(RougeDetector().score(case, meter=Meter()))
    found = asyncio.run(AlignmentDetector(shipped_encoder()).score(case, meter=Meter()))
    answer = [number(score) or 0.0 for s in (rouge, found) for score in (s.hallucination, s.coverage)]
    return (
        answer,
        [number(a.coverage) or 0.0 for a in found.arguments],
        [number(s.hallucination) or 0.0 for s in found.sentences],
        eirene.refine(item).status,
    )


def share(values: Sequence[Sequence[float]], topics: Sequence[int], *, threshold: float | None = 0.5) -> str:
    """The share of values from the threshold on, or their mean, with its interval by drawing topics."""
    sums: dict[int, list[float]] = {}
    for row, topic in zip(values, topics, strict=True):
        held = sums.setdefault(topic, [0.0, 0.0])
        held[0] += sum(row) if threshold is None else sum(v >= threshold for v in row)
        held[1] += len(row)
    table = np.array(list(sums.values()))
    drawn = table[np.random.default_rng(0).integers(0, len(table), size=(2000, len(table)))].sum(axis=1)
    low, high = np.quantile(drawn[:, 0] / drawn[:, 1], [0.025, 0.975])
    return f"{table[:, 0].sum() / table[:, 1].sum():.3f} [{low:.3f}, {high:.3f}] of {int(table[:, 1].sum()):,}"


if __name__ == "__main__":
    main()
