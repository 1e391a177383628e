"""Fine-tunes a causal language model by TRL: on replies (SFTTrainer), or on preference pairs (DPOTrainer).

TRL and transformers train, resume, and save; here are the arguments, the adapter, progress and figures. Importing this
module loads torch and TRL.
"""

from __future__ import annotations

import contextlib
import copy
import json
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from datasets import Dataset
from peft import LoraConfig, PeftConfig, PromptTuningConfig, TaskType
from transformers import PrinterCallback, TrainerCallback
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from eirene.core.errors import InputError
from eirene.core.signature import rng_for
from eirene.models.local.loading import choose_device, load_base, no_progress_bar, quiet_peft
from recipes.train.recipe import RefinerRecipe, TrainingRecipe
from recipes.train.run import (
    CHECKPOINTS,
    EncodedExample,
    Step,
    TrainingRun,
    TrainingStoppedError,
    check_keep,
    last_checkpoint,
    write_json,
)

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_ACCURACY = "rewards/accuracies"  # under what TRL logs it
_IGNORED = -100  # the label of a token that has no part in the loss
_COMMON = 5000


class _Silent:
    """TRL's trainers without what they tell TRL's makers, and without a card of theirs in each checkpoint."""

    def _send_telemetry(self) -> None:
        pass

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Does nothing: ours is written at the end."""


class _ReplyTrainer(_Silent, SFTTrainer):
    pass


class PairTrainer(_Silent, DPOTrainer):
    """TRL's trainer on pairs that are tokens already."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any, **__: Any) -> Dataset:
        return dataset


def fit_replies(
    examples: Sequence[EncodedExample],
    dev: Sequence[EncodedExample],
    run: TrainingRun,
    *,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, Any]:
    """Trains on the replies alone and saves model or adapter, and tokenizer. Returns what `train` returns."""

    def rows(some: Sequence[EncodedExample]) -> Dataset | None:
        return Dataset.from_list(
            [{"input_ids": e.ids, "labels": [_IGNORED] * e.n_prompt + list(e.ids[e.n_prompt :])} for e in some]
        ) if some else None  # fmt: skip

    with quiet_trl():
        settings = SFTConfig(**_arguments(run, n_examples=len(examples), has_dev=bool(dev)),
                             dataset_kwargs={"skip_prepare_dataset": True})  # fmt: skip
        trainer = _ReplyTrainer(
            model=_load(run), args=_on_one_gpu(settings), train_dataset=rows(examples), eval_dataset=rows(dev),
            processing_class=copy.deepcopy(tokenizer),  # TRL gives it a padding token, which ours is not to keep
            peft_config=_adapter(run.recipe),
        )  # fmt: skip
        if run.recipe.method == "prompt":
            _begin_with_words(trainer.model, seed=run.seed)
        figures = train(trainer, run)
        save(trainer.model, tokenizer, run.folder)
    return figures


def pair_trainer(
    pairs: Sequence[dict[str, list[int]]],
    held: Sequence[dict[str, list[int]]],
    run: TrainingRun,
    recipe: RefinerRecipe,
    *,
    tokenizer: PreTrainedTokenizerBase,
) -> PairTrainer:
    """DPO before its first step, on `prompt_ids`, `chosen_ids` and `rejected_ids`.

    Under LoRA the reference is the model with the adapter off: no second copy.
    """
    arguments = _arguments(run, n_examples=len(pairs), has_dev=bool(held))
    arguments["per_device_eval_batch_size"] = 1  # TRL's figures are means over batches, and these are to be of pairs
    settings = DPOConfig(**arguments, beta=recipe.beta)
    reference = None if recipe.method == "lora" else load_base(run.base, device=device_of(run), dtype="float32")
    return PairTrainer(
        model=_load(run), ref_model=reference, args=_on_one_gpu(settings), train_dataset=Dataset.from_list(list(pairs)),
        eval_dataset=Dataset.from_list(list(held)) if held else None, processing_class=copy.deepcopy(tokenizer),
        peft_config=_adapter(recipe),
    )  # fmt: skip


def train(trainer: Any, run: TrainingRun) -> dict[str, Any]:
    """Trains, from the folder's last whole checkpoint on, and returns figures, with the Trainer's log as `log`.

    Raises `InputError` for a loss that is no number and for a batch that does not fit the memory,
    `TrainingStoppedError` where the run was asked to stop.
    """
    watch, device, checkpoint = _TrainerWatch(run), device_of(run), last_checkpoint(run)
    trainer.add_callback(watch)
    trainer.remove_callback(PrinterCallback)  # it prints
    try:
        with no_progress_bar():
            done = trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"out of memory with {run.recipe.at_once} examples at once; lower micro_batch, set gradient_checkpointing, "
            f"or under an adapter a narrower dtype ({str(error).strip().partition(chr(10))[0][:200]})",
            field="micro_batch",
        ) from error
    steps, log = trainer.state.global_step, trainer.state.log_history
    if watch.bad_step is not None:
        raise InputError(
            f"the loss at step {watch.bad_step} is not a number; lower the learning rate ({run.recipe.rate:g})",
            field="learning_rate",
        )
    if watch.is_stopped:
        raise TrainingStoppedError(
            f"stopped at step {steps} of {trainer.state.max_steps}, which is on disk; the same command goes on there"
        )
    seconds = done.metrics["train_runtime"]
    new = [entry["num_tokens"] for entry in log if entry["step"] > watch.first_step and "num_tokens" in entry]
    tokens = int(max(new, default=0))
    on_gpu = device.startswith("cuda")
    return {
        "log": log,
        "steps": steps,
        "device": torch.cuda.get_device_name() if on_gpu else device,
        "precision": "bf16" if trainer.args.bf16 else "fp32",
        "trained_weights": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
        "seconds": round(seconds, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds, 1),
        "resumed_at_step": watch.first_step or None,
        "kept_step": trainer.state.best_global_step if run.recipe.keep == "best" else None,
        "peak_memory_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if on_gpu else None,
    }


def device_of(run: TrainingRun) -> str:
    """The device to train on: a GPU if there is one. Raises `InputError` for what the Trainer does not heed."""
    device = choose_device(run.device)
    if device == "auto" or (device.startswith("cuda:") and device != "cuda:0"):
        raise InputError(
            "training runs on one device, of several GPUs on the first that is visible: choose it by "
            f"CUDA_VISIBLE_DEVICES and give cuda, got {device!r}",
            field="device",
        )
    return device


def _arguments(run: TrainingRun, *, n_examples: int, has_dev: bool) -> dict[str, Any]:
    """What TRL's configurations are given; nothing is reported to anyone."""
    recipe, device = run.recipe, device_of(run)
    can_bf16 = device.startswith("cuda") and torch.cuda.is_bf16_supported()
    check_keep(recipe, has_dev=has_dev)
    saved = "epoch" if recipe.checkpoint_steps is None else "steps"
    keeps_best = recipe.keep == "best"  # every checkpoint is then measured, and the best is loaded at the end
    return {
        "output_dir": str(run.folder / CHECKPOINTS),
        "num_train_epochs": recipe.epochs,
        "max_steps": -1 if recipe.max_steps is None else recipe.max_steps,
        "per_device_train_batch_size": recipe.at_once,
        "per_device_eval_batch_size": recipe.at_once,
        "gradient_accumulation_steps": recipe.batch_size // recipe.at_once,
        "learning_rate": recipe.rate,
        "lr_scheduler_type": recipe.schedule,
        "warmup_steps": warmup_steps(recipe, n_examples),
        "max_length": None,  # what is too long has been left out; nothing is cut
        "bf16": can_bf16 if recipe.precision is None else recipe.precision == "bf16",
        "gradient_checkpointing": recipe.gradient_checkpointing,
        "use_cpu": device == "cpu",
        "seed": run.seed % 2**32,  # NumPy's old generator takes no more
        "data_seed": run.seed % 2**32,
        "logging_steps": 1,
        "logging_nan_inf_filter": False,
        "eval_strategy": "no" if not has_dev else saved if keeps_best else "epoch",
        "eval_steps": recipe.checkpoint_steps,
        "load_best_model_at_end": keeps_best,
        "metric_for_best_model": "eval_loss" if keeps_best else None,
        "greater_is_better": False if keeps_best else None,
        "save_strategy": saved,
        "save_steps": recipe.checkpoint_steps or 500,
        "save_total_limit": 2,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": device.startswith("cuda"),
    }


def warmup_steps(recipe: TrainingRecipe, n_examples: int) -> int:
    """Steps over which the learning rate rises; a share of all optimiser steps is rounded up."""
    if recipe.warmup >= 1:
        return int(recipe.warmup)
    an_epoch = math.ceil(math.ceil(n_examples / recipe.at_once) / (recipe.batch_size // recipe.at_once))
    return math.ceil(recipe.warmup * (recipe.epochs * an_epoch if recipe.max_steps is None else recipe.max_steps))


def _on_one_gpu(settings: Any) -> Any:
    """The same arguments; the Trainer would spread a batch over all visible GPUs, and compute something else."""
    if settings.device.type == "cuda":
        settings._n_gpu = 1
    return settings


def _load(run: TrainingRun) -> PreTrainedModel:
    """The base model: in float32, or under an adapter in the recipe's dtype.

    Raises `InputError` where the adapter is meant for layers that the model does not have: peft wants one of them.
    """
    recipe = run.recipe
    model = load_base(run.base, device=device_of(run), dtype="float32" if recipe.method == "full" else recipe.dtype)
    if recipe.method == "lora" and recipe.lora_targets != "all-linear":
        found = {name.rpartition(".")[2] for name, part in model.named_modules() if not list(part.children())}
        missing = [name for name in _targets(recipe) if name.rpartition(".")[2] not in found]
        if missing:
            raise InputError(
                f"the model has no layer {', '.join(missing)}; its layers: {', '.join(sorted(found))}; name some of "
                "them, or all-linear",
                field="lora_targets",
            )
    return model


def _targets(recipe: TrainingRecipe) -> list[str]:
    return [name.strip() for name in recipe.lora_targets.split(",")]


def _adapter(recipe: TrainingRecipe) -> PeftConfig | None:
    """The recipe's adapter, None where all weights are trained."""
    if recipe.method == "full":
        return None
    if recipe.method == "prompt":
        tokens: int = getattr(recipe, "virtual_tokens")  # noqa: B009  # of the recipes with this method
        return PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=tokens)
    return LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=recipe.lora_rank,
        lora_alpha=2 * recipe.lora_rank if recipe.lora_alpha is None else recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules="all-linear" if recipe.lora_targets == "all-linear" else _targets(recipe),
    )


def _begin_with_words(tuned: Any, *, seed: int) -> None:
    """Makes the virtual tokens copies of common tokens, drawn with the seed.

    The NPOV paper (appendix B, after Lester et al. 2021) draws from the 5,000 most frequent ones. Vocabularies are
    built from the frequent to the rare, so that a token's number stands for its rank.
    """
    (encoder,) = tuned.prompt_encoder.values()
    words = tuned.get_base_model().get_input_embeddings().weight.detach()
    drawn = rng_for(seed, "virtual tokens").choice(min(_COMMON, len(words)), size=len(encoder.embedding.weight))
    with torch.no_grad():
        encoder.embedding.weight.copy_(words[torch.as_tensor(drawn, device=words.device)])


def save(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Writes the model or the adapter, and the tokenizer."""
    with no_progress_bar():
        model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    config = folder / "adapter_config.json"
    if config.is_file():
        value = json.loads(config.read_text(encoding="utf-8"))
        if isinstance(value.get("target_modules"), list):
            value["target_modules"].sort()  # peft writes a set in whatever order it has: no two runs the same
        write_json(config, value)


@contextlib.contextmanager
def quiet_trl() -> Iterator[None]:
    """Passes over what TRL, peft and the Trainer say of their own doings: old names, checkpoints a second apart."""
    logs = [logging.getLogger(f"transformers.{name}") for name in ("trainer_utils", "trainer")]
    levels = [log.level for log in logs]
    for log in logs:  # the second names tied weights, which stand in a checkpoint once, as missing
        log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), quiet_peft():
            warnings.filterwarnings("ignore", message=r"`\w*gradient_checkpointing\w*` is deprecated")
            yield
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.setLevel(level)


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

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if not logs or "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            self.bad_step = state.global_step
            control.should_training_stop = True
        elif self._run.progress is not None:
            step = Step(state.global_step, state.max_steps, logs.get("epoch", 0.0), logs["loss"], logs.get(_ACCURACY))
            self._run.progress(step)
