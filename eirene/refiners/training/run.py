"""`eirene train refiner`: reads the pairs, tunes, resumes, and leaves an adapter that `hf:` loads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.errors import InputError
from eirene.line_checksum import sealed_value
from eirene.logs import get_logger
from eirene.models.local_spec import PROMPT_FILE
from eirene.reading import RowSource, opened
from eirene.refiners.training.card import describe_asking, describe_pairs, markdown
from eirene.refiners.training.pairs import Pair, read_pairs, split_pairs, usable
from eirene.refiners.training.recipe import Recipe
from eirene.seeds import check_seed
from eirene.training.card import epoch_means, logged, versions, write_card, write_json
from eirene.training.folder import Run, Trained, check_base, check_packages, finished, sha256, told
from eirene.training.recipe import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from eirene.refiners.training.examples import Asking, EncodedPair

logger = get_logger(__name__)

_CURVES = {"train_loss": "loss", "train_accuracy": "rewards/accuracies", "train_margin": "rewards/margins"}


def train_refiner(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: Recipe | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Tunes the causal language model `base` on preference pairs by DPO (Rafailov et al. 2023); `hf:OUT` then refines.

    `data`, named or opened, holds rows that `eirene.refiners.training.pairs` reads. The same call goes on where an
    interrupted one stopped, and returns at once when the run is finished. `progress` is called after each step, and so
    is `should_stop`; see `eirene.training.folder.Run`. Raises `InputError` for data that cannot be read or holds no
    pair to learn from, a folder that holds another run, and a loss that is no longer a number.
    """
    check_packages("train", ("trl", "datasets"))
    recipe = Recipe() if recipe is None else recipe
    run = Run(check_base(base), Path(out), check_seed(seed), device, progress, should_stop)
    source = opened(data)
    rows = read_pairs(source)
    pairs, dropped = usable(rows)
    if not pairs:
        raise InputError(f"none of the {len(rows)} pairs can be learnt from: {_causes(dropped)}", where=source.name)
    parts = split_pairs(pairs, recipe.held_out, seed=run.seed)
    order = told(run, recipe, source)
    done = finished(run, order)
    if done is not None:
        return done
    return _train(parts, run, order=order, recipe=recipe, source=source, dropped=dropped)


def _train(
    parts: tuple[list[Pair], list[Pair]],
    run: Run,
    *,
    order: dict[str, Any],
    recipe: Recipe,
    source: RowSource,
    dropped: Counter[str],
) -> Trained:
    from eirene.models.local_checkpoint import load_tokenizer
    from eirene.refiners.training.examples import asking_for
    from eirene.refiners.training.fit import fit
    from eirene.refiners.training.measure import summarise
    from eirene.training.trainer import drop_checkpoints

    n_rows = sum(map(len, parts)) + dropped.total()
    tokenizer = load_tokenizer(run.base)
    asking = asking_for([*parts[0], *parts[1]], recipe, tokenizer)
    (pairs, held), lost = _encoded(parts, asking, tokenizer, recipe.max_tokens)
    dropped = dropped + lost
    if dropped:
        logger.warning("%d of %d pairs are left out: %s", dropped.total(), n_rows, _causes(dropped))
    figures, rows = fit(pairs, held, run, recipe=recipe, tokenizer=tokenizer)
    log = figures.pop("log")
    if asking.carried is not None:
        write_json(run.folder / PROMPT_FILE, sealed_value(asking.carried.to_json()))
    curves = {name: epoch_means(log, key) for name, key in _CURVES.items()}
    measured = {"held_out": summarise(rows, beta=recipe.beta) if rows else None}
    card = {
        "run": order,
        "data": {
            "file": Path(source.name).name,
            "sha256": sha256(source),
            "rows": n_rows,
            "dropped": dict(sorted(dropped.items())),
            "train": describe_pairs(pairs),
            "held_out": describe_pairs(held),
        },
        "prompt": describe_asking(asking),
        "figures": {**measured, **curves, "held_out_loss": logged(log, "eval_loss"), **figures},
        "versions": versions(("trl",)),
    }
    write_card(run.folder, card, markdown(card))
    drop_checkpoints(run.folder)
    return Trained(run.folder, card)


def _encoded(
    parts: tuple[list[Pair], list[Pair]], asking: Asking, tokenizer: PreTrainedTokenizerBase, max_tokens: int
) -> tuple[tuple[list[EncodedPair], list[EncodedPair]], Counter[str]]:
    from eirene.refiners.training.examples import encode_pair, fitting

    def part(pairs: list[Pair], what: str) -> tuple[list[EncodedPair], Counter[str]]:
        return fitting([encode_pair(pair, asking, tokenizer) for pair in pairs], max_tokens, what=what)

    (train, lost), (held, also_lost) = part(parts[0], "pairs to train on"), part(parts[1], "held-out pairs")
    if not train:
        raise InputError(f"no pair is left to train on: {_causes(lost)}", field="data")
    return (train, held), lost + also_lost


def _causes(dropped: Counter[str]) -> str:
    return ", ".join(f"{n} because {cause}" for cause, n in sorted(dropped.items()))
