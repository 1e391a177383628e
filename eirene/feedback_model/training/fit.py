"""The run itself: transformers' Trainer around our examples, with checkpoints that a cut-off run goes on from."""

from __future__ import annotations

import functools
import math
import shutil
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from eirene.errors import InputError
from eirene.feedback_model.training.examples import Encoded, collate
from eirene.feedback_model.training.recipe import Progress, Recipe, Step
from eirene.models.local_loading import choose_device, load_base, no_progress_bar, quiet_peft

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_CHECKPOINTS = "checkpoints"
_PACKAGES = ("torch", "transformers", "peft", "accelerate")


def fit(
    examples: Sequence[Encoded],
    dev_examples: Sequence[Encoded],
    folder: Path,
    *,
    base: str,
    tokenizer: PreTrainedTokenizerBase,
    recipe: Recipe,
    seed: int,
    device: str | None,
    progress: Progress | None,
) -> dict[str, Any]:
    """Trains; saves model or adapter, and tokenizer, to `folder`. Returns figures, and the Trainer's log as `log`."""
    device = choose_device(device)
    model = _model(base, device, recipe, seed)
    watch = _Watch(progress)
    trainer = Trainer(
        model=model,
        args=_arguments(folder / _CHECKPOINTS, recipe, device, seed, has_dev=bool(dev_examples)),
        data_collator=functools.partial(collate, filler=_filler(tokenizer)),
        train_dataset=_Examples(examples),
        eval_dataset=_Examples(dev_examples) if dev_examples else None,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)  # it prints
    checkpoint = last_checkpoint(folder / _CHECKPOINTS)
    started = time.perf_counter()
    with no_progress_bar():
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    seconds = time.perf_counter() - started
    if watch.bad_step is not None:
        raise InputError(
            f"the loss at step {watch.bad_step} is not a number; lower the learning rate ({recipe.rate:g})",
            field="learning_rate",
        )
    with no_progress_bar():
        model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    steps = trainer.state.global_step
    share = (steps - watch.first_step) / steps if steps else 0.0
    tokens = round(recipe.epochs * sum(len(e.ids) for e in examples) * share)
    return {
        "log": trainer.state.log_history,
        "steps": steps,
        "device": _device_name(device),
        "trained_weights": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "seconds": round(seconds, 1),
        "tokens": tokens,
        "tokens_per_second": round(tokens / seconds, 1),
        "resumed_at_step": watch.first_step or None,
        "peak_memory_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2) if device.startswith("cuda") else None,
    }


def versions() -> dict[str, str]:
    """What the run was made with."""
    from eirene import __version__

    return {"eirene": __version__, **{name: version(name) for name in _PACKAGES}}


def drop_checkpoints(folder: Path) -> None:
    """Removes a finished run's checkpoints: each is several times as large as the model."""
    shutil.rmtree(folder / _CHECKPOINTS, ignore_errors=True)


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole. The Trainer writes its state last: without it a checkpoint was cut off."""
    found = [p for p in folder.glob("checkpoint-*") if (p / "trainer_state.json").is_file()]
    return max(found, key=lambda p: int(p.name.rpartition("-")[2]), default=None)


def _model(base: str, device: str, recipe: Recipe, seed: int) -> PreTrainedModel:
    from peft import LoraConfig, TaskType, get_peft_model

    dtype = recipe.dtype if recipe.method == "lora" else "float32"
    model = load_base(base, device=device, dtype=dtype)
    if recipe.gradient_checkpointing:
        _checkpoint_activations(model)
    if recipe.method == "full":
        return model
    config = LoraConfig(
        task_type=TaskType.CAUSAL_LM,
        r=recipe.lora_rank,
        lora_alpha=recipe.lora_alpha,
        lora_dropout=recipe.lora_dropout,
        target_modules="all-linear",
    )
    torch.manual_seed(seed)  # the adapter's first values
    with quiet_peft():
        adapted: Any = get_peft_model(model, config)
    return adapted  # type: ignore[no-any-return]  # it stands in for the model it wraps


def _checkpoint_activations(model: PreTrainedModel) -> None:
    """Saves memory for time. The method's name changed in transformers 5."""
    newer = getattr(model, "activation_checkpointing_enable", None)
    enable: Any = newer or model.gradient_checkpointing_enable
    enable()
    # Frozen embeddings would give the layers behind them nothing to derive by.
    cast(Any, model).enable_input_require_grads()


def _arguments(folder: Path, recipe: Recipe, device: str, seed: int, *, has_dev: bool) -> TrainingArguments:
    on_gpu = device.startswith("cuda")
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=recipe.epochs,
        per_device_train_batch_size=recipe.at_once,
        per_device_eval_batch_size=recipe.at_once,
        gradient_accumulation_steps=recipe.batch_size // recipe.at_once,
        learning_rate=recipe.rate,
        lr_scheduler_type="linear",
        warmup_steps=recipe.warmup_steps,
        weight_decay=recipe.weight_decay,
        bf16=on_gpu and torch.cuda.is_bf16_supported(),
        use_cpu=device == "cpu",
        seed=seed % 2**32,  # NumPy's old generator takes no more
        data_seed=seed % 2**32,
        logging_strategy="steps",
        logging_steps=1,
        logging_nan_inf_filter=False,
        eval_strategy="epoch" if has_dev else "no",
        save_strategy="epoch" if recipe.checkpoint_steps is None else "steps",
        save_steps=recipe.checkpoint_steps or 500,
        save_total_limit=2,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=on_gpu,
        label_names=["labels"],
    )


class _Examples(torch.utils.data.Dataset[Encoded]):
    """The examples as torch wants them."""

    def __init__(self, examples: Sequence[Encoded]) -> None:
        self._examples = examples

    def __len__(self) -> int:
        return len(self._examples)

    def __getitem__(self, index: int) -> Encoded:
        return self._examples[index]


class _Watch(TrainerCallback):
    """Tells progress, and stops a run whose loss is no longer a number."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self.first_step = 0
        self.bad_step: int | None = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.first_step = state.global_step

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        if not logs or "loss" not in logs:
            return
        if not math.isfinite(logs["loss"]):
            self.bad_step = state.global_step
            control.should_training_stop = True
            return
        if self._progress is not None:
            self._progress(Step(state.global_step, state.max_steps, logs.get("epoch", 0.0), logs["loss"]))


def _filler(tokenizer: PreTrainedTokenizerBase) -> int:
    """Any token will do: the attention mask hides it, and it has no label."""
    for value in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if isinstance(value, int):
            return value
    return 0


def _device_name(device: str) -> str:
    return torch.cuda.get_device_name() if device.startswith("cuda") else device
