"""The NPOV paper's classifiers (section 3.3) of a small model: do they tell hallucinations and gaps in coverage?

One model an error, as in the paper, by LoRA (`--tuning prompt` is the paper's prompt tuning). Trained on
`mixed_train.jsonl`, measured on `mixed_dev.jsonl`, whose topics share nothing with it, beside `rouge`, `alignment` and
what counting gives; ROC AUC of answers with 95 % intervals by topic.
"""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from harness import drawn, read_rows, write_rows
from model import make_folder, training

from eirene.agent.experiments.detectors import aevaluate_detectors, summarise
from eirene.eval.classifier_training import train_classifier
from eirene.eval.datasets import read_labelled
from eirene.eval.detectors.classifier import ClassifierTask
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from eirene.models.training.recipes import PromptTuningRecipe
from eirene.views.detectors import evaluation_table

RATES = {"lora": 5e-4, "prompt": 0.1}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Trains, and the figures of every detector."""
    cards = train(options)
    named = [f"hf:{options.out / error}" for error in cards]
    detectors = build_detectors(["rouge", "alignment", "classifier"], Resources(classifiers_named=named))
    read = read_labelled(str(options.data / "npov_perspectrum/mixed_dev.jsonl"))
    cases = drawn(read.cases, options.most, 0)  # the same for every seed
    found = asyncio.run(aevaluate_detectors(cases, detectors, out=options.out))
    about = {"name": "mixed_dev", "form": read.form, "drawn": len(cases), "of": len(read.cases)}
    summary = {"data": about | {"left_out": dict(read.left_out)}, "dev": None, **summarise(found, EvaluationPlan())}
    print(evaluation_table(summary), flush=True)
    return {**summary, "training": {error: {**card["data"], **card["figures"]} for error, card in cards.items()}}


def train(options: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """The cards of both classifiers in OUT, trained or found there."""
    base, file = make_folder(options.model), options.out / "train.jsonl"
    rows = drawn(read_rows(options.data / "npov_perspectrum/mixed_train.jsonl"), options.rows, options.seed)
    write_rows(file, rows)
    recipe = PromptTuningRecipe(
        method=options.tuning, batch_size=8, micro_batch=1, epochs=1, max_steps=None, warmup=0.1,
        learning_rate=RATES[options.tuning], max_tokens=options.max_tokens, checkpoint_steps=20, lora_dropout=0.0,
    )  # fmt: skip
    cards = {}
    for error in ("hallucination", "coverage"):
        with training(options.minutes) as limits:
            trained = train_classifier(
                str(file), options.out / error, base=base, task=ClassifierTask(error), recipe=recipe,
                seed=options.seed, **limits,
            )  # fmt: skip
        cards[error] = trained.card
    return cards
