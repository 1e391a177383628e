"""Trains response generators in the curly-braces form (`eirene train generator`). Importing this loads no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, parse_item
from eirene.core.validation import validated
from eirene.data import Dataset, RowSource, Shape, opened
from eirene.data.json_rows import Row
from eirene.models.training.folder import (
    Trained,
    file_facts,
    finished_run,
    run_order,
    start_run,
)
from eirene.models.training.recipe import Method, Progress, TrainingRecipe
from eirene.models.training.replies import Exchange, TrainingTask, train_replies
from eirene.npov.chat_writer import GENERATOR
from eirene.prompts.curly import curly_reply, response_prompt

logger = get_logger(__name__)

CARRIED = {"kind": GENERATOR, "prompt": "curly-1", "layout": "instruct"}
_NO_SIDES = "nothing to write from"
_FAULTY = "known to have an error"
_OTHER_TASK = "a pair for another task"
_PAIR = frozenset({"prompt", "reply"})


@dataclass(frozen=True, slots=True)
class GeneratorRecipe(TrainingRecipe):
    """Everything that decides a run besides data, base model and seed.

    Chang et al. 2024, section 2.1 and appendix B: prompt tuning with 5 virtual tokens that begin as common words,
    learning rate 0.1, 500 warm-up steps, linear decay, batch 16, at most 20,000 steps, on 80 responses. `learning_rate`
    None is the paper's, or the usual one for LoRA and for the whole model.
    """

    RATES: ClassVar[Mapping[Method, float]] = {"prompt": 0.1, "lora": 2e-4, "full": 2e-5}

    method: Method = "prompt"
    batch_size: int = 16
    max_steps: int | None = 20_000
    warmup: float = 500


class _PromptReply(BaseModel):
    """A prompt and its reply in the curly-braces form, as `eirene synth npov --format curly` writes them."""

    model_config = ConfigDict(extra="ignore", strict=True)

    prompt: Annotated[str, Field(min_length=1)]
    reply: Annotated[str, Field(min_length=1)]
    task: str = "generate"


def train_generator(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: GeneratorRecipe | None = None,
    dev: str | RowSource | None = None,
    shape: Shape | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Tunes the causal language model `base` to write responses; `eirene npov --backend hf:OUT` then uses it.

    `data` and `dev`, named or opened, hold rows with perspectives (in other columns, as `shape` says), whose answers
    are the responses (rows whose labels name an error are left out, and so are rows without perspectives), or prompts
    and replies in the curly-braces form. The same call goes on where an interrupted one stopped, and returns at once
    when the run is finished. Raises `InputError` for data that cannot be read or holds nothing to learn from, a folder
    that holds another run, and a loss that is no longer a number.
    """
    run = start_run(base, out, seed=seed, device=device, progress=progress, should_stop=should_stop)
    recipe = GeneratorRecipe() if recipe is None else recipe
    source, dev_source = opened(data), None if dev is None else opened(dev)
    exchanges, left_out = read_exchanges(source, shape)
    held = [] if dev_source is None else read_exchanges(dev_source, shape)[0]
    order = run_order(run, recipe, source, dev=dev_source, shape=shape)
    done = finished_run(run, order)
    if done is not None:
        return done
    facts: dict[str, Any] = {
        **file_facts(source),
        "responses": len(exchanges),
        "rows_left_out": left_out,
        "dev_responses": len(held),
    }
    lines = [
        f"`{facts['file']}`, SHA-256 `{facts['sha256']}`",
        f"{len(exchanges)} responses" + "".join(f", {n} rows {why} left out" for why, n in left_out.items()),
    ]
    task = TrainingTask("A generator of responses for Eirene", CARRIED, facts, lines)
    return train_replies(exchanges, held, run, recipe=recipe, order=order, task=task)


def read_exchanges(data: str | RowSource, shape: Shape | None = None) -> tuple[list[Exchange], dict[str, int]]:
    """The prompts and replies of a source, and why others of its rows are left out: reason -> number.

    Rows are pairs of prompt and reply, told by their keys or a table's columns, or items, which `shape` may make of
    other columns.
    """
    source = opened(data)
    exchanges: list[Exchange] = []
    left_out: dict[str, int] = {}
    for found in _exchanges(source, Shape() if shape is None else shape):
        if isinstance(found, str):
            left_out[found] = left_out.get(found, 0) + 1
        else:
            exchanges.append(found)
    if not exchanges:
        causes = ", ".join(f"{n} rows {why}" for why, n in left_out.items())
        raise InputError(f"holds no response to learn from ({causes})", where=source.name)
    return exchanges, left_out


def _exchanges(source: RowSource, shape: Shape) -> Iterator[Exchange | str]:
    there = source.columns()
    if shape.columns or (there is not None and not set(there) >= _PAIR):
        yield from (_of_item(item) for item in Dataset(source, shape).items())
        return
    for row in source.rows():
        is_pair = isinstance(row.data, dict) and set(row.data) >= _PAIR
        yield _of_pair(row) if is_pair else _of_item(parse_item(row.data, where=row.where))


def _of_pair(row: Row) -> Exchange | str:
    pair = validated(_PromptReply, row.data, where=row.where)
    return Exchange(pair.prompt, pair.reply) if pair.task == "generate" else _OTHER_TASK


def _of_item(item: Item) -> Exchange | str:
    if item.perspectives is None:
        return _NO_SIDES
    labels = item.meta.get("labels")
    if item.meta.get("group") and item.meta.get("kind", "none") != "none":  # of `eirene synth npov`
        return _FAULTY
    if isinstance(labels, dict) and any(labels.get(key) for key in ("hallucination", "coverage", "missing", "spans")):
        return _FAULTY
    arguments = [(p.name, argument) for p in item.perspectives for argument in p.arguments]
    return Exchange(response_prompt(item.question, arguments).text, curly_reply(item.answer))
