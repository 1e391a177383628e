"""The NPOV paper's classifiers (section 3.3) of a real small model: do they tell hallucinations and gaps in coverage?

    python benchmarks/smollm2/classifiers.py --data DATA/npov_perspectrum --model DIR --out OUT

Trains on `mixed_train.jsonl` (or `--train FILE`, such as what `eirene synth npov` writes) and measures on
`mixed_dev.jsonl` and `cases_dev.jsonl`, whose topics share nothing with training, beside `rouge`, `alignment` and what
counting gives; ROC AUC of answers with 95 % intervals by topic, and the differences from `rouge`. The folder OUT holds
the adapter, the rows and `summary.json`; the same command goes on where it was stopped (`--minutes` stops a training,
too). `--seed` draws the training answers and the first weights; `--most` measures on the same answers whatever the
seed. Nothing is chosen on the dev sets.

The paper tunes a model an error. To halve the work, one adapter learns both questions here: an answer is read once,
asked one of the questions (which one comes first is drawn), and then the other. Scores are those of the first question
alone. LoRA's weights are in the layers from `--from-layer` on. `--method prompt` is the paper's prompt tuning instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from model import make_folder
from time_limit import time_limit

from eirene.agent.experiments.detectors import aevaluate_detectors, summarise
from eirene.core.scores import Scores
from eirene.core.usage import Meter, Usage
from eirene.data import opened
from eirene.eval.base import Case, case_of
from eirene.eval.datasets import Labelled, read_labelled
from eirene.eval.detectors.classifier import ClassifierDetector, ClassifierTask, log_likelihoods
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from eirene.models.local.model import LocalModel, load_local
from eirene.models.training.recipes import PromptTuningRecipe
from eirene.models.training.replies import Exchange, TrainingTask, train_replies
from eirene.models.training.run import (
    finished_run,
    run_order,
    start_run,
)
from eirene.prompts.curly import COVERED, FAITHFUL, curly_reply
from eirene.views.detectors import evaluation_table

RATES = {"lora": 5e-4, "prompt": 0.1}
ASKED = {"coverage": COVERED, "hallucination": FAITHFUL}
LINEAR = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


def label_of(row: Labelled, error: str) -> str:
    task = ClassifierTask(error)
    return task.labels.error if getattr(row, error) else task.labels.none


def both_questions(row: Labelled, first: str, second: str) -> Exchange:
    """The answer, the first question with its label, and behind it the second one."""
    reply = curly_reply(label_of(row, first)) + f"\n{{{ASKED[second]}:" + curly_reply(label_of(row, second))
    return Exchange(ClassifierTask(first).prompt(case_of(row.item)), reply)


def train(options: argparse.Namespace, base: str) -> dict[str, Any]:
    """The card of the adapter in OUT, trained or found there."""
    file = options.train or options.data / "mixed_train.jsonl"
    rng = np.random.default_rng(options.seed)
    rows = [r for r in read_labelled(str(file)).cases if r.hallucination is not None and r.coverage is not None]
    rows = [rows[i] for i in sorted(rng.permutation(len(rows))[: options.answers])]
    orders = [("coverage", "hallucination"), ("hallucination", "coverage")]
    exchanges = [both_questions(row, *orders[int(rng.integers(2))]) for row in rows]
    from transformers import AutoConfig

    layers = range(options.from_layer, AutoConfig.from_pretrained(base.removeprefix("hf:")).num_hidden_layers)
    parts = {p: "mlp" if p.endswith(("gate_proj", "up_proj", "down_proj")) else "self_attn" for p in LINEAR}
    recipe = PromptTuningRecipe(
        method=options.method, batch_size=options.batch, micro_batch=1, epochs=options.epochs, max_steps=None,
        warmup=0.1, learning_rate=options.rate or RATES[options.method], max_tokens=options.max_tokens,
        checkpoint_steps=20, lora_dropout=0.0,
        lora_targets=",".join(f"layers.{n}.{parts[p]}.{p}" for n in layers for p in LINEAR),
    )  # fmt: skip
    with time_limit(options.minutes) as is_over:
        run = start_run(
            base, options.out / "adapter", recipe, seed=options.seed, should_stop=is_over,
            progress=lambda s: print(f"step {s.step}/{s.steps} loss {s.loss:.3f}", flush=True),
        )  # fmt: skip
        order = run_order(run, opened(str(file)), answers=options.answers)
        done = finished_run(run, order)
        if done is None:
            facts = {"file": file.name, "answers": len(rows)}
            task = TrainingTask("A classifier of both errors", ClassifierTask("coverage").saved(), facts, exchanges)
            done = train_replies(run, order, task)
    return done.card


class BothQuestions(ClassifierDetector):
    """The detector `classifier` of one model that knows both questions: an answer is read once for the two of them.

    The words of a question behind the answer are as likely with either label, and fall out of their shares.
    """

    def __init__(self, tuned: LocalModel) -> None:
        super().__init__([
            LocalModel(
                tuned.model, tuned.tokenizer, name=tuned.name, prompt=ClassifierTask(error).saved(),
                soft_prompt=tuned.soft_prompt, version=tuned.version,
            )
            for error in ASKED
        ])  # fmt: skip
        self._tuned = tuned

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer, which must fit the model's context."""
        return await self._tuned.compute(lambda: self._both(case, meter))

    def _both(self, case: Case, meter: Meter) -> Scores:
        tasks = [ClassifierTask("hallucination"), ClassifierTask("coverage")]
        prompts = [self._tuned.encode_text(task.prompt(case)) for task in tasks]
        read = list(takewhile(lambda n: prompts[0][n] == prompts[1][n], range(min(map(len, prompts)) - 1)))
        labels = [self._tuned.encode_more(curly_reply(label)) for label in ("NO", "YES")]
        behind = [[*prompt[len(read) :], *label] for prompt in prompts for label in labels]
        meter.add(Usage(calls=1, input_tokens=len(read)))
        found = log_likelihoods(self._tuned.model, prompts[0][: len(read)], behind, soft_prompt=self._tuned.soft_prompt)
        shares = [1.0 / (1.0 + math.exp(min(700.0, none - error))) for error, none in (found[:2], found[2:])]
        return Scores(hallucination=shares[0], coverage=shares[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", type=Path, help="labelled answers to train on (default: mixed_train.jsonl)")
    parser.add_argument("--method", choices=("lora", "prompt"), default="lora")
    parser.add_argument("--rate", type=float, help="default: 5e-4, for prompt tuning the paper's 0.1")
    parser.add_argument("--answers", type=int, default=100_000, help="draw so many of the training answers")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--from-layer", type=int, default=10)
    parser.add_argument("--max-tokens", type=int, default=400)
    parser.add_argument("--minutes", type=float, default=60, help="a training stops after so many and can go on")
    parser.add_argument("--sets", default="mixed_dev,cases_dev")
    parser.add_argument("--most", type=int, default=100_000, help="measure so many answers of a set at most")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    card = train(options, make_folder(options.model))
    print(json.dumps(card["figures"], indent=1))
    detectors = [
        *build_detectors(["rouge", "alignment"], Resources()),
        BothQuestions(load_local(f"hf:{options.out / 'adapter'}")),
    ]
    for name in options.sets.split(","):
        read = read_labelled(str(options.data / f"{name}.jsonl"))
        drawn = np.random.default_rng(0).permutation(len(read.cases))[: options.most]  # the same for every seed
        (options.out / name).mkdir(parents=True, exist_ok=True)
        cases = [read.cases[i] for i in sorted(drawn)]
        found = asyncio.run(aevaluate_detectors(cases, detectors, out=options.out / name))
        data = {
            "name": name, "form": read.form, "drawn": len(cases), "of": len(read.cases),
            "left_out": dict(read.left_out),
        }  # fmt: skip
        summary = {"data": data, "dev": None, **summarise(found, EvaluationPlan())}
        (options.out / name / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
        print(evaluation_table(summary), flush=True)


if __name__ == "__main__":
    main()
