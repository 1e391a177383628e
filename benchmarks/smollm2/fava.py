"""FAVA's editing model (section 5.2) of a small model: does it learn to mark errors, and which kinds?

The corpus is Wikipedia's own texts in `wikibio_gpt3/passages.jsonl`. The seed splits its articles into those to train
on and those held out; both are cut into passages of up to 50 words, and errors are put in by the rules of `eirene
synth fava --offline`: other values (entity), opposites and negations (relation), added opinions (subjective). So the
held-out errors are of other articles and made by the same rules. The reference is the passage itself.

F1 of sentences by kind with 95 % intervals by article, as `eirene evaluate critic` gives them, beside the embedded
critic and "every sentence has an error of each kind". A reply that is no copy of the text is counted and not scored.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import Journal, read_rows, shown, write_rows
from model import make_folder, training

from eirene.agent.backends import resolve_backend
from eirene.agent.experiments.critic import arun_critic, found_by
from eirene.core.critique import HALLUCINATIONS, FindingKind, findings_in
from eirene.core.signature import derive_seed, rng_for
from eirene.core.usage import Meter
from eirene.eval.datasets.annotated import Annotated, Taxonomy, finding, read_annotated
from eirene.eval.metrics.findings import MISSES, CaseFindings, count_case, findings_report
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
from eirene.feedback_model.training import train_critic
from eirene.models.local.model import load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.training.recipes import CriticRecipe
from eirene.retrieval.passages import cut, read_corpus
from eirene.synth.fava.pipeline import synthesise
from eirene.synth.fava.recipe import FavaRecipe, FavaTotals, entities

OPENING = "This is a passage from Wikipedia about "
HELD_OUT, WORDS = 0.4, 50


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Trains, asks once about each held-out text, and counts."""
    train, held = planted(options)
    recipe = CriticRecipe(
        method="lora", epochs=1, batch_size=4, micro_batch=1, max_tokens=options.max_tokens, learning_rate=5e-4,
        lora_dropout=0.0, checkpoint_steps=10,
    )  # fmt: skip
    base = make_folder(options.model)
    with training(options.minutes) as limits:
        card = train_critic(
            str(train), options.out / "critic", base=base, recipe=recipe, seed=options.seed, **limits
        ).card
    read = read_annotated(str(held))
    how = LocalSampling(temperature=0.0, max_new_tokens=256)
    critic = LocalFeedback(load_local(f"hf:{options.out / 'critic'}"), sampling=how, asking=HALLUCINATION)
    journal = Journal(options.out / "asked.jsonl")
    asyncio.run(ask(read.cases, critic, journal, minutes=options.minutes))
    cases = [case for case in read.cases if case.item.id in journal.rows]
    settings = {"critic": "hallucination", "seed": options.seed}
    embedded = asyncio.run(arun_critic(cases, resolve_backend("embedded"), settings=settings))
    kinds = marked_kinds(cases, read.taxonomy)
    every = {
        "tuned": [answered(case, journal.rows[case.item.id]) for case in cases],
        "embedded critic": found_by(cases, embedded),
        "everything": [everything(case, kinds) for case in cases],
    }
    reports = {name: findings_report(found, read.taxonomy, seed=options.seed) for name, found in every.items()}
    for name, report in reports.items():
        levels = report.get("sentences", {})
        f1 = ", ".join(f"{kind} {shown(levels[kind]['f1'])}" for kind in (*kinds, "any") if kind in levels)
        print(f"{name} ({report['scored']} of {report['answers']}): F1 {f1}", flush=True)
    return {"training": {**card["data"], **card["figures"]}, **reports}


def planted(options: argparse.Namespace) -> list[Path]:
    """The rows to train on and those held out: passages of different articles, with errors put in."""
    articles = read_rows(options.data / "wikibio_gpt3/passages.jsonl")
    order = rng_for(options.seed, "articles").permutation(len(articles))
    n_held = round(HELD_OUT * len(articles))
    files = []
    for part, chosen, most in (("train", order[n_held:], options.rows), ("held", order[:n_held], options.most)):
        corpus, file = options.out / f"corpus_{part}.jsonl", options.out / f"{part}.jsonl"
        write_rows(corpus, [
            {"id": f"{r['wiki_bio_test_idx']}#{n}", "title": r["prompt"].removeprefix(OPENING), "text": text}
            for r in (articles[i] for i in sorted(chosen))
            for n, text in enumerate(cut(r["reference"], words=WORDS))
        ])  # fmt: skip
        passages = list(read_corpus(str(corpus)))
        recipe, made = FavaRecipe(most=2, references=1, seed=options.seed), FavaTotals()
        pool = entities(p.text for p in passages)
        items = list(synthesise(passages, recipe, made, pool=pool, neighbours=lambda passage: ()))
        drawn = sorted(rng_for(options.seed, "rows", part).permutation(len(items))[:most])
        rows = [items[i].model_dump(mode="json", exclude_none=True) for i in drawn]
        for row in rows:  # passages of one article are not independent
            row["meta"]["cluster"] = row["meta"]["source"].partition("#")[0]
        write_rows(file, rows)
        print(f"{part}: {len(chosen)} articles, {'; '.join(made.told())}; {len(rows)} rows drawn", flush=True)
        files.append(file)
    return files


async def ask(cases: Sequence[Annotated], critic: LocalFeedback, journal: Journal, *, minutes: float) -> None:
    """What the critic finds in each text, or why there is nothing to read, until the time is over."""
    end = time.monotonic() + 60 * minutes
    for n, case in enumerate(cases):
        if case.item.id in journal.rows:
            continue
        if time.monotonic() > end:
            print(f"{n} of {len(cases)} asked about; the same command goes on", flush=True)
            return
        request = FeedbackRequest(case.item, case.item.answer, case.sentences, derive_seed(0, case.item.id))
        (sample,) = [s async for s in critic.draw(request, start=0, count=1, meter=Meter())]
        found = [f.model_dump(mode="json") for f in sample.findings] if sample.is_valid else None
        journal.add(case.item.id, findings=found, why=sample.invalid)


def answered(case: Annotated, row: dict[str, Any]) -> CaseFindings:
    """What the critic found, out of the journal."""
    return CaseFindings(case, None if row["findings"] is None else findings_in(row["findings"]), row["why"])


def marked_kinds(cases: Sequence[Annotated], taxonomy: Taxonomy) -> list[FindingKind]:
    """The kinds that a critic of hallucinations may name and that are marked."""
    marked = np.atleast_1d(sum(count_case(case, (), taxonomy).sentences[:, MISSES] for case in cases))
    return [k for k, n in zip(taxonomy.kinds, marked, strict=False) if n and taxonomy.classes[k] & set(HALLUCINATIONS)]


def everything(case: Annotated, kinds: Sequence[FindingKind]) -> CaseFindings:
    """The floor: each kind on every sentence."""
    length = len(case.item.answer)
    spans = [(s.text_start, s.text_end) for s in case.sentences]
    return CaseFindings(case, tuple(finding(kind, *span, "floor", length=length) for span in spans for kind in kinds))
