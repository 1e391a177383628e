"""Fine-tunes a model on pairs of prompt and reply, and leaves it with the prompt that it was trained in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from eirene.core.logs import get_logger
from eirene.data.line_checksum import sealed_value
from eirene.models.local.layout import encode_chat, encode_text
from eirene.models.local.spec import PROMPT_FILE
from eirene.models.training.examples import EncodedExample, check_lengths, encode_example
from eirene.models.training.folder import Trained, TrainingRun, finish_run
from eirene.models.training.recipe import TrainingRecipe, logged, markdown, versions, write_json
from eirene.prompts import Message

logger = get_logger(__name__)

_POINTS = 20


@dataclass(frozen=True, slots=True)
class Exchange:
    """A prompt, as plain text or as the messages of a chat, and the reply to it."""

    prompt: str | tuple[Message, ...]
    reply: str


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """What a model is trained as: what it carries in `eirene_prompt.json`, and how its card speaks of it.

    `data` are the card's facts of the data, `lines` the same for people. `measure`, if there is one, gives further
    figures of the finished model, which is on disk by then.
    """

    title: str
    carried: Mapping[str, Any]
    data: Mapping[str, Any]
    lines: Sequence[str]
    measure: Callable[[], dict[str, Any]] | None = None


def train_replies(
    exchanges: Sequence[Exchange],
    dev: Sequence[Exchange],
    run: TrainingRun,
    *,
    recipe: TrainingRecipe,
    order: dict[str, Any],
    task: TrainingTask,
) -> Trained:
    """Trains on the replies alone; longer examples are left out and counted. Raises as `fit` does."""
    from eirene.models.local.checkpoint import load_tokenizer
    from eirene.models.training.trainer import fit

    tokenizer = load_tokenizer(run.base)

    def prompt_ids(e: Exchange) -> list[int]:
        return encode_text(tokenizer, e.prompt) if isinstance(e.prompt, str) else encode_chat(tokenizer, e.prompt)

    def encoded(some: Iterable[Exchange]) -> list[EncodedExample]:
        return [encode_example(tokenizer, prompt_ids(e), e.reply) for e in some]

    examples = _fitting(encoded(exchanges), recipe.max_tokens, "examples")
    figures = fit(
        examples, _fitting(encoded(dev), recipe.max_tokens, "dev examples"), run, recipe=recipe, tokenizer=tokenizer
    )
    log = figures.pop("log")
    write_json(run.folder / PROMPT_FILE, sealed_value(dict(task.carried)))
    measured = {} if task.measure is None else task.measure()
    losses = {"train_loss": _curve(logged(log, "loss")), "dev_loss": logged(log, "eval_loss")[-_POINTS:]}
    card = {
        "run": order,
        "data": {**task.data, "left_out": len(exchanges) - len(examples)},
        "task": dict(task.carried),
        "figures": {**losses, **measured, **figures},
        "versions": versions(),
    }
    left_out = f"{len(exchanges) - len(examples)} longer examples left out"
    return finish_run(run, card, markdown(card, title=task.title, data=[*task.lines, left_out]))


def _fitting(examples: Sequence[EncodedExample], max_tokens: int, what: str) -> list[EncodedExample]:
    fits = check_lengths([len(e.ids) for e in examples], max_tokens, what=what)
    if not all(fits):
        logger.warning(
            "%d of %d %s are longer than %d tokens and left out", fits.count(False), len(fits), what, max_tokens
        )
    return [e for e, ok in zip(examples, fits, strict=True) if ok]


def _curve(losses: Sequence[float]) -> list[float]:
    """The mean of at most 20 equal stretches of a run, however long it was."""
    n = min(_POINTS, len(losses))
    cuts = [round(k * len(losses) / n) for k in range(n + 1)] if n else []
    return [round(sum(losses[a:b]) / (b - a), 4) for a, b in pairwise(cuts)]
