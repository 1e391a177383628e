"""Supervised fine-tuning (SFT) on replies: from prompts and replies to a model that carries its prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eirene.core.logs import get_logger
from eirene.data.line_checksum import sealed_value
from eirene.models.local.layout import encode_chat, encode_text
from eirene.models.local.spec import PROMPT_FILE
from eirene.prompts import Message
from recipes.train.run import (
    POINTS,
    EncodedExample,
    Trained,
    TrainingRun,
    check_lengths,
    curve,
    encode_example,
    finish_run,
    finished_run,
    logged,
    write_json,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt, as plain text or as the messages of a chat, and the reply to it."""

    prompt: str | tuple[Message, ...]
    reply: str

    def encoded(self, tokenizer: PreTrainedTokenizerBase) -> EncodedExample:
        """The tokens of both."""
        prompt = self.prompt
        ids = encode_text(tokenizer, prompt) if isinstance(prompt, str) else encode_chat(tokenizer, prompt)
        return encode_example(tokenizer, ids, self.reply)


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """What a model is trained as: the prompts and replies, and what it carries in `eirene_prompt.json`.

    `facts` are what the card says of the data. `measure`, if there is one, gives further figures of the finished model,
    which is on disk by then.
    """

    title: str
    carried: Mapping[str, Any]
    facts: Mapping[str, Any]
    exchanges: Sequence[Exchange]
    dev: Sequence[Exchange] = ()
    measure: Callable[[], dict[str, Any]] | None = None


def train_replies(run: TrainingRun, order: dict[str, Any], make: Callable[[], TrainingTask]) -> Trained:
    """Trains on the replies of the task that `make` gives; returns at once where the folder holds the finished run.

    Longer examples are left out and counted. Raises as `finished_run` and `fit.train` do.
    """
    done = finished_run(run, order)
    if done is not None:
        return done
    task = make()
    from eirene.models.local.loading import load_tokenizer
    from recipes.train.fit import fit_replies

    tokenizer = load_tokenizer(run.base)

    def fitting(exchanges: Sequence[Exchange], what: str) -> list[EncodedExample]:
        examples = [e.encoded(tokenizer) for e in exchanges]
        most = run.recipe.max_tokens
        fits = check_lengths([len(e.ids) for e in examples], most, what=what)
        if not all(fits):
            logger.warning(
                "%d of %d %s are longer than %d tokens and left out", fits.count(False), len(fits), what, most
            )
        return [e for e, ok in zip(examples, fits, strict=True) if ok]

    examples = fitting(task.exchanges, "examples")
    figures = fit_replies(examples, fitting(task.dev, "dev examples"), run, tokenizer=tokenizer)
    log = figures.pop("log")
    write_json(run.folder / PROMPT_FILE, sealed_value(task.carried))
    curves = {"train_loss": curve(logged(log, "loss")), "dev_loss": logged(log, "eval_loss")[-POINTS:]}
    measured = {} if task.measure is None else task.measure()
    data = {**task.facts, "left_out": len(task.exchanges) - len(examples)}
    return finish_run(run, order, task.title, data, task=task.carried, figures={**curves, **measured, **figures})
