"""The NPOV paper's salience (section 3.2, appendix C) with a real small model that was tuned on nothing of it.

    python benchmarks/smollm2/salience.py --data DATA/npov_perspectrum/mixed_dev.jsonl --model DIR --out OUT

ROC AUC of answers, arguments, sentences and words with 95 % intervals by topic, beside `rouge` and what counting gives:
gradient times input (or `--measure l2`, its norm), with maximum, sum and entropy, under geometric and arithmetic means.
The gradients of an answer take a core about a minute. Answers are drawn by the seed (or, with `--order shortest`, the
shortest come first, which more often lack something) until `--most` are scored or `--minutes` are over. The same
command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path

import numpy as np
from model import make_folder

from eirene.agent.experiments.detectors import aevaluate_detectors, summarise
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets import read_labelled
from eirene.eval.detectors.rouge import RougeDetector
from eirene.eval.detectors.salience import SalienceDetector, WordMaps
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.models.local.model import load_local
from eirene.views.detectors import evaluation_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--measure", choices=("dot", "l2"), default="dot")
    parser.add_argument("--order", choices=("drawn", "shortest"), default="drawn")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args()
    maps = WordMaps(load_local(make_folder(options.model)), measure=options.measure)
    detectors: list[Detector] = [RougeDetector()]
    for mean in ("geometric", "arithmetic"):
        for aggregate in ("max", "sum", "entropy"):
            name = f"salience-{aggregate}" + ("" if mean == "geometric" else "-arithmetic")
            detectors.append(SalienceDetector(maps, aggregate=aggregate, mean=mean, name=name))
    read = read_labelled(str(options.data))
    every = [read.cases[i] for i in np.random.default_rng(options.seed).permutation(len(read.cases))]
    if options.order == "shortest":
        every.sort(key=lambda c: len(case_of(c.item).answer) + sum(map(len, case_of(c.item).given.arguments)))
    cases = every[: options.most]
    options.out.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * options.minutes
    for n in range(1, len(cases) + 1):
        found = asyncio.run(aevaluate_detectors(cases[:n], detectors, out=options.out))
        print(f"{n} of {len(every)} answers", flush=True)
        if time.monotonic() > end:
            break
    data = {
        "name": options.data.name, "form": read.form, "drawn": n, "of": len(every), "left_out": dict(read.left_out),
    }  # fmt: skip
    summary = {"data": data, "dev": None, **summarise(found, EvaluationPlan())}
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    print(evaluation_table(summary))


if __name__ == "__main__":
    main()
