"""Does a tuned critic tell answers that lack information from those that do not? QA-Feedback's marks of whole answers.

    python benchmarks/smollm2/lacking.py --data DATA/qa_feedback/feedback.jsonl --critic DIR --out OUT

DIR is what `feedback.py` trained, or an untuned model. Each sentence has the probability of the tag Incomplete, as
there: one pass an answer. An answer's score is their mean, or the highest. The critic was tuned on questions and
answers alone; with `--shown passages` it is shown the passages as well, as `eirene evaluate feedback` shows them.

ROC AUC for "people marked information of the passages that the answer should have given", with 95 % intervals by
question, beside what counting gives, in directions fixed beforehand, and the paired difference from the best count.
`--most` answers are drawn by the seed. Chances are kept in OUT, from where the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from feedback import chances
from journal import Journal

from eirene.data import opened
from eirene.eval.datasets.base import FeedbackCase, read_feedback_cases
from eirene.eval.metrics.bootstrap import Resamples, clusters_of
from eirene.eval.metrics.ranking import ranked
from eirene.feedback_model.base import FeedbackRequest
from eirene.models.local.model import load_local
from eirene.models.local.spec import PROMPT_FILE

COUNTS: Mapping[str, Callable[[FeedbackCase], float]] = {
    "fewer sentences": lambda case: -len(case.sentences),
    "fewer words": lambda case: -len(case.item.answer.split()),
    "more words given": lambda case: sum(len(text.split()) for text in case.item.context or ()),
}


def request_of(case: FeedbackCase, shown: str) -> FeedbackRequest:
    """What the critic is asked about an answer."""
    item = case.item if shown == "passages" else case.item.model_copy(update={"context": None})
    return FeedbackRequest(item, item.answer, case.sentences, seed=0)


def figures(cases: list[FeedbackCase], chance: list[list[float]]) -> dict[str, Any]:
    """The areas of both scores and of the counts, and how far the scores are from the best count."""
    resamples, labels = Resamples(draws=2000), [case.lacks for case in cases]
    clusters = clusters_of([case.item.question for case in cases])
    scores = {"mean": [fmean(own) for own in chance], "highest": [max(own) for own in chance]}
    scores |= {name: [float(count(case)) for case in cases] for name, count in COUNTS.items()}
    found = {name: ranked(labels, values, clusters, resamples) for name, values in scores.items()}
    best = max(COUNTS, key=lambda name: found[name].auc.value or 0.0)
    less = {}
    for name in ("mean", "highest"):
        drawn = found[name].auc_draws - found[best].auc_draws
        low, high = np.nanquantile(drawn, [0.025, 0.975])
        value = (found[name].auc.value or 0.0) - (found[best].auc.value or 0.0)
        less[name] = {"value": value, "low": float(low), "high": float(high)}
    return {
        "answers": len(cases), "questions": clusters[0], "lacking": sum(labels),
        "auc": {name: one.auc.to_json() for name, one in found.items()}, "best count": best, "less best count": less,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--critic", type=Path, required=True, help="the folder of an adapter or a model")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--shown", choices=("answer", "passages"), default="answer")
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    cases = read_feedback_cases(opened(str(options.data)))
    drawn = np.random.default_rng(options.seed).permutation(len(cases))[: options.most]
    cases = [cases[i] for i in drawn if cases[i].sentences]
    tuned = (options.critic / PROMPT_FILE).exists()
    model = load_local(f"hf:{options.critic}" + ("" if tuned else "?layout=instruct"))
    journal = Journal(options.out / f"chances_{options.shown}.jsonl")
    began = time.monotonic()
    for n, case in enumerate(cases, start=1):
        if case.item.id not in journal.rows:
            journal.add(case.item.id, chances=chances(model, request_of(case, options.shown)))
            if n % 20 == 0:
                print(f"{n} of {len(cases)}, {time.monotonic() - began:.0f} s", flush=True)
    found = figures(cases, [journal.rows[case.item.id]["chances"] for case in cases])
    found |= {"critic": model.name, "shown": options.shown, "seconds": round(time.monotonic() - began)}
    (options.out / f"lacking_{options.shown}.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
