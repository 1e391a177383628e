"""Tunes a model on labelled answers to find one error type (`python -m recipes.train classifier`); loads no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Unpack

from eirene.core.concurrency import run_blocking
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.data import RowSource, Shape, opened
from eirene.eval.base import case_of
from eirene.eval.datasets import Labelled, LabelledSet, read_labelled
from eirene.eval.detectors.classifier import KIND, PROMPT, ClassifierDetector, ClassifierTask
from eirene.eval.metrics.ranking import average_precision, roc_auc
from eirene.prompts.curly import curly_reply
from recipes.train.recipe import PromptTuningRecipe
from recipes.train.replies import Exchange, TrainingTask, train_replies
from recipes.train.run import RunOptions, Trained, file_facts, refuse_leaks, run_order, start_run

logger = get_logger(__name__)


def train_classifier(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    task: ClassifierTask,
    recipe: PromptTuningRecipe | None = None,
    dev: str | RowSource | None = None,
    shape: Shape | None = None,
    **options: Unpack[RunOptions],
) -> Trained:
    """Tunes the causal language model `base` to tell `task.error_type`; `--classifier hf:OUT` then uses it.

    `data` and `dev` are labelled answers (see `read_labelled`, and there for `shape`), named or opened; rows without
    the label are left out and counted. The figures of `dev` are those of the finished model, loaded as it will be used.
    The same call goes on where an interrupted one stopped, and returns at once when the run is finished. Raises
    `InputError` for data that cannot be read or has one class only, a dev set that shares questions with the training
    set, a folder that holds another run, and a loss that is no longer a number.
    """
    run = start_run(base, out, PromptTuningRecipe() if recipe is None else recipe, **options)
    source, dev_source = opened(data), None if dev is None else opened(dev)
    rows = _known(read_labelled(source, shape), task, source.name)
    held = [] if dev_source is None else _known(read_labelled(dev_source, shape), task, dev_source.name)
    questions = {row.item.question for row, _ in rows}
    refuse_leaks(questions, [row.item.question for row, _ in held])
    order = run_order(run, source, task=saved_task(task), dev=dev_source, shape=shape)
    counts = {"answers": len(rows), "with_error": sum(faulty for _, faulty in rows), "questions": len(questions)}
    return train_replies(run, order, lambda: TrainingTask(
        f"A classifier of {task.error_type} errors for Eirene", saved_task(task),
        {**file_facts(source), **counts, "dev_answers": len(held)}, _exchanges(rows, task), _exchanges(held, task),
        measure=(lambda: measured(run.folder, held, task, device=run.device)) if held else None,
    ))  # fmt: skip


def saved_task(task: ClassifierTask) -> dict[str, Any]:
    """What an adapter carries; `ClassifierTask.loaded` reads it."""
    return {
        "kind": KIND,
        "prompt": PROMPT,
        "layout": "instruct",
        "error_type": task.error_type,
        "labels": {"error": task.labels.error, "none": task.labels.none},
    }


def measured(
    folder: Path, held: Sequence[tuple[Labelled, bool]], task: ClassifierTask, *, device: str | None
) -> dict[str, Any]:
    """The finished model's ROC AUC and average precision on held-out answers; the unscored are counted."""
    from eirene.models.local.model import load_local

    detector = ClassifierDetector([load_local(f"hf:{folder}", device=device)])

    async def score() -> list[float | None]:
        found = [await detector.score(case_of(row.item), meter=Meter()) for row, _ in held]
        return [number(s.hallucination if task.error_type == "hallucination" else s.coverage) for s in found]

    found = run_blocking(score, name="eirene-measure")
    scored = [(faulty, s) for (_, faulty), s in zip(held, found, strict=True) if s is not None]
    labels, scores = [faulty for faulty, _ in scored], [s for _, s in scored]
    both = len(set(labels)) == 2
    return {
        "dev_scored": len(scored),
        "dev_unscored": len(held) - len(scored),
        "dev_auc": round(roc_auc(labels, scores), 4) if both else None,
        "dev_average_precision": round(average_precision(labels, scores), 4) if both else None,
    }


def _known(found: LabelledSet, task: ClassifierTask, where: str) -> list[tuple[Labelled, bool]]:
    """The answers that were given something and whose label is known, each with whether it has the error."""
    rows = []
    for row in found.cases:
        label = row.hallucination if task.error_type == "hallucination" else row.coverage
        if label is not None and case_of(row.item).given.source != "derived":
            rows.append((row, label))
    if len({label for _, label in rows}) < 2:
        raise InputError(
            f"has {len(rows)} answers with given text and a {task.error_type} label, and not both with and without "
            "the error; a classifier needs both",
            where=where,
        )
    if len(rows) < len(found.cases):
        logger.warning(
            "%d of %d answers have no such label, or nothing given", len(found.cases) - len(rows), len(found.cases)
        )
    return rows


def _exchanges(rows: Sequence[tuple[Labelled, bool]], task: ClassifierTask) -> list[Exchange]:
    return [
        Exchange(task.prompt(case_of(row.item)), curly_reply(task.labels.error if faulty else task.labels.none))
        for row, faulty in rows
    ]
