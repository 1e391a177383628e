"""A small model's critic in the loop, on answers whose errors are known by construction: does its critique help?

    python benchmarks/smollm2/loop.py --data DATA/npov_perspectrum --critic DIR --out OUT

DIR is what `feedback.py` trained. Of `mixed_dev.jsonl` `--answers` answers are drawn by the seed, and the loop runs on
them with five critics; everything else (refiner, detectors, gate) is the embedded default, so that the critic alone
differs: none (mode `improve`), the claim alone that the answer is not complete (`generic`), and in `fine-grained` the
embedded critic, the small one with `--samples` critiques, and a floor that needs no model: the first sentence is called
incomplete, with the question as its reason. Errors are counted from the texts, as in `loop_mixed.py`. Differences are
paired, answer by answer, with 95 % bootstrap intervals over topics.

What the small critic's reasons can do here is bounded by the refiner: it drops a sentence whose reason says so, and
adds the argument that a reason names or comes close to. `told` counts them. Critiques are kept in OUT, from where the
same command goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from critique_cache import CachedFeedback, records_of

sys.path.insert(0, str(Path(__file__).parents[1]))  # the benchmarks of the loop

from compare_modes import errors_left, mean
from loop_mixed import about
from loop_parts import item_of, read_rows
from loop_truth import Outcome, Row, measure

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Sample, Tag
from eirene.core.records import Record
from eirene.core.usage import Meter
from eirene.eval.metrics.bootstrap import Resamples, paired_differences
from eirene.feedback_model.base import FeedbackRequest
from eirene.models.local.model import load_local

BEFORE = "as it was"
SMALL = "small critic"


class FirstSentence:
    """The floor of critics: whatever the answer, its first sentence is incomplete, and the question is the reason."""

    name = "first-sentence"

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        _, *others = request.sentences
        tags: list[Tag] = ["Complete"] * len(request.sentences)
        tags[0] = "Incomplete"
        for _ in range(count):
            yield Sample(tags=tuple(tags), reasons=(request.item.question, *(None for _ in others)))


def systems(critic: Path, out: Path, *, samples: int, seed: int) -> dict[str, tuple[Parts, Settings]]:
    """The critics that are compared, each with what it runs in."""
    embedded = resolve_backend("embedded")
    model = CachedFeedback(load_local(f"hf:{critic}"), out / "critiques.jsonl")
    first = replace(embedded, backend="embedded with first-sentence", feedback_model=FirstSentence())
    small = replace(embedded, backend=f"embedded with {model.name}", feedback_model=model)
    return {
        "no critic": (embedded, Settings.of(mode="improve", seed=seed)),
        "generic": (embedded, Settings.of(mode="generic", seed=seed)),
        "embedded critic": (embedded, Settings.of(seed=seed)),
        "first sentence": (first, Settings.of(samples=samples, seed=seed)),
        SMALL: (small, Settings.of(samples=samples, seed=seed)),
    }


def figures(found: dict[str, list[Outcome]]) -> dict[str, Any]:
    """Errors an answer under each critic, and every paired difference."""
    resamples = Resamples()
    first = next(iter(found.values()))
    claims = [o.claim for o in first]
    left = {BEFORE: np.array([o.before for o in first], float)}
    for name, own in found.items():  # a critic that judged fewer answers has no errors for the others
        left[name] = np.full(len(first), np.nan)
        left[name][: len(own)] = errors_left(own)
    pairs = {
        f"{b} - {a}": paired_differences(left[b], left[a], claims, resamples)[0].to_json()
        for a, b in combinations(left, 2)
    }
    return {
        "answers": len(first), "topics": len(set(claims)),
        "errors": {name: mean(values, first, resamples).to_json() for name, values in left.items()},
        "differences": pairs,
        "answers_with_fewer": {name: int(sum(o.after < o.before for o in own)) for name, own in found.items()},
        "answers_with_more": {name: int(sum(o.after > o.before for o in own)) for name, own in found.items()},
    }  # fmt: skip


def told(records: Sequence[Record]) -> dict[str, Any]:
    """What critiques there were, and what the refiner made of them."""
    critiques = [c for r in records if (c := r.rounds[0].critique) is not None]
    samples = [s for r in records for s in r.rounds[0].samples]
    tried = [r for r in records if any(round.candidate not in (None, r.original) for round in r.rounds)]
    return {
        "samples": len(samples), "valid": sum(s.is_valid for s in samples), "critiques": len(critiques),
        "sentences": sum(len(c.sentences) for c in critiques),
        "called_incomplete": sum(len(c.incomplete) for c in critiques),
        "critiques_that_name_one": sum(bool(c.incomplete) for c in critiques),
        "rewrites_tried": len(tried),
    }  # fmt: skip


async def run(options: argparse.Namespace, rows: Sequence[Row]) -> dict[str, Any]:
    found: dict[str, list[Outcome]] = {}
    report: dict[str, Any] = {"systems": {}}
    for name, (parts, settings) in systems(
        options.critic, options.out, samples=options.samples, seed=options.seed
    ).items():
        began, own = time.monotonic(), rows[: options.small] if name == SMALL else rows
        file = options.out / f"records {name}.jsonl"
        records = await records_of(Loop(parts, settings), [item_of(row) for row in own], file)
        failed = Counter(r.why for r in records if r.status == "failed")
        if failed:
            raise SystemExit(f"{name}: {failed.total()} answers failed: {next(iter(failed))}")
        found[name] = [measure(row, record.answer) for row, record in zip(own, records, strict=True)]
        report["systems"][name] = {
            **about(records), "seconds": round(time.monotonic() - began), "told": told(records),
            "why": Counter(r.why.split(":")[0][:80] for r in records).most_common(6),
        }  # fmt: skip
        print(json.dumps({name: report["systems"][name]}, indent=1), flush=True)
    return {**report, **figures(found)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--critic", type=Path, required=True, help="the adapter's folder")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--small", type=int, default=100, help="the small critic judges the first so many of them")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rows = read_rows(options.data / "mixed_dev.jsonl")
    order = np.random.default_rng(options.seed).permutation(len(rows))
    report = asyncio.run(run(options, [rows[i] for i in order[: options.answers]]))
    (options.out / "loop.json").write_text(json.dumps(report, indent=1) + "\n", "utf-8")
    print(json.dumps({k: v for k, v in report.items() if k != "systems"}, indent=1))


if __name__ == "__main__":
    main()
