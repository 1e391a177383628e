"""Supervised fine-tuning: transformers' Trainer on prompts and replies, with the loss on the replies alone.

Importing this module loads torch and transformers.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from transformers import Trainer, TrainingArguments

from eirene.models.training.adapters import adapted, load_trainable
from eirene.models.training.examples import Encoded, collate, filler
from eirene.models.training.folder import Run
from eirene.models.training.recipe import TrainingRecipe
from eirene.models.training.trainer import Examples, arguments, on_one_gpu, save, train, training_device

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def fit(
    examples: Sequence[Encoded],
    dev_examples: Sequence[Encoded],
    run: Run,
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
        data_collator=functools.partial(collate, filler=filler(tokenizer)),
        train_dataset=Examples(examples),
        eval_dataset=Examples(dev_examples) if dev_examples else None,
    )
    tokens = sum(len(e.ids) for e in examples)
    figures = train(trainer, run, recipe, device=device, tokens_per_epoch=tokens)
    save(model, tokenizer, run.folder)
    return figures
