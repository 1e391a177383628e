"""How often a query finds its topic, and how often one that has none is told so.

    python benchmarks/npov_retrieval.py DATA_DIR [--json OUT]

DATA_DIR holds `npov_perspectrum/topics_{train,dev}.jsonl` (592 topics, the knowledge base) and
`debate_queries/queries.jsonl` (machine-written questions). 180 of the questions were drawn and labelled by hand, by one
person who saw for each the nearest topics by meaning and by words: which topics ask the same, whichever way round, or
that none does; 32 were left out as a matter of taste ("invest in renewable energy" and "rather than nuclear power").
The labels (`npov_labels.jsonl`) name a question by the first 8 hex digits of
its SHA-256, with the ids of all topics that ask the same. The threshold is chosen on the questions whose
digits are even, and the figures beside it are of the odd ones. Intervals: 95 %, Wilson's.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import arguments, read_rows, share, write_json

from eirene.models.encoder.runtime import shipped_encoder
from eirene.npov import KnowledgeBase
from eirene.npov.knowledge import THRESHOLD
from recipes.topics import read_claims


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = arguments(__doc__)
    options = parser.parse_args()
    folder = options.data / "npov_perspectrum"
    topics = [t for split in ("train", "dev") for t in read_claims(str(folder / f"topics_{split}.jsonl"))]
    base = KnowledgeBase(topics, shipped_encoder())
    queries = {digits(r["query"]): r["query"] for r in read_rows(options.data / "debate_queries/queries.jsonl")}
    labels = read_rows(Path(__file__).with_name("npov_labels.jsonl"))
    rows = [row(base, queries[r["question"]], set(r["topics"]), r["question"]) for r in labels]
    figures = {"topics": len(base), "threshold": THRESHOLD, "chosen on the even": chosen([r for r in rows if r[3]])}
    for name, some in (("all", rows), ("odd", [r for r in rows if not r[3]])):
        figures[name] = measured(some)
    print(json.dumps(figures, indent=1))
    write_json(options.json, figures)


def digits(query: str) -> str:
    """What the labels call a question."""
    return hashlib.sha256(query.encode("utf-8")).hexdigest()[:8]


def row(base: KnowledgeBase, query: str, fitting: set[str], key: str) -> tuple[float, bool, bool, bool]:
    """Similarity of the nearest topic; whether it is a right one; whether there is a right one; whether even."""
    nearest = base.find(query, k=1).nearest[0]
    return nearest.similarity, nearest.topic.id in fitting, bool(fitting), int(key, 16) % 2 == 0


def chosen(rows: Sequence[tuple[float, bool, bool, bool]]) -> float:
    """The threshold, in steps of 0.01, at which most questions are dealt with rightly; the middle one of several."""
    steps = [n / 100 for n in range(40, 91)]
    right = [sum(ok if s >= t else not known for s, ok, known, _ in rows) for t in steps]
    best = [t for t, n in zip(steps, right, strict=True) if n == max(right)]
    return best[len(best) // 2]


def measured(rows: Sequence[tuple[float, bool, bool, bool]]) -> dict[str, object]:
    """Shares with intervals: of the questions that have a topic, and of those that have none."""
    similarity = np.array([r[0] for r in rows])
    right, known = np.array([r[1] for r in rows]), np.array([r[2] for r in rows])
    fits = similarity >= THRESHOLD
    return {
        "nearest topic is right": share(int((right[known]).sum()), len(right[known])),
        "answered with the right topic": share(int(((fits & right)[known]).sum()), len((fits & right)[known])),
        "answered with a wrong topic": share(int(((fits & ~right)[known]).sum()), len((fits & ~right)[known])),
        "without a topic, and told so": share(int((~fits[~known]).sum()), len(~fits[~known])),
    }


if __name__ == "__main__":
    main()
