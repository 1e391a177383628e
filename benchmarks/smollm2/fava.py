"""FAVA's editing model (section 5.2) of a real small model: does it learn to mark errors, and which kinds?

    python benchmarks/smollm2/fava.py --data DATA --model DIR --out OUT

The corpus is Wikipedia's own texts in `wikibio_gpt3/passages.jsonl`. The seed splits its articles into those to train
on and those held out; both are cut into passages of up to `--words` words, and errors are put in by the rules of
`eirene synth fava --offline`: other values (entity), opposites and negations (relation), added opinions (subjective).
So the held-out errors are of other articles and made by the same rules. The reference is the passage itself.
`train_critic` tunes the model on them. It is then asked once about each text, takes the likeliest tokens, and is
measured

- on planted errors in held-out articles,
- on `--most` answers of `qa_feedback/feedback.jsonl`, drawn by the seed, whose errors people marked; QA-Feedback's
  passages are Wikipedia's too, and long: the model was trained on nothing like them; and
- on as many of `ragtruth_subset/responses.jsonl` (`--sets ragtruth`), marked by people as well.

With `--train FILE` it is tuned on other rows, such as those that `eirene synth fava OUT/corpus_train.jsonl` has a model
write; the held-out texts stay the same.

F1 of sentences by kind with 95 % intervals by article or question, as `eirene evaluate critic` gives them, beside the
embedded critic, "every sentence has an error of each kind", and as many sentences at random as have one. A reply that
is no copy of the text is counted and not scored. The training, and the asking about a set, stop after `--minutes`, and
the same command goes on there.
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
from journal import Journal
from model import make_folder
from time_limit import time_limit

from eirene.agent.backends import resolve_backend
from eirene.agent.experiments.critic import arun_critic, found_by
from eirene.core.critique import HALLUCINATIONS, Finding, FindingKind, findings_in
from eirene.core.signature import derive_seed, rng_for
from eirene.core.usage import Meter
from eirene.eval.datasets.annotated import Annotated, AnnotatedSet, Taxonomy, finding, read_annotated
from eirene.eval.metrics.findings import MISSES, CaseFindings, count_case, findings_report
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
from eirene.feedback_model.training import train_critic
from eirene.models.local.model import load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.training.recipes import CriticRecipe
from eirene.retrieval.passages import read_corpus
from eirene.synth.fava.pipeline import synthesise
from eirene.synth.fava.recipe import FavaRecipe, FavaTotals, entities
from eirene.views.tables import figure

MARKED = {"qa_feedback": "qa_feedback/feedback.jsonl", "ragtruth": "ragtruth_subset/responses.jsonl"}
OPENING = "This is a passage from Wikipedia about "


def planted(options: argparse.Namespace) -> dict[str, Path]:
    """The rows to train on and those held out: passages of different articles, with errors put in."""
    lines = (options.data / "wikibio_gpt3" / "passages.jsonl").read_text("utf-8").splitlines()
    articles = [json.loads(line) for line in lines]
    order = rng_for(options.seed, "articles").permutation(len(articles))
    cut = round(options.held_out * len(articles))
    files = {}
    for part, chosen in (("held", order[:cut]), ("train", order[cut:])):
        corpus = options.out / f"corpus_{part}.jsonl"
        rows = (articles[i] for i in sorted(chosen))
        texts = (
            {"id": str(r["wiki_bio_test_idx"]), "title": r["prompt"].removeprefix(OPENING), "text": r["reference"]}
            for r in rows
        )
        corpus.write_text("".join(json.dumps(text) + "\n" for text in texts), "utf-8")
        passages = list(read_corpus(str(corpus), words=options.words))
        recipe, made = FavaRecipe(most=2, references=1, seed=options.seed), FavaTotals()
        pool = entities(p.text for p in passages)
        items = list(synthesise(passages, recipe, made, pool=pool, neighbours=lambda passage: ()))
        most = options.rows if part == "train" else options.most
        drawn = sorted(rng_for(options.seed, "rows", part).permutation(len(items))[:most])
        files[part] = options.out / f"{part}.jsonl"
        dumped = [items[i].model_dump(mode="json", exclude_none=True) for i in drawn]
        for row in dumped:  # passages of one article are not independent
            row["meta"]["cluster"] = row["meta"]["source"].partition("#")[0]
        files[part].write_text("".join(json.dumps(row) + "\n" for row in dumped), "utf-8")
        print(f"{part}: {len(chosen)} articles, {'; '.join(made.told())}; {len(drawn)} rows drawn", flush=True)
    return files


def train(file: Path, options: argparse.Namespace, base: str) -> dict[str, Any]:
    """The card of the critic in OUT, trained or found there."""
    recipe = CriticRecipe(
        method="lora", epochs=options.epochs, batch_size=options.batch, micro_batch=1, max_tokens=options.max_tokens,
        learning_rate=options.rate, lora_dropout=0.0, checkpoint_steps=10,
    )  # fmt: skip
    with time_limit(options.minutes) as is_over:
        trained = train_critic(
            str(file), options.out / "critic", base=base, recipe=recipe, seed=options.seed,
            progress=lambda s: print(f"step {s.step}/{s.steps} loss {s.loss:.3f}", flush=True),
            should_stop=is_over,
        )  # fmt: skip
    return trained.card


async def ask(cases: Sequence[Annotated], critic: LocalFeedback, journal: Journal, *, minutes: float) -> None:
    """What the critic finds in each text, or why there is nothing to read, until the time is over."""
    end = time.monotonic() + 60 * minutes
    for n, case in enumerate(cases):
        if case.item.id in journal.rows:
            continue
        if time.monotonic() > end:
            print(f"{n} of {len(cases)} asked about; the same command goes on", flush=True)
            return
        began = time.monotonic()
        request = FeedbackRequest(case.item, case.item.answer, case.sentences, derive_seed(0, case.item.id))
        (sample,) = [s async for s in critic.draw(request, start=0, count=1, meter=Meter())]
        found = [f.model_dump(mode="json") for f in sample.findings] if sample.is_valid else None
        seconds = round(time.monotonic() - began, 1)
        journal.add(case.item.id, findings=found, why=sample.invalid, seconds=seconds)


def marked_shares(cases: Sequence[Annotated], taxonomy: Taxonomy) -> dict[FindingKind, float]:
    """For each kind that a critic of hallucinations may name and that is marked: the share of sentences with it."""
    marked = sum(count_case(case, (), taxonomy).sentences[:, MISSES] for case in cases)
    total = sum(len(case.sentences) for case in cases)
    shares = {kind: float(n) / total for kind, n in zip(taxonomy.kinds, np.atleast_1d(marked), strict=False)}
    return {kind: share for kind, share in shares.items() if share and taxonomy.classes[kind] & set(HALLUCINATIONS)}


def named(case: Annotated, shares: dict[FindingKind, float], rng: np.random.Generator | None) -> tuple[Finding, ...]:
    """Findings on whole sentences: of each kind on every sentence, or with `rng` on as large a share as is marked."""
    return tuple(
        finding(kind, s.text_start, s.text_end, "floor", length=len(case.item.answer))
        for s in case.sentences
        for kind, share in shares.items()
        if rng is None or rng.random() < share
    )


def show(name: str, report: dict[str, Any], kinds: Sequence[str]) -> None:
    """A row of the table."""
    levels = report.get("sentences", {})
    cells = [figure(levels[kind]["f1"]) if kind in levels else "-" for kind in (*kinds, "any")]
    print(f"| {name} ({report['scored']} of {report['answers']}) | " + " | ".join(cells) + " |", flush=True)


def measure(name: str, read: AnnotatedSet, critic: LocalFeedback, options: argparse.Namespace) -> dict[str, Any]:
    """Every critic on a set: the reports by name."""
    journal = Journal(options.out / f"asked_{name}.jsonl")
    asyncio.run(ask(read.cases, critic, journal, minutes=options.minutes))
    cases = [case for case in read.cases if case.item.id in journal.rows]
    tuned = []
    for case in cases:
        row = journal.rows[case.item.id]
        found = None if row["findings"] is None else findings_in(row["findings"])
        tuned.append(CaseFindings(case, found, row["why"]))
    settings = {"critic": "hallucination", "seed": options.seed}
    embedded = asyncio.run(arun_critic(cases, resolve_backend("embedded"), settings=settings))
    shares, rng = marked_shares(cases, read.taxonomy), rng_for(options.seed, "chance")
    every = {
        "tuned": tuned, "embedded critic": found_by(cases, embedded),
        "everything": [CaseFindings(case, named(case, shares, None)) for case in cases],
        "at random": [CaseFindings(case, named(case, shares, rng)) for case in cases],
    }  # fmt: skip
    print(f"{name}: {len(cases)} texts, {sum(len(c.sentences) for c in cases)} sentences, marked {shares}", flush=True)
    reports = {}
    for who, found_in in every.items():
        reports[who] = findings_report(found_in, read.taxonomy, seed=options.seed)
        show(who, reports[who], list(shares))
    return reports


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=float, default=0.4, help="share of the articles")
    parser.add_argument("--train", type=Path, help="rows to train on in place of the planted ones")
    parser.add_argument("--words", type=int, default=50, help="words of a passage at most")
    parser.add_argument("--rows", type=int, default=100_000, help="train on so many at most, drawn by the seed")
    parser.add_argument("--most", type=int, default=100, help="measure so many texts of a set, drawn by the seed")
    parser.add_argument("--sets", default="planted,qa_feedback")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    files = planted(options)
    card = train(options.train or files["train"], options, make_folder(options.model))
    found: dict[str, Any] = {"training": {**card["data"], **card["figures"]}}
    print(json.dumps(found), flush=True)
    how = LocalSampling(temperature=0.0, max_new_tokens=options.new_tokens)
    critic = LocalFeedback(load_local(f"hf:{options.out / 'critic'}"), sampling=how, asking=HALLUCINATION)
    for name in options.sets.split(","):
        file = files["held"] if name == "planted" else options.data / MARKED[name]
        read = read_annotated(str(file))
        order = rng_for(options.seed, "measured", name).permutation(len(read.cases))[: options.most]
        found[name] = measure(name, replace(read, cases=tuple(read.cases[i] for i in order)), critic, options)
        (options.out / "summary.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
