"""The NPOV paper's classifiers (section 3.3) of a small model: do they tell hallucinations and gaps in coverage?

Trained on `mixed_train.jsonl`, measured on `mixed_dev.jsonl`, whose topics share nothing with it, beside `rouge`,
`alignment` and what counting gives; ROC AUC of answers with 95 % intervals by topic.

The paper tunes a model an error. To halve the work, one adapter learns both questions here: an answer is read once,
asked one of the questions (which one comes first is drawn), and then the other. Scores are those of the first question
alone. `--tuning prompt` is the paper's prompt tuning in place of LoRA.
"""

from __future__ import annotations

import argparse
import asyncio
import math
from itertools import takewhile
from typing import Any

import numpy as np
from harness import drawn
from model import make_folder, training

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
from eirene.models.training.run import finished_run, run_order, start_run
from eirene.prompts.curly import COVERED, FAITHFUL, curly_reply
from eirene.views.detectors import evaluation_table

RATES = {"lora": 5e-4, "prompt": 0.1}
ASKED = {"coverage": COVERED, "hallucination": FAITHFUL}
LAYERS = range(10, 30)
"""The layers that LoRA changes: the last 20 of SmolLM2's 30."""
PARTS = {"self_attn": ("q_proj", "k_proj", "v_proj", "o_proj"), "mlp": ("gate_proj", "up_proj", "down_proj")}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Trains, and the figures of every detector."""
    card = train(options, make_folder(options.model))
    detectors = [
        *build_detectors(["rouge", "alignment"], Resources()),
        BothQuestions(load_local(f"hf:{options.out / 'adapter'}")),
    ]
    read = read_labelled(str(options.data / "npov_perspectrum/mixed_dev.jsonl"))
    cases = drawn(read.cases, options.most, 0)  # the same for every seed
    found = asyncio.run(aevaluate_detectors(cases, detectors, out=options.out))
    about = {"name": "mixed_dev", "form": read.form, "drawn": len(cases), "of": len(read.cases)}
    summary = {
        "data": about | {"left_out": dict(read.left_out)}, "dev": None, **summarise(found, EvaluationPlan()),
        "training": {**card["data"], **card["figures"]},
    }  # fmt: skip
    print(evaluation_table(summary), flush=True)
    return summary


def train(options: argparse.Namespace, base: str) -> dict[str, Any]:
    """The card of the adapter in OUT, trained or found there."""
    file = options.data / "npov_perspectrum/mixed_train.jsonl"
    rows = [r for r in read_labelled(str(file)).cases if r.hallucination is not None and r.coverage is not None]
    rows, rng = drawn(rows, options.rows, options.seed), np.random.default_rng(options.seed)
    orders = [("coverage", "hallucination"), ("hallucination", "coverage")]
    exchanges = [both_questions(row, *orders[int(rng.integers(2))]) for row in rows]
    recipe = PromptTuningRecipe(
        method=options.tuning, batch_size=8, micro_batch=1, epochs=1, max_steps=None, warmup=0.1,
        learning_rate=RATES[options.tuning], max_tokens=options.max_tokens, checkpoint_steps=20, lora_dropout=0.0,
        lora_targets=",".join(
            f"layers.{n}.{part}.{name}" for n in LAYERS for part, names in PARTS.items() for name in names
        ),
    )  # fmt: skip
    with training(options.minutes) as limits:
        run = start_run(base, options.out / "adapter", recipe, seed=options.seed, **limits)
        order = run_order(run, opened(str(file)), answers=len(rows))
        done = finished_run(run, order)
        if done is None:
            facts = {"file": file.name, "answers": len(rows)}
            task = TrainingTask("A classifier of both errors", ClassifierTask("coverage").saved(), facts, exchanges)
            done = train_replies(run, order, task)
    return done.card


def both_questions(row: Labelled, first: str, second: str) -> Exchange:
    """The answer, the first question with its label, and behind it the second one."""
    reply = curly_reply(label_of(row, first)) + f"\n{{{ASKED[second]}:" + curly_reply(label_of(row, second))
    return Exchange(ClassifierTask(first).prompt(case_of(row.item)), reply)


def label_of(row: Labelled, error: str) -> str:
    """What people said."""
    task = ClassifierTask(error)
    return task.labels.error if getattr(row, error) else task.labels.none


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
