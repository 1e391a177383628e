"""Runs transformers' Trainer: arguments, resume from a checkpoint, progress, figures; supervised fine-tuning with it.

The loss of supervised fine-tuning is on the replies alone. Importing this module loads torch and transformers.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import logging
import math
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from eirene.core.errors import InputError, TrainingStoppedError
from eirene.models.local.checkpoint import no_progress_bar
from eirene.models.local.loading import choose_device
from eirene.models.local.sampling import takes_logits_to_keep
from eirene.models.training.adapters import adapted, load_trainable
from eirene.models.training.examples import EncodedExample, collate, filler
from eirene.models.training.folder import CHECKPOINTS, TrainingRun, last_checkpoint, write_digests
from eirene.models.training.recipe import Step, TrainingRecipe, write_json

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_ADAPTER_CONFIG = "adapter_config.json"
_ACCURACY = "rewards/accuracies"  # under what TRL logs it


def training_device(wanted: str | None) -> str:
    """The device to train on: a GPU if there is one. Raises `InputError` for what the Trainer does not heed."""
    device = choose_device(wanted)
    if device == "auto" or (device.startswith("cuda:") and device != "cuda:0"):
        raise InputError(
            "training runs on one device, of several GPUs on the first that is visible: choose it by "
            f"CUDA_VISIBLE_DEVICES and give cuda, got {device!r}",
            field="device",
        )
    return device


def on_one_gpu(settings: TrainingArguments) -> Any:
    """The same arguments; the Trainer would spread a batch over all visible GPUs, and compute something else."""
    if settings.device.type == "cuda":
        settings._n_gpu = 1
    return settings


def arguments(
    run: TrainingRun, recipe: TrainingRecipe, *, device: str, n_examples: int, has_dev: bool
) -> dict[str, Any]:
    """What `TrainingArguments` and the configurations made from it are given; nothing is reported to anyone."""
    known = {field.name for field in dataclasses.fields(TrainingArguments)}
    checkpointing = "activation_checkpointing" if "activation_checkpointing" in known else "gradient_checkpointing"
    return {
        "output_dir": str(run.folder / CHECKPOINTS),
        "num_train_epochs": recipe.epochs,
        "max_steps": -1 if recipe.max_steps is None else recipe.max_steps,
        "per_device_train_batch_size": recipe.at_once,
        "per_device_eval_batch_size": recipe.at_once,
        "gradient_accumulation_steps": recipe.batch_size // recipe.at_once,
        "learning_rate": recipe.rate,
        "lr_scheduler_type": recipe.schedule if recipe.schedule != "constant" else "constant_with_warmup",
        "warmup_steps": warmup_steps(recipe, n_examples),
        "weight_decay": recipe.weight_decay,
        "bf16": computes_in_bf16(recipe, device),
        checkpointing: False,  # `load_trainable` has switched it on where it is wanted
        "use_cpu": device == "cpu",
        "seed": run.seed % 2**32,  # NumPy's old generator takes no more
        "data_seed": run.seed % 2**32,
        "logging_strategy": "steps",
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "eval_strategy": "epoch" if has_dev else "no",
        "save_strategy": "epoch" if recipe.checkpoint_steps is None else "steps",
        "save_steps": recipe.checkpoint_steps or 500,
        "save_total_limit": 2,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
        "dataloader_pin_memory": device.startswith("cuda"),
    }


def steps_in(recipe: TrainingRecipe, n_examples: int) -> int:
    """Optimiser steps of a whole run."""
    an_epoch = math.ceil(math.ceil(n_examples / recipe.at_once) / (recipe.batch_size // recipe.at_once))
    return recipe.epochs * an_epoch if recipe.max_steps is None else recipe.max_steps


def warmup_steps(recipe: TrainingRecipe, n_examples: int) -> int:
    """Steps over which the learning rate rises; a share is rounded up."""
    return int(recipe.warmup if recipe.warmup >= 1 else math.ceil(recipe.warmup * steps_in(recipe, n_examples)))


def computes_in_bf16(recipe: TrainingRecipe, device: str) -> bool:
    """Whether forward passes run in bfloat16, as asked for or as the device can."""
    if recipe.precision is not None:
        return recipe.precision == "bf16"
    return device.startswith("cuda") and torch.cuda.is_bf16_supported()


def train(
    trainer: Trainer, run: TrainingRun, recipe: TrainingRecipe, *, device: str, tokens_per_epoch: int
) -> dict[str, Any]:
    """Trains, from the folder's last whole checkpoint on, and returns figures, with the Trainer's log as `log`.

    Raises `InputError` for a loss that is no number and for a batch that does not fit the memory,
    `TrainingStoppedError` where the run was asked to stop.
    """
    watch = _TrainerWatch(run)
    trainer.add_callback(watch)
    trainer.remove_callback(PrinterCallback)  # it prints
    checkpoint = last_checkpoint(run.folder / CHECKPOINTS)
    started = time.perf_counter()
    try:
        with no_progress_bar(), _quiet_rotation():
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"out of memory with {recipe.at_once} examples at once; lower micro_batch, set gradient_checkpointing, or "
            f"under an adapter a narrower dtype ({str(error).strip().partition(chr(10))[0][:200]})",
            field="micro_batch",
        ) from error
    seconds = time.perf_counter() - started
    if watch.bad_step is not None:
        raise InputError(
            f"the loss at step {watch.bad_step} is not a number; lower the learning rate ({recipe.rate:g})",
            field="learning_rate",
        )
    steps = trainer.state.global_step
    if watch.is_stopped:
        raise TrainingStoppedError(
            f"stopped at step {steps} of {trainer.state.max_steps}, which is on disk; the same command goes on there"
        )
    tokens = round((trainer.state.epoch or 0.0) * tokens_per_epoch * (steps - watch.first_step) / steps) if steps else 0
    return {
        "log": trainer.state.log_history,
        "steps": steps,
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else device,
        "precision": "bf16" if computes_in_bf16(recipe, device) else "fp32",
        "trained_weights": _trained_weights(trainer.model),
        "seconds": round(seconds, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds, 1),
        "resumed_at_step": watch.first_step or None,
        "peak_memory_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if device.startswith("cuda") else None,
    }


@contextlib.contextmanager
def _quiet_rotation() -> Iterator[None]:
    """Passes over a warning that every short run calls forth: checkpoints less than a second apart."""
    log = logging.getLogger("transformers.trainer_utils")

    def speaks_of_something_else(record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith("mtime may not be reliable")

    log.addFilter(speaks_of_something_else)
    try:
        yield
    finally:
        log.removeFilter(speaks_of_something_else)


def save(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes the model or the adapter, and the tokenizer."""
    with no_progress_bar():
        model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    config = folder / _ADAPTER_CONFIG
    if config.is_file():
        value = json.loads(config.read_text(encoding="utf-8"))
        if isinstance(value.get("target_modules"), list):
            value["target_modules"].sort()  # peft writes a set in whatever order it has: no two runs the same
        write_json(config, value)


def _trained_weights(model: Any) -> int:
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


class Examples(torch.utils.data.Dataset[Any]):
    """Examples as torch wants them."""

    def __init__(self, examples: Sequence[Any]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> Any:
        return self._examples[index]


class _TrainerWatch(TrainerCallback):
    """Tells progress, and stops a run whose loss is no longer a number, or that was asked to stop."""

    def __init__(self, run: TrainingRun) -> None:
        self._run = run
        self.first_step = 0
        self.bad_step: int | None = None
        self.is_stopped = False

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.first_step = state.global_step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        # The last step ends the run by itself, and what it leaves is more than a checkpoint.
        if state.global_step < state.max_steps and self._run.should_stop is not None and self._run.should_stop():
            self.is_stopped = control.should_save = control.should_training_stop = True

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        write_digests(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if not logs or "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            self.bad_step = state.global_step
            control.should_training_stop = True
            return
        if self._run.progress is not None:
            step = Step(state.global_step, state.max_steps, logs.get("epoch", 0.0), logs["loss"], logs.get(_ACCURACY))
            self._run.progress(step)


def fit(
    examples: Sequence[EncodedExample],
    dev_examples: Sequence[EncodedExample],
    run: TrainingRun,
    *,
    recipe: TrainingRecipe,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, Any]:
    """Trains; saves model or adapter, and tokenizer, to the run's folder. Returns figures, and the Trainer's `log`."""
    device = training_device(run.device)
    model = adapted(load_trainable(run, recipe, device=device), recipe, seed=run.seed)
    settings = TrainingArguments(
        **arguments(run, recipe, device=device, n_examples=len(examples), has_dev=bool(dev_examples)),
        label_names=["labels"],
    )
    trainer = Trainer(
        model=model,
        args=on_one_gpu(settings),
        data_collator=functools.partial(
            collate, filler=filler(tokenizer), only_replies=recipe.method != "prompt" and takes_logits_to_keep(model)
        ),
        train_dataset=Examples(examples),
        eval_dataset=Examples(dev_examples) if dev_examples else None,
    )
    tokens = sum(len(e.ids) for e in examples)
    figures = train(trainer, run, recipe, device=device, tokens_per_epoch=tokens)
    save(model, tokenizer, run.folder)
    return figures
