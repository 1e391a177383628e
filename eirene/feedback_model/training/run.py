"""`eirene train feedback`: reads the data, trains, resumes, and leaves a model that `hf:` loads."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eirene.errors import InputError, MissingExtraError
from eirene.feedback_model.training.card import CARD_FILE, describe_rows, losses, write_card, write_json
from eirene.feedback_model.training.recipe import Progress, Recipe
from eirene.haluquestqa import TaggedAnswer, published_split, read_tagged_answers
from eirene.io import Source, read_source
from eirene.models.local_spec import PROMPT_FILE
from eirene.seeds import check_seed

if TYPE_CHECKING:
    from eirene.feedback_model.training.examples import Encoded

logger = logging.getLogger(__name__)

Split = Literal["all", "train", "test"]
_RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training left in its folder, and its card as a dict."""

    folder: Path
    card: dict[str, Any]


def train_feedback(
    data: str,
    out: str | Path,
    *,
    base: str,
    recipe: Recipe | None = None,
    split: Split = "all",
    dev: str | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Fine-tunes the causal language model `base` on annotated answers; `hf:OUT` is then a feedback model.

    `data` and `dev` are files that `eirene.haluquestqa` reads; `split` takes a part of the published file. The same
    call goes on where an interrupted one stopped, and returns at once when the run is finished. `progress` is called
    after each step. Raises `InputError` for data that cannot be read, a dev set that shares questions with the
    training set, a folder that holds another run, and a loss that is no longer a number.
    """
    for package in ("torch", "transformers", "peft", "accelerate"):
        if find_spec(package) is None:
            raise MissingExtraError("local", package)
    recipe = Recipe() if recipe is None else recipe
    folder = Path(out)
    source = read_source(data)
    rows = _part(read_tagged_answers(source), split)
    held = read_tagged_answers(read_source(dev)) if dev is not None else []
    _refuse_leaks(rows, held)
    base = os.path.abspath(base) if Path(base).is_dir() else base
    run = {
        "base": base,
        "data_sha256": hashlib.sha256(source.data).hexdigest(),
        "split": split,
        "dev_sha256": None if dev is None else hashlib.sha256(read_source(dev).data).hexdigest(),
        "recipe": asdict(recipe),
        "rate": recipe.rate,
        "seed": check_seed(seed),
    }
    done = _claim(folder, run)
    if done is not None:
        logger.info("%s holds the finished run, nothing to do", folder)
        return Trained(folder, done)
    return _train(
        rows, held, folder, run=run, recipe=recipe, file_card=_file_card(source, split), device=device,
        progress=progress,
    )  # fmt: skip


def _train(
    rows: list[TaggedAnswer],
    held: list[TaggedAnswer],
    folder: Path,
    *,
    run: dict[str, Any],
    recipe: Recipe,
    file_card: dict[str, Any],
    device: str | None,
    progress: Progress | None,
) -> Trained:
    from eirene.feedback_model.training.examples import encode, prompt_for
    from eirene.feedback_model.training.fit import drop_checkpoints, fit, versions
    from eirene.models.local_loading import load_tokenizer

    tokenizer = load_tokenizer(run["base"])
    prompt = prompt_for(rows, recipe.layout)
    kept, examples = _fitting(rows, [encode(r, prompt, tokenizer) for r in rows], recipe.max_tokens)
    _, dev_examples = _fitting(held, [encode(r, prompt, tokenizer) for r in held], recipe.max_tokens)
    figures = fit(
        examples, dev_examples, folder, base=run["base"], tokenizer=tokenizer, recipe=recipe, seed=run["seed"],
        device=device, progress=progress,
    )  # fmt: skip
    log = figures.pop("log")
    write_json(folder / PROMPT_FILE, prompt.to_json())
    card = {
        "run": run,
        "data": {**file_card, "train": describe_rows(kept), "left_out": len(rows) - len(kept)},
        "prompt": {"layout": prompt.layout, "name": prompt.prompt.name, "digest": prompt.prompt.digest},
        "figures": {**losses(log, recipe.epochs), **figures},
        "versions": versions(),
    }
    write_card(folder, card)
    drop_checkpoints(folder)
    return Trained(folder, card)


def _part(rows: list[TaggedAnswer], split: Split) -> list[TaggedAnswer]:
    if split == "all":
        return rows
    train, test = published_split(rows)
    return train if split == "train" else test


def _refuse_leaks(rows: list[TaggedAnswer], held: list[TaggedAnswer]) -> None:
    shared = {r.question for r in rows} & {r.question for r in held}
    if shared:
        raise InputError(
            f"{len(shared)} questions stand in the training and in the dev data, one is {min(shared)!r}; remove them "
            "from one of the two",
            field="dev",
        )


def _fitting(
    rows: list[TaggedAnswer], examples: list[Encoded], max_tokens: int
) -> tuple[list[TaggedAnswer], list[Encoded]]:
    fits = [len(e.ids) <= max_tokens for e in examples]
    if rows and not any(fits):
        shortest = min(len(e.ids) for e in examples)
        raise InputError(
            f"every answer is longer than max_tokens = {max_tokens}; the shortest has {shortest} tokens with its "
            "prompt and reply",
            field="max_tokens",
        )
    if not all(fits):
        logger.warning(
            "%d of %d answers are longer than %d tokens and left out", fits.count(False), len(fits), max_tokens
        )
    return [r for r, ok in zip(rows, fits, strict=True) if ok], [e for e, ok in zip(examples, fits, strict=True) if ok]


def _claim(folder: Path, run: dict[str, Any]) -> dict[str, Any] | None:
    """Marks the folder as this run's; returns the card where the run is finished. Raises `InputError`."""
    file = folder / _RUN_FILE
    if not file.is_file():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError("exists and holds something else; name a new folder", where=str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        write_json(file, run)
        return None
    if json.loads(file.read_text(encoding="utf-8")) != json.loads(json.dumps(run)):
        raise InputError("holds a run with other data or settings; name a new folder", where=str(folder))
    card = folder / CARD_FILE
    found: dict[str, Any] | None = json.loads(card.read_text(encoding="utf-8")) if card.is_file() else None
    return found


def _file_card(source: Source, split: Split) -> dict[str, Any]:
    return {
        "file": Path(source.name).name,
        "sha256": hashlib.sha256(source.data).hexdigest(),
        "split": split,
    }
