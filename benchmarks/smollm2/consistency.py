"""A tuned critic as the loop asks it: critiques held to the grammar of its lines, their vote, and both consistencies.

    python benchmarks/smollm2/consistency.py --data DATA/haluquestqa/completeness_train.jsonl --critic DIR --out OUT

DIR is what `feedback.py` trained; the answers are `--answers` of those that it held out, drawn by the seed. Of each,
`--samples` critiques are drawn. From the same draws:

- the share of critiques that can be read,
- the vote: exact, adjacent and different, F1 of its sentences, and ROC AUC of the share of samples that call a sentence
  incomplete, over all sentences and within answers, beside what needs no model,
- calibration: whether the selected critique is right more often where its tag consistency, or its reason consistency,
  is higher. Right: the first sentence that it calls incomplete is; or all its tags are. ROC AUC of the consistency for
  that, beside the number of sentences (shorter answers are easier), where five answers are right and five are not, and
  a table of thirds.

Intervals are 95 %, by bootstrap over questions (calibration) or answers. Critiques are kept in OUT, from where the same
command goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from critique_cache import CachedFeedback
from feedback import floors, show, split

from eirene.agent.backends import resolve_backend
from eirene.agent.experiments.critic import aevaluate_feedback
from eirene.data.haluquestqa import TaggedAnswer
from eirene.eval.datasets.base import case_of
from eirene.eval.detectors.judge import wilson
from eirene.eval.metrics.bootstrap import Resamples, clusters_of
from eirene.eval.metrics.feedback import MIN_CLASS, FeedbackRow, feedback_report, outcome, tag_accuracy
from eirene.eval.metrics.ranking import ranked
from eirene.models.local.model import load_local

DRAWS = 2000
PARTS = 3


def drawn_from(held: Sequence[TaggedAnswer], count: int, seed: int) -> list[TaggedAnswer]:
    """So many of the held-out answers, in the order in which they were drawn."""
    order = np.random.default_rng(seed).permutation(len(held))
    return [held[i] for i in order[:count]]


def calibration(rows: Sequence[FeedbackRow], questions: Sequence[str]) -> dict[str, Any]:
    """How well each consistency of the selected critique tells the right ones, beside the number of sentences."""
    resamples = Resamples(draws=DRAWS)
    voted = [(row, question) for row, question in zip(rows, questions, strict=True) if row.status == "scored"]
    with_reason = [(row, question) for row, question in voted if "Incomplete" in row.tags]
    found: dict[str, Any] = {}
    for name, here in (("tag", voted), ("reason", with_reason)):
        those = [row for row, _ in here]
        clusters = clusters_of([question for _, question in here])
        scores = [float(getattr(row, f"{name}_consistency")) for row in those]
        few = [-float(row.n_sentences) for row in those]
        rights = {
            "first sentence": [outcome(row.tags, row.gold or ()) == "exact" for row in those],
            "all tags": [row.tags == row.gold for row in those],
        }
        found[name] = {
            "n": len(those),
            "auc": {
                of: {"right": sum(right)}
                | {
                    by: ranked(right, values, clusters, resamples).auc.to_json()
                    for by, values in (("consistency", scores), ("fewer sentences", few))
                    if MIN_CLASS <= sum(right) <= len(right) - MIN_CLASS
                }
                for of, right in rights.items()
            },
            "thirds": thirds(those, scores, rights),
        }
    return found


def thirds(
    rows: Sequence[FeedbackRow], scores: Sequence[float], rights: dict[str, list[bool]]
) -> list[dict[str, float]]:
    """The answers by their consistency, lowest first; equal ones stay together, so that the parts differ in size."""
    values = np.array(scores)
    part = np.searchsorted(np.sort(values), values) * PARTS // max(len(values), 1)
    table = []
    for inside in (np.flatnonzero(part == p).tolist() for p in range(PARTS)):
        if inside:
            table.append({
                "n": len(inside), "lowest": float(values[inside].min()), "highest": float(values[inside].max()),
                "sentences": float(np.mean([rows[i].n_sentences for i in inside])),
                "tags_right": float(np.mean([tag_accuracy(rows[i]) for i in inside])),
                **{of: int(sum(right[i] for i in inside)) for of, right in rights.items()},
            })  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--critic", type=Path, required=True, help="the adapter's folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the questions, as in feedback.py")
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _, held = split(options.data, options.out, share=options.held_out, seed=options.seed)
    answers = drawn_from(held, options.answers, options.seed)
    critic = CachedFeedback(load_local(f"hf:{options.critic}"), options.out / "critiques.jsonl")
    parts = replace(resolve_backend("embedded"), backend=critic.name, feedback_model=critic)
    began = time.monotonic()
    made = asyncio.run(
        aevaluate_feedback(
            [case_of(answer) for answer in answers], parts, concurrency=1,
            settings={"samples": options.samples, "seed": options.seed},
            on_row=lambda row: print(f"{row.status}, {row.n_valid} of {row.n_drawn} valid", flush=True),
        )
    )  # fmt: skip
    report = feedback_report(made.rows, draws=DRAWS)
    counts = report["counts"]
    valid, drawn = counts["samples_valid"], counts["samples_drawn"]
    found: dict[str, Any] = {
        "answers": len(answers), "questions": len({a.question for a in answers}), "report": report,
        "valid": {"of": drawn, "valid": valid, "interval": wilson(valid, drawn)}, "floors": floors(answers),
        "consistency": calibration(made.rows, [a.question for a in answers]),
        "seconds": round(time.monotonic() - began), "usage": [row.usage.model_dump() for row in made.rows],
    }  # fmt: skip
    (options.out / "consistency.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    print(json.dumps({"counts": counts, "valid": found["valid"], "seconds": found["seconds"]}, indent=1))
    show("vote", report)
    for name, floor in found["floors"].items():
        show(name, floor)
    for name in ("always first", "always last", "random at base rate"):
        print(name, json.dumps([report["paper"][name], report["sentences"][name]]))
    print(json.dumps(found["consistency"], indent=1))
    print(json.dumps(report["calibration"]["reason_consistency"]["spearman"]))


if __name__ == "__main__":
    main()
