"""How long one answer takes to be scored by `alignment`: about 100 words against six arguments, one thread, no cache.

    python benchmarks/alignment_speed.py [--runs 200] [--encoder FOLDER] [--json OUT]

Every run has texts of its own (a number in every sentence), so that the encoder's cache cannot help; what depends on
the encoder alone is computed once, before.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.eval.base import Case
from eirene.eval.detectors.alignment import score_alignment
from eirene.models.encoder import load_encoder

QUESTION = "Should the city of {n} close its centre to private cars?"
PRO = (
    "Without cars the air in district {n} becomes cleaner.",
    "Streets of zone {n} that hold no traffic are safer for children on their way to school.",
    "Squares freed of {n} parked cars can be used by everyone.",
)
CON = (
    "Shops in quarter {n} lose customers who come by car.",
    "People who can hardly walk {n} metres depend on their cars.",
    "The traffic only moves to the {n} streets around the centre.",
)
ANSWER = (
    "The plan for {n} cities has been discussed for many years. Supporters argue that pollution in the {n} "
    "districts falls as soon as cars stay away, and that pupils reach their {n} schools without being hurt. They "
    "also point out that room which {n} parked vehicles take today would be free for markets and playgrounds. On "
    "the other hand, owners of {n} shops fear that fewer people will buy from them; they add that {n} deliveries "
    "would become dearer. Another objection is that residents with {n} ailments cannot do without a car. Critics "
    "finally expect that drivers will use the {n} roads nearby instead, where noise grows."
)


def main() -> None:
    """Reads the arguments, times, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started = time.perf_counter()
    encoder = load_encoder(options.encoder, threads=1)
    loading = time.perf_counter() - started
    score_alignment(_case(0), encoder)
    times = []
    for n in range(1, options.runs + 1):
        case = _case(n)
        started = time.perf_counter()
        score_alignment(case, encoder)
        times.append((time.perf_counter() - started) * 1000)
    figures = {
        "words": len(_case(1).answer.split()),
        "arguments": len(PRO) + len(CON),
        "runs": options.runs,
        "load_ms": round(loading * 1000),
        "median_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.quantile(times, 0.95)), 1),
    }
    print(json.dumps(figures))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def _case(n: int) -> Case:
    pro, con = (tuple(text.format(n=n) for text in side) for side in (PRO, CON))
    return Case(
        QUESTION.format(n=n),
        ANSWER.format(n=n),
        Grounding("perspectives", (ArgumentGroup("pro", pro), ArgumentGroup("con", con))),
    )


if __name__ == "__main__":
    main()
