"""A small model's critic in the loop, on answers whose errors are known by construction: does its critique help?

Answers of `mixed_dev.jsonl` are drawn by the seed, and the loop runs on them with five critics; everything else
(refiner, detectors, gate) is the embedded default, so that the critic alone differs: none (mode `improve`), the claim
alone that the answer is not complete (`generic`), and in `fine-grained` the embedded critic, the small one, and a floor
that needs no model: the first sentence is called incomplete, with the question as its reason. Errors are counted from
the texts, as in `loop_mixed.py`. Differences are paired, answer by answer, with 95 % intervals over topics.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from harness import Journal, drawn, mean, read_rows, shown
from loop_parts import item_of
from loop_truth import Outcome
from loop_truth import measure as outcome_of

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Sample, Tag
from eirene.core.records import Item, Record
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import LocalFeedback
from eirene.models.local.model import load_local

SMALL = "small critic"


class FirstSentence:
    """The floor of critics: whatever the answer, its first sentence is incomplete, and the question is the reason."""

    name = "first-sentence"

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        _, *others = request.sentences
        tags: list[Tag] = ["Incomplete", *("Complete" for _ in others)]
        for _ in range(count):
            yield Sample(tags=tuple(tags), reasons=(request.item.question, *(None for _ in others)))


def systems(critic: Path, *, samples: int, seed: int) -> dict[str, tuple[Parts, Settings]]:
    """The critics that are compared, each with what it runs in."""
    embedded = resolve_backend("embedded")
    model = LocalFeedback(load_local(f"hf:{critic}"))
    first = replace(embedded, backend="embedded with first-sentence", feedback_model=FirstSentence())
    small = replace(embedded, backend=f"embedded with {model.name}", feedback_model=model)
    return {
        "no critic": (embedded, Settings.of(mode="improve", seed=seed)),
        "generic": (embedded, Settings.of(mode="generic", seed=seed)),
        "embedded critic": (embedded, Settings.of(seed=seed)),
        "first sentence": (first, Settings.of(samples=samples, seed=seed)),
        SMALL: (small, Settings.of(samples=samples, seed=seed)),
    }


async def records_of(loop: Loop, items: Sequence[Item], journal: Journal) -> list[Record]:
    """The loop's record of each item, in order: that of the journal, or one that is made and put there."""
    keys = [loop.row_hash(item) for item in items]
    for n, (key, item) in enumerate(zip(keys, items, strict=True), start=1):
        if key not in journal.rows:
            journal.add(key, record=(await loop.arun(item)).model_dump(mode="json"))
            print(f"{n} of {len(items)}", flush=True)
    return [Record.model_validate(journal.rows[key]["record"]) for key in keys]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Errors an answer under each critic, and every paired difference."""
    rows = drawn(read_rows(options.data / "npov_perspectrum/mixed_dev.jsonl"), options.most, options.seed)
    found: dict[str, list[Outcome]] = {}
    report: dict[str, Any] = {}
    for name, (parts, settings) in systems(options.critic, samples=options.samples, seed=options.seed).items():
        own = rows[: options.small] if name == SMALL else rows
        journal = Journal(options.out / f"records {name}.jsonl")
        records = asyncio.run(records_of(Loop(parts, settings), [item_of(row) for row in own], journal))
        found[name] = [outcome_of(row, record.answer) for row, record in zip(own, records, strict=True)]
        report[name] = {
            "errors": errors(found[name], lambda o: o.after), "before": errors(found[name], lambda o: o.before),
            "fewer": sum(o.after < o.before for o in found[name]),
            "more": sum(o.after > o.before for o in found[name]),
            "statuses": Counter(r.status for r in records), "signature": records[0].signature,
        }  # fmt: skip
        print(f"{name}: {shown(report[name]['errors'])} errors an answer, {dict(report[name]['statuses'])}", flush=True)
    for a, b in combinations(found, 2):  # a critic that judged fewer answers is compared on these
        pairs = list(zip(found[a], found[b], strict=False))
        less = mean([y.after - x.after for x, y in pairs], [x.claim for x, _ in pairs])
        report[f"{b} less {a}"] = less.to_json()
        print(f"{b} less {a}: {shown(less)} of {len(pairs)}", flush=True)
    return report


def errors(found: Sequence[Outcome], count: Any) -> dict[str, Any]:
    """The mean of a count of errors, with its interval over topics."""
    return mean([count(o) for o in found], [o.claim for o in found]).to_json()
