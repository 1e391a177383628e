"""`eirene train feedback`: reads the data, trains, resumes, and leaves a model that `hf:` loads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eirene.feedback_model.training.card import describe_rows, markdown
from eirene.feedback_model.training.recipe import Recipe
from eirene.haluquestqa import TaggedAnswer, published_split, read_tagged_answers
from eirene.line_checksum import sealed_value
from eirene.logs import get_logger
from eirene.models.local_spec import PROMPT_FILE
from eirene.reading import RowSource, opened
from eirene.seeds import check_seed
from eirene.training.card import epoch_means, logged, versions, write_card, write_json
from eirene.training.examples import check_lengths
from eirene.training.folder import Run, Trained, check_base, check_packages, finished, refuse_leaks, sha256, told
from eirene.training.recipe import Progress

if TYPE_CHECKING:
    from eirene.training.examples import Encoded

logger = get_logger(__name__)

Split = Literal["all", "train", "test"]


def train_feedback(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: Recipe | None = None,
    split: Split = "all",
    dev: str | RowSource | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Fine-tunes the causal language model `base` on annotated answers; `hf:OUT` is then a feedback model.

    `data` and `dev`, named or opened, hold rows that `eirene.haluquestqa` reads; `split` takes a part of the published
    file. The same call goes on where an interrupted one stopped, and returns at once when the run is finished.
    `progress` is called after each step, and so is `should_stop`; see `eirene.training.folder.Run`. Raises `InputError`
    for data that cannot be read, a dev set that shares questions with the training set, a folder that holds another
    run, and a loss that is no longer a number.
    """
    check_packages("local")
    recipe = Recipe() if recipe is None else recipe
    run = Run(check_base(base), Path(out), check_seed(seed), device, progress, should_stop)
    source = opened(data)
    rows = _part(read_tagged_answers(source), split)
    dev_source = None if dev is None else opened(dev)
    held = [] if dev_source is None else read_tagged_answers(dev_source)
    refuse_leaks([r.question for r in rows], [r.question for r in held])
    order = told(run, recipe, source, split=split, dev=dev_source)
    done = finished(run, order)
    if done is not None:
        return done
    file_card = {"file": Path(source.name).name, "sha256": sha256(source), "split": split}
    return _train(rows, held, run, order=order, recipe=recipe, file_card=file_card)


def _train(
    rows: list[TaggedAnswer],
    held: list[TaggedAnswer],
    run: Run,
    *,
    order: dict[str, Any],
    recipe: Recipe,
    file_card: dict[str, Any],
) -> Trained:
    from eirene.feedback_model.training.examples import encode, prompt_for
    from eirene.models.local_checkpoint import load_tokenizer
    from eirene.training.supervised import fit
    from eirene.training.trainer import drop_checkpoints

    tokenizer = load_tokenizer(run.base)
    prompt = prompt_for(rows, recipe.layout)
    kept, examples = _fitting(rows, [encode(r, prompt, tokenizer) for r in rows], recipe.max_tokens)
    _, dev_examples = _fitting(held, [encode(r, prompt, tokenizer) for r in held], recipe.max_tokens)
    figures = fit(examples, dev_examples, run, recipe=recipe, tokenizer=tokenizer)
    log = figures.pop("log")
    write_json(run.folder / PROMPT_FILE, sealed_value(prompt.to_json()))
    curves = {"train_loss": epoch_means(log), "dev_loss": logged(log, "eval_loss")}
    card = {
        "run": order,
        "data": {**file_card, "train": describe_rows(kept), "left_out": len(rows) - len(kept)},
        "prompt": {"layout": prompt.layout, "name": prompt.prompt.name, "digest": prompt.prompt.digest},
        "figures": {**curves, **figures},
        "versions": versions(),
    }
    write_card(run.folder, card, markdown(card))
    drop_checkpoints(run.folder)
    return Trained(run.folder, card)


def _part(rows: list[TaggedAnswer], split: Split) -> list[TaggedAnswer]:
    if split == "all":
        return rows
    train, test = published_split(rows)
    return train if split == "train" else test


def _fitting(
    rows: list[TaggedAnswer], examples: list[Encoded], max_tokens: int
) -> tuple[list[TaggedAnswer], list[Encoded]]:
    fits = check_lengths([len(e.ids) for e in examples], max_tokens, what="answers")
    if not all(fits):
        logger.warning(
            "%d of %d answers are longer than %d tokens and left out", fits.count(False), len(fits), max_tokens
        )
    return [r for r, ok in zip(rows, fits, strict=True) if ok], [e for e, ok in zip(examples, fits, strict=True) if ok]
