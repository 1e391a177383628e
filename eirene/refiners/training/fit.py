"""Fits a refiner by DPO with TRL's trainer. Importing this loads torch and TRL."""

from __future__ import annotations

import contextlib
import copy
import functools
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from datasets import Dataset
from trl.trainer.dpo_config import DPOConfig
from trl.trainer.dpo_trainer import DPOTrainer

from eirene.models.local.loading import load_base, quiet_peft
from eirene.models.training.adapters import load_trainable, lora_config
from eirene.models.training.examples import filler
from eirene.models.training.folder import TrainingRun
from eirene.models.training.trainer import arguments, on_one_gpu, save, train, training_device
from eirene.refiners.training.examples import EncodedPair, RefinerRecipe, collate_pairs, columns
from eirene.refiners.training.measure import RankedPair, rank

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Trainer(DPOTrainer):
    """TRL's trainer on pairs that are tokens already. It writes no card of its own and sends nothing to anyone."""

    def _prepare_dataset(self, dataset: Dataset, *_: Any, **__: Any) -> Dataset:
        return dataset

    def _send_telemetry(self) -> None:
        pass

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Does nothing: ours is written at the end."""


def fit(
    pairs: Sequence[EncodedPair],
    held: Sequence[EncodedPair],
    run: TrainingRun,
    *,
    recipe: RefinerRecipe,
    tokenizer: PreTrainedTokenizerBase,
) -> tuple[dict[str, Any], list[RankedPair]]:
    """Trains; saves model or adapter, and tokenizer, to the run's folder.

    Returns figures, with the Trainer's `log`, and how the held-out pairs are ranked after it and before.
    """
    device = training_device(run.device)
    with quiet_trl():
        trainer = make_trainer(pairs, held, run, recipe=recipe, tokenizer=tokenizer, device=device)
        tokens = sum(pair.tokens for pair in pairs)
        figures = train(trainer, run, recipe, device=device, tokens_per_epoch=tokens)
        save(trainer.model, tokenizer, run.folder)
        rows = rank(
            trainer.model,
            held,
            at_once=1,  # whole logits, which TRL's loss does without: what fits a training need not fit here
            filler=filler(tokenizer),
            reference=trainer.ref_model,
            context=trainer.accelerator.autocast(),
        )
    return figures, rows


def make_trainer(
    pairs: Sequence[EncodedPair],
    held: Sequence[EncodedPair],
    run: TrainingRun,
    *,
    recipe: RefinerRecipe,
    tokenizer: PreTrainedTokenizerBase,
    device: str,
) -> Trainer:
    """The trainer before its first step. Under LoRA the reference is the model with the adapter off: no second copy."""
    is_lora = recipe.method == "lora"
    settings = DPOConfig(
        **arguments(run, recipe, device=device, n_examples=len(pairs), has_dev=bool(held)),
        beta=recipe.beta,
        max_length=None,  # what is too long has been left out; nothing is cut
        label_names=["completion_mask"],
    )
    model = load_trainable(run, recipe, device=device)
    with quiet_peft():
        return Trainer(
            model=model,
            ref_model=None if is_lora else load_base(run.base, device=device, dtype="float32"),
            args=on_one_gpu(settings),
            data_collator=functools.partial(collate_pairs, filler=filler(tokenizer)),
            train_dataset=Dataset.from_list([columns(pair) for pair in pairs]),
            eval_dataset=Dataset.from_list([columns(pair) for pair in held]) if held else None,
            processing_class=copy.deepcopy(tokenizer),  # TRL gives it a padding token, which ours is not to keep
            peft_config=lora_config(recipe) if is_lora else None,
        )


@contextlib.contextmanager
def quiet_trl() -> Iterator[None]:
    """Passes over a warning that TRL cannot help: it asks newer transformers by older names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"`\w*gradient_checkpointing\w*` is deprecated")
        yield
