"""The tuned critic in the loop on open questions, with nothing given: what comes out, and does it look where it should?

    python benchmarks/smollm2/loop_open.py --data DATA/haluquestqa/completeness_train.jsonl --critic DIR --model DIR \\
        --out OUT

The answers are those that `feedback.py` held out, drawn as by `consistency.py` (in its OUT the critiques are found
again). Two loops: the tuned critic with the embedded refiner and gate, and with the untuned small model as refiner and
pairwise judge (the likeliest token, `--new-tokens` at most, one round). There is no truth for a rewrite here: what is
counted are the outcomes and what changed. For the selected critique there is: how often it flags a sentence that people
flagged, beside always the first, and as many sentences drawn at random. 95 % intervals by bootstrap over questions.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from consistency import drawn_from
from critique_cache import CachedFeedback, records_of
from feedback import split
from model import make_folder

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.core.critique import Critique
from eirene.core.records import Record
from eirene.data.haluquestqa import TaggedAnswer
from eirene.eval.datasets.base import case_of
from eirene.eval.metrics.bootstrap import Resamples, cluster_means
from eirene.models.local.model import load_local
from eirene.text.sentences import split_sentences


def flagged_by_people(answer: TaggedAnswer, start: int, end: int) -> bool:
    """Whether a stretch of the answer holds part of a sentence that people called incomplete, whatever cut it."""
    return any(
        tag == "Incomplete" and s.text_start < end and start < s.text_end
        for s, tag in zip(answer.sentences, answer.tags, strict=True)
    )


def places(answers: Sequence[TaggedAnswer], critiques: Sequence[Critique | None]) -> dict[str, Any]:
    """Of the critiques that name a sentence, the share that names one that people flagged."""
    table, questions = [], []
    for answer, critique in zip(answers, critiques, strict=True):
        if critique is None or not critique.incomplete:
            continue
        gold = [flagged_by_people(answer, s.start, s.end) for s in critique.sentences]
        named = [s.tag == "Incomplete" for s in critique.sentences]
        missed = comb(len(gold) - sum(gold), sum(named)) / comb(len(gold), sum(named))
        table.append([any(a and b for a, b in zip(gold, named, strict=True)), gold[0], 1 - missed])
        questions.append(answer.question)
    if not table:
        return {"n": 0}
    count, metric = cluster_means(np.array(table, float), questions)
    found = Resamples().estimate(count, metric, n=len(table))
    names = ("critic", "always the first", "as many at random")
    return {name: estimate.to_json() for name, estimate in zip(names, found, strict=True)}


def changes(records: Sequence[Record]) -> dict[str, Any]:
    """What became of the answers that were rewritten."""
    accepted = [r for r in records if r.status == "accepted"]
    written = [r for r in records if any(round.candidate not in (None, r.original) for round in r.rounds)]
    kinds = Counter(e.kind for r in accepted for round in r.rounds for e in round.edits if e.taken)
    undone = Counter(e.check for r in records for round in r.rounds for e in round.edits if not e.taken)
    words = [(len(r.original.split()), len(r.answer.split())) for r in accepted]
    sentences = [(len(split_sentences(r.original)), len(split_sentences(r.answer))) for r in accepted]
    return {
        "rewritten": len(written), "accepted": len(accepted), "edits_taken": dict(kinds), "edits_undone": dict(undone),
        "words": None if not words else [fmean(w) for w in zip(*words, strict=True)],
        "sentences": None if not sentences else [fmean(s) for s in zip(*sentences, strict=True)],
    }  # fmt: skip


async def run(options: argparse.Namespace, answers: Sequence[TaggedAnswer]) -> dict[str, Any]:
    from eirene.eval.pairwise import LocalPairwise
    from eirene.models.local.sampling import LocalSampling
    from eirene.refiners.model import LocalRefiner

    embedded = resolve_backend("embedded")
    critic = CachedFeedback(load_local(f"hf:{options.critic}"), options.out / "critiques.jsonl")
    parts = {"embedded refiner": replace(embedded, backend=f"embedded with {critic.name}", feedback_model=critic)}
    if "small" in options.refiners:
        base = load_local(make_folder(options.model))
        how = LocalSampling(temperature=0.0, max_new_tokens=options.new_tokens)
        parts["small refiner"] = replace(
            embedded, backend=f"{base.name} with {critic.name}", feedback_model=critic, version=base.version,
            refiner=LocalRefiner(base, sampling=how), pairwise=LocalPairwise(base),
        )  # fmt: skip
    settings = Settings.of(samples=options.samples, max_rounds=1, seed=options.seed)
    report: dict[str, Any] = {"answers": len(answers), "questions": len({a.question for a in answers})}
    for name, own in parts.items():
        began = time.monotonic()
        items = [case_of(answer).item for answer in answers]
        file = options.out / f"records {name}.jsonl"
        records = await records_of(Loop(own, settings), items, file)
        critiques = [r.rounds[0].critique if r.rounds else None for r in records]
        report[name] = {
            "statuses": Counter(r.status for r in records), "changes": changes(records),
            "critiques_that_name_one": sum(c is not None and bool(c.incomplete) for c in critiques),
            "place": places(answers, critiques), "seconds": round(time.monotonic() - began),
            "why": Counter(r.why[:100] for r in records).most_common(8),
        }  # fmt: skip
        print(json.dumps({name: report[name]}, indent=1), flush=True)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--critic", type=Path, required=True, help="the adapter's folder")
    parser.add_argument("--model", type=Path, required=True, help="the untuned model's folder; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the questions, as in feedback.py")
    parser.add_argument("--answers", type=int, default=50)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--refiners", default="embedded,small", help="leave out small, and no model rewrites")
    parser.add_argument("--new-tokens", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    _, held = split(options.data, options.out, share=options.held_out, seed=options.seed)
    report = asyncio.run(run(options, drawn_from(held, options.answers, options.seed)))
    (options.out / "loop_open.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
