"""A training run: its folder with settings and checkpoints, resume, encoded examples, and the card at its end."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from eirene._version import __version__
from eirene.core.errors import EireneError, InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.core.signature import check_seed
from eirene.data import RowSource, Shape
from eirene.data.json_rows import reason
from eirene.data.line_checksum import sealed_value
from eirene.data.open import sha256
from eirene.models.local.layout import break_special_tokens, encode_reply
from eirene.models.local.spec import parse_spec, read_object
from recipes.train.recipe import TrainingRecipe

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = get_logger(__name__)

RUN_FILE, CARD_FILE, README_FILE, CHECKPOINTS = "run.json", "card.json", "README.md", "checkpoints"
_ADVICE = "; name a new folder"
_TORN = "run.tmp"  # what a run leaves that was killed while it made its first file
_PACKAGES = ("torch", "transformers", "peft", "accelerate", "trl", "datasets")
POINTS = 20


class TrainingStoppedError(EireneError):
    """A training was asked to stop; the same call resumes from its checkpoint. Exit code 130."""


@dataclass(frozen=True, slots=True)
class Step:
    """Where a training is: `loss` is the step's own; `accuracy` is a share in [0, 1], where the training has one."""

    step: int
    steps: int
    epoch: float
    loss: float
    accuracy: float | None = None


Progress = Callable[[Step], None]


class RunOptions(TypedDict, total=False):
    """What every training takes: the seed (default 0), the device (default: a GPU if there is one), and who is told.

    `progress` is called after each step. Where `should_stop` says so after a step, a checkpoint is written and
    `TrainingStoppedError` raised; the same call goes on from there.
    """

    seed: int
    device: str | None
    progress: Progress | None
    should_stop: Callable[[], bool] | None


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training: where it starts and ends, and who is told of it (see `RunOptions`)."""

    base: str
    folder: Path
    recipe: TrainingRecipe
    seed: int = 0
    device: str | None = None
    progress: Progress | None = None
    should_stop: Callable[[], bool] | None = None


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training left in its folder, and its card as a dict."""

    folder: Path
    card: dict[str, Any]


def start_run(base: str, out: str | Path, recipe: TrainingRecipe, **options: Unpack[RunOptions]) -> TrainingRun:
    """A run from the model `base` to the folder `out`.

    Raises `MissingExtraError` where a package that training needs is not installed, `InputError` as `check_base` does
    and for a bad seed.
    """
    require(*_PACKAGES, extra="train")
    check_seed(options.get("seed", 0))
    return TrainingRun(check_base(base), Path(out), recipe, **options)


def check_base(base: str) -> str:
    """The model to start from, as the run's folder and the adapter keep it: a folder by its whole path, or a hub id.

    `hf:` before it is taken off. Raises `InputError` for an adapter: what is trained on top of one would not load.
    """
    spec = parse_spec(base)
    if spec.device is not None or spec.dtype is not None or spec.layout is not None:
        raise InputError(f"{base!r}: device, dtype and layout of a training are settings of its own", field="base")
    if spec.adapter is not None:
        raise InputError(
            f"{base!r} brings the adapter {spec.adapter!r}; training starts from a whole model: merge the two first",
            field="base",
        )
    return os.path.abspath(spec.model) if Path(spec.model).is_dir() else spec.model


def check_keep(recipe: TrainingRecipe, *, has_dev: bool) -> None:
    """Raises `InputError` where the recipe keeps the best checkpoint and there is no dev set."""
    if recipe.keep == "best" and not has_dev:
        raise InputError(
            "keep best chooses the checkpoint by the loss on a dev set, and there is none; give --dev FILE (a refiner: "
            "held_out above 0), or keep last",
            field="keep",
        )


def run_order(
    run: TrainingRun, data: RowSource, *, dev: RowSource | None = None, shape: Shape | None = None, **more: Any
) -> dict[str, Any]:
    """What decides a run, as its folder keeps it: base, data and how they are read, settings, seed, and `more`.

    Raises `InputError` where the best checkpoint is to be kept and there is nothing to tell it by.
    """
    check_keep(run.recipe, has_dev=dev is not None or vars(run.recipe).get("held_out", 0) > 0)
    order = {
        "base": run.base,
        "data_sha256": sha256(data),
        "dev_sha256": None if dev is None else sha256(dev),
        "recipe": run.recipe.facts(),
        "seed": run.seed,
        **({} if shape is None or not shape.columns else {"columns": dict(shape.columns.columns)}),
        **more,
    }
    plain: dict[str, Any] = json.loads(json.dumps(order))  # as it is read back: tuples become lists
    return plain


def finished_run(run: TrainingRun, order: dict[str, Any]) -> Trained | None:
    """What the folder holds if this run is finished; else None, and the folder is that of the run from now on.

    Raises `InputError` where the folder holds something else or another run, or cannot be written.
    """
    folder, file = run.folder, run.folder / RUN_FILE
    try:
        if not file.is_file():
            if folder.exists() and (not folder.is_dir() or any(p.name != _TORN for p in folder.iterdir())):
                raise InputError("exists and holds something else; name a new folder", where=str(folder))
            folder.mkdir(parents=True, exist_ok=True)
            write_json(file, order)
            return None
        before = read_object(file, advice=_ADVICE)
    except OSError as error:
        raise InputError(f"cannot be written: {reason(error)}", where=str(folder)) from None
    differing = sorted(name for name in {*before, *order} if before.get(name) != order.get(name))
    if differing:
        raise InputError(
            f"holds a run with other data or settings ({', '.join(differing)}); name a new folder", where=str(folder)
        )
    card = folder / CARD_FILE
    if not card.is_file():
        return None
    logger.info("%s holds the finished run, nothing to do", folder)
    return Trained(folder, read_object(card, advice=_ADVICE))


def file_facts(source: RowSource) -> dict[str, Any]:
    """What a card says of the data's file: its name and its SHA-256."""
    return {"file": Path(source.name).name, "sha256": sha256(source)}


def refuse_leaks(texts: Iterable[str], dev_texts: Iterable[str], *, what: str = "questions") -> None:
    """Raises `InputError` where a text stands in the training and in the dev data: figures would flatter."""
    shared = set(texts) & set(dev_texts)
    if shared:
        raise InputError(
            f"{len(shared)} {what} stand in the training and in the dev data, one is {min(shared)!r}; remove them "
            "from one of the two",
            field="dev",
        )


def last_checkpoint(run: TrainingRun) -> Path | None:
    """The newest whole checkpoint. The Trainer writes its state last: without all of it a checkpoint was cut off."""
    found = (run.folder / CHECKPOINTS).glob("checkpoint-*/trainer_state.json")
    whole = (file.parent for file in found if _is_json(file))
    return max(whole, key=lambda p: int(p.name.rpartition("-")[2]), default=None)


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_bytes())
    except ValueError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """One example: the tokens of prompt and reply, the end token last, and how many of them are the prompt's."""

    ids: tuple[int, ...]
    n_prompt: int


def encode_example(tokenizer: PreTrainedTokenizerBase, prompt: Sequence[int], reply: str) -> EncodedExample:
    """A prompt's tokens with those of a reply to it. They are tokenised apart, as they are when the model is sampled.

    Special tokens that the reply spells out are broken up: no text ends itself early. Raises `InputError` where the
    tokenizer has no end token.
    """
    end = tokenizer.eos_token_id
    if not isinstance(end, int):
        raise InputError("the tokenizer has no end token, so a reply could never end", field="base")
    return EncodedExample((*prompt, *encode_reply(tokenizer, break_special_tokens(tokenizer, reply)), end), len(prompt))


def check_lengths(lengths: Sequence[int], max_tokens: int, *, what: str) -> list[bool]:
    """Which examples are short enough; raises `InputError` where none is. `what` names them, such as `answers`."""
    fits = [n <= max_tokens for n in lengths]
    if lengths and not any(fits):
        raise InputError(
            f"all {len(lengths)} {what} are longer than max_tokens = {max_tokens}; the shortest has {min(lengths)} "
            "tokens with its prompt and reply",
            field="max_tokens",
        )
    return fits


def logged(log: Iterable[Mapping[str, Any]], name: str) -> list[float]:
    """Everything that a Trainer logged under `name`, in order."""
    return [round(entry[name], 4) for entry in log if name in entry]


def curve(values: Sequence[float]) -> list[float]:
    """The mean of at most 20 equal stretches of a run, however long it was."""
    n = min(POINTS, len(values))
    cuts = [round(k * len(values) / n) for k in range(n + 1)] if n else []
    return [round(sum(values[a:b]) / (b - a), 4) for a, b in pairwise(cuts)]


def finish_run(
    run: TrainingRun, order: dict[str, Any], title: str, data: Mapping[str, Any], **sections: Mapping[str, Any]
) -> Trained:
    """Ends a run: writes its card for people and then for programs, and removes its checkpoints.

    `card.json` says that the training is finished. Each checkpoint is several times as large as the model.
    """
    versions = {"eirene": __version__, **{name: version(name) for name in _PACKAGES}}
    card = {"run": order, "data": dict(data), **{k: dict(v) for k, v in sections.items()}, "versions": versions}
    head = [
        f"# {title}",
        "",
        f"Fine-tuned ({run.recipe.method}) from `{run.base}`. Use it as `--backend hf:THIS_FOLDER`.",
    ]
    parts = [line for name, values in card.items() for line in ("", f"## {name.capitalize()}", "", *_listed(values))]
    (run.folder / README_FILE).write_text("\n".join([*head, *parts]) + "\n", encoding="utf-8")
    write_json(run.folder / CARD_FILE, sealed_value(card))
    shutil.rmtree(run.folder / CHECKPOINTS, ignore_errors=True)
    return Trained(run.folder, card)


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Writes a whole JSON file or none."""
    trial = file.with_suffix(".tmp")
    trial.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    os.replace(trial, file)


def _listed(values: Mapping[str, Any], under: str = "") -> list[str]:
    lines = []
    for name, value in values.items():
        if isinstance(value, dict) and value.keys() == {"value", "low", "high"}:
            lines.append(f"- {under}{name}: {value['value']} [{value['low']}, {value['high']}]")
        elif isinstance(value, dict):
            lines += _listed(value, f"{under}{name} ")
        elif value not in (None, []) and "\n" not in str(value):
            lines.append(f"- {under}{name}: {value}")
    return lines
