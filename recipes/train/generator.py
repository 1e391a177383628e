"""Trains response generators in the curly-braces form (`python -m recipes.train generator`); loads no torch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Unpack

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data import Dataset, RowSource, Shape, opened
from eirene.npov.writers import GENERATOR
from eirene.prompts.curly import curly_reply, response_prompt
from recipes.train.recipe import PromptTuningRecipe
from recipes.train.replies import Exchange, TrainingTask, train_replies
from recipes.train.run import RunOptions, Trained, file_facts, run_order, start_run

CARRIED = {"kind": GENERATOR, "prompt": "curly-1", "layout": "instruct"}
_NO_SIDES = "nothing to write from"
_FAULTY = "known to have an error"


def train_generator(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: PromptTuningRecipe | None = None,
    dev: str | RowSource | None = None,
    shape: Shape | None = None,
    **options: Unpack[RunOptions],
) -> Trained:
    """Tunes the causal language model `base` to write responses; `eirene npov --backend hf:OUT` then uses it.

    `data` and `dev`, named or opened, hold rows with perspectives (in other columns, as `shape` says), whose answers
    are the responses (rows whose labels name an error are left out, and so are rows without perspectives). The same
    call goes on where an interrupted one stopped, and returns at once
    when the run is finished. Raises `InputError` for data that cannot be read or holds nothing to learn from, a folder
    that holds another run, and a loss that is no longer a number.
    """
    run = start_run(base, out, PromptTuningRecipe() if recipe is None else recipe, **options)
    source, dev_source = opened(data), None if dev is None else opened(dev)
    exchanges, left_out = read_exchanges(source, shape)
    held = [] if dev_source is None else read_exchanges(dev_source, shape)[0]
    order = run_order(run, source, dev=dev_source, shape=shape)
    counts = {"responses": len(exchanges), "rows_left_out": left_out, "dev_responses": len(held)}
    facts = {**file_facts(source), **counts}
    return train_replies(
        run, order, lambda: TrainingTask("A generator of responses for Eirene", CARRIED, facts, exchanges, held)
    )


def read_exchanges(data: str | RowSource, shape: Shape | None = None) -> tuple[list[Exchange], dict[str, int]]:
    """The prompts and replies of a source's items, and why others of its rows are left out: reason -> number."""
    source = opened(data)
    found = [_of_item(item) for item in Dataset(source, Shape() if shape is None else shape).items()]
    exchanges = [e for e in found if isinstance(e, Exchange)]
    left_out = dict(Counter(why for why in found if isinstance(why, str)))
    if not exchanges:
        causes = ", ".join(f"{n} rows {why}" for why, n in left_out.items())
        raise InputError(f"holds no response to learn from ({causes})", where=source.name)
    return exchanges, left_out


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
