"""How often a query finds its topic, and how often one that has none is told so.

    python benchmarks/npov_retrieval.py DATA_DIR [--json OUT]

DATA_DIR holds `npov_perspectrum/topics_{train,dev}.jsonl` (592 topics, the knowledge base) and
`debate_queries/queries.jsonl` (machine-written questions). 180 of the questions were drawn and labelled by hand, by one
person who saw for each the nearest topics by meaning and by words: which topics ask the same, whichever way round, or
that none does; 32 were left out as a matter of taste ("invest in renewable energy" and "rather than nuclear power").
The labels name a question by the first 8 hex digits of its SHA-256. The threshold is chosen on the questions whose
digits are even, and the figures beside it are of the odd ones. Intervals: 95 %, Wilson's.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eirene.data.topics import read_topics
from eirene.models.encoder.runtime import shipped_encoder
from eirene.npov import KnowledgeBase
from eirene.npov.knowledge import THRESHOLD

FITTING = {
    "71e03772": "684 574 462", "80fe6100": "998 24", "992f9e77": "634 344 652 293", "3af3213a": "596",
    "750964dd": "576 554", "698803ac": "684 574 462", "4e5e2d6f": "589", "d4a66f25": "576 554",
    "3a9e193e": "684 574 462", "cdca166a": "542 830", "5fcea5df": "628 46 523", "dee45cc3": "634 344 652",
    "e1259280": "609", "602aae3f": "115 536", "01af7872": "196 624", "0c7cc131": "589", "198b40a9": "565",
    "3bfa2043": "664", "4557a071": "623", "f4506102": "46 628 523", "fe0869e1": "589 370", "ecfa984b": "589",
    "18101071": "985", "5aa95f62": "596", "db0b7046": "684 574 462", "d0770363": "684 574 462",
    "9f782bc7": "565 109", "ce2c9128": "35 587", "d98331e4": "998 24", "9b3317c4": "647",
    "e342ebc2": "684 574 462", "3455b66c": "459", "f598e9e3": "300 366 674", "1ebfe57a": "802 200",
    "671ae712": "992", "8c8fc212": "596", "68fa73f5": "960", "6a084149": "604", "7724f178": "774",
    "b3e14dc3": "511", "fa3a9607": "684 574 462", "5d4dcd6e": "684 574 462",
}  # fmt: skip
"""Questions that a topic asks as well, with the ids of all topics that do."""
WITHOUT = """
    b81c4f85 e5bf2abb 505eb6c9 f076d59c 07fca010 92521f9d daa4cae1 539d7560 afadfa2c baf9478f d65be3c9 6a2bb64b
    b4a4b19f 1d9823d5 17a07c82 cec6181d 4e70e99c 5589bd1b 8477d9df b1ce0989 b966c1d2 ed4e6a64 0ec30d3c 4c86c19f
    86f37d1f 52df56c5 848742f1 72bcd537 64435c4e d577ff66 c14edb36 129890d4 ce626f6c db93c98f 3c491415 34e21109
    028fea5b 9d02637c 4f1df1d0 46fa26d3 b18cc2cd 73fc02c3 265c3208 2cb0bcc7 ef35a47d 31a40924 0fe50702 6eff9cef
    c43b9ed2 7d1a494b 81bbeac3 23188f71 378cb9a5 23f38dfd 8bc6e48d 627c9420 7acbf863 e4e19657 e4d6b0c0 2d92d052
    8be1a652 c7d1b240 44fa12a0 7485bb9f 2e06cba3 b7e46da3 70776bed caed61f6 cd83b598 8c1a4173 410b751d bb6870b0
    b76da822 2caaeab0 148eec7d 9a7d3071 7aa962c8 c704fcce 4555b466 d9ec1895 a0b3b66c 2a9d6abe c81a3e70 9e2a9822
    1ac6d1f5 f313146a fc4d04d4 9b327b26 2cdb8b3f 6b863708 9725a812 26408753 45f42968 a8c24bd1 98536d5f e3315143
    9bb86660 0c3daa1c b1a545f7 162241fc c0d608c0 cbfcb9d6 a4e9b4fe f92c3b2c bf39ca63 51fd96ce
"""
"""Questions that no topic asks."""


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    folder = options.data / "npov_perspectrum"
    topics = [t for split in ("train", "dev") for t in read_topics(str(folder / f"topics_{split}.jsonl"))]
    base = KnowledgeBase(topics, shipped_encoder())
    lines = (options.data / "debate_queries" / "queries.jsonl").read_text("utf-8").splitlines()
    queries = {digits(query): query for query in (json.loads(line)["query"] for line in lines)}
    labels = {**{k: set(v.split()) for k, v in FITTING.items()}, **{k: set() for k in WITHOUT.split()}}
    rows = [row(base, queries[key], fitting, key) for key, fitting in labels.items()]
    figures = {"topics": len(base), "threshold": THRESHOLD, "chosen on the even": chosen([r for r in rows if r[3]])}
    for name, some in (("all", rows), ("odd", [r for r in rows if not r[3]])):
        figures[name] = measured(some)
    print(json.dumps(figures, indent=1))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


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
        "nearest topic is right": share(right[known]),
        "answered with the right topic": share((fits & right)[known]),
        "answered with a wrong topic": share((fits & ~right)[known]),
        "without a topic, and told so": share(~fits[~known]),
    }


def share(flags: NDArray[np.bool_]) -> str:
    """A share in percent with its interval (Wilson) and n."""
    n, p, z = len(flags), float(flags.mean()), 1.96
    centre, spread = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = ((centre + sign * spread) / (1 + z * z / n) for sign in (-1, 1))
    return f"{p:.1%} [{max(0.0, low):.1%}, {min(1.0, high):.1%}] of {n}"


if __name__ == "__main__":
    main()
