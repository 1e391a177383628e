"""Trains a refiner on preference pairs by DPO, and writes its card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.data import RowSource, opened
from eirene.data.line_checksum import sealed_value
from eirene.models.local.spec import PROMPT_FILE
from eirene.models.training import recipe as shared
from eirene.models.training.folder import (
    Trained,
    TrainingRun,
    file_facts,
    finish_run,
    finished_run,
    run_order,
    start_run,
)
from eirene.models.training.recipe import Progress, epoch_means, logged, versions, write_json
from eirene.refiners.training.examples import EncodedPair, PairPrompt, RefinerRecipe
from eirene.refiners.training.pairs import PreferencePair, read_pairs, split_pairs, usable

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = get_logger(__name__)

_CURVES = {"train_loss": "loss", "train_accuracy": "rewards/accuracies", "train_margin": "rewards/margins"}


def train_refiner(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: RefinerRecipe | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Tunes the causal language model `base` on preference pairs by DPO (Rafailov et al. 2023); `hf:OUT` then refines.

    `data`, named or opened, holds rows that `eirene.refiners.training.pairs` reads. The same call goes on where an
    interrupted one stopped, and returns at once when the run is finished. `progress` is called after each step, and so
    is `should_stop`; see `eirene.models.training.folder.TrainingRun`. Raises `InputError` for data that cannot be read
    or holds no pair to learn from, a folder that holds another run, and a loss that is no longer a number.
    """
    run = start_run(
        base,
        out,
        seed=seed,
        device=device,
        progress=progress,
        should_stop=should_stop,
        extra="train",
        packages=("trl", "datasets"),
    )
    recipe = RefinerRecipe() if recipe is None else recipe
    source = opened(data)
    rows = read_pairs(source)
    pairs, dropped = usable(rows)
    if not pairs:
        raise InputError(f"none of the {len(rows)} pairs can be learnt from: {_causes(dropped)}", where=source.name)
    parts = split_pairs(pairs, recipe.held_out, seed=run.seed)
    order = run_order(run, recipe, source)
    done = finished_run(run, order)
    if done is not None:
        return done
    return _train(parts, run, order=order, recipe=recipe, source=source, dropped=dropped)


def _train(
    parts: tuple[list[PreferencePair], list[PreferencePair]],
    run: TrainingRun,
    *,
    order: dict[str, Any],
    recipe: RefinerRecipe,
    source: RowSource,
    dropped: Counter[str],
) -> Trained:
    from eirene.models.local.checkpoint import load_tokenizer
    from eirene.refiners.training.examples import pair_prompt
    from eirene.refiners.training.fit import fit
    from eirene.refiners.training.measure import summarise

    n_rows = sum(map(len, parts)) + dropped.total()
    tokenizer = load_tokenizer(run.base)
    asking = pair_prompt([*parts[0], *parts[1]], recipe, tokenizer)
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
            **file_facts(source),
            "rows": n_rows,
            "dropped": dict(sorted(dropped.items())),
            "train": describe_pairs(pairs),
            "held_out": describe_pairs(held),
        },
        "prompt": describe_prompt(asking),
        "figures": {**measured, **curves, "held_out_loss": logged(log, "eval_loss"), **figures},
        "versions": versions(("trl",)),
    }
    return finish_run(run, card, markdown(card))


def _encoded(
    parts: tuple[list[PreferencePair], list[PreferencePair]],
    asking: PairPrompt,
    tokenizer: PreTrainedTokenizerBase,
    max_tokens: int,
) -> tuple[tuple[list[EncodedPair], list[EncodedPair]], Counter[str]]:
    from eirene.refiners.training.examples import encode_pair, fitting

    def part(pairs: list[PreferencePair], what: str) -> tuple[list[EncodedPair], Counter[str]]:
        return fitting([encode_pair(pair, asking, tokenizer) for pair in pairs], max_tokens, what=what)

    (train, lost), (held, also_lost) = part(parts[0], "pairs to train on"), part(parts[1], "held-out pairs")
    if not train:
        raise InputError(f"no pair is left to train on: {_causes(lost)}", field="data")
    return (train, held), lost + also_lost


def _causes(dropped: Counter[str]) -> str:
    return ", ".join(f"{n} because {cause}" for cause, n in sorted(dropped.items()))


def describe_pairs(pairs: Sequence[EncodedPair]) -> dict[str, Any]:
    """Counts of a part of the data: pairs, distinct prompts, and how often the preferred reply is the longer one."""
    return {
        "pairs": len(pairs),
        "questions": len({pair.key for pair in pairs}),
        "longer_preferred": sum(len(p.chosen.ids) > len(p.rejected.ids) for p in pairs),
    }


def describe_prompt(asking: PairPrompt) -> dict[str, Any]:
    """The prompt that the pairs answer, by name and digest; `given`, without a digest, where it is each row's own."""
    prompt = asking.prompt
    return {
        "name": asking.name if prompt is None else prompt.name,
        "digest": None if prompt is None else prompt.digest,
        "layout": asking.layout,
    }


def markdown(card: Mapping[str, Any]) -> str:
    """The card for people."""
    return shared.markdown(
        card, title="A refiner for Eirene", data=_data(card), figures=_figures(card["figures"].get("held_out"))
    )


def _data(card: Mapping[str, Any]) -> Iterator[str]:
    data, asked = card["data"], card["prompt"]
    train = data["train"]
    yield f"`{data['file']}`, SHA-256 `{data['sha256']}`, {data['rows']} rows"
    yield (
        f"trained on {train['pairs']} pairs of {train['questions']} questions; the preferred reply is the longer one "
        f"in {train['longer_preferred']}"
    )
    yield f"held out: {data['held_out']['pairs']} pairs of {data['held_out']['questions']} other questions"
    yield from (f"left out: {n}, {cause}" for cause, n in data["dropped"].items())
    words = f"`{asked['name']}` (digest {asked['digest']})" if asked["digest"] else "the rows' own"
    yield f"prompt: {words}, layout {asked['layout']}"


def _figures(held: Mapping[str, Any] | None) -> Iterator[str]:
    if held is None:
        yield "not measured: nothing was held out"
        return
    before, after = held["before"], held["after"]
    yield f"on {held['pairs']} held-out pairs, 95 % Wilson intervals:"
    yield f"loss {before['loss']} -> {after['loss']}, reward margin 0 -> {after['reward_margin']}"
    yield f"the preferred reply was raised more than the other: {shown(after['reward_accuracy'])}"
    for name, said in (("preference_accuracy", "whole"), ("preference_accuracy_per_token", "per token")):
        yield f"the preferred reply is the likelier one, {said}: {shown(before[name])} -> {shown(after[name])}"
    yield f"the preferred reply is the longer one: {shown(held['longer_preferred'])}"


def shown(share: Mapping[str, float]) -> str:
    """A share with its interval, in percent."""
    return f"{100 * share['value']:.1f} % [{100 * share['low']:.1f}, {100 * share['high']:.1f}]"
