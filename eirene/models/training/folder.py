"""The folder of a training run: its settings, its checkpoints, resume, and what is left when it has ended."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.core.signature import check_seed
from eirene.data import Shape
from eirene.data.json_rows import HasRows, reason
from eirene.models.local.spec import parse_spec, read_object
from eirene.models.training.recipe import CARD_FILE, Progress, TrainingRecipe, write_card, write_json

logger = get_logger(__name__)

RUN_FILE = "run.json"
CHECKPOINTS = "checkpoints"
_ADVICE = "; name a new folder"
_TORN = "run.tmp"  # what a run leaves that was killed while it made its first file
_PACKAGES = ("torch", "transformers", "peft", "accelerate")
DIGESTS_FILE = "digests.json"
_STATE_FILE = "trainer_state.json"


@dataclass(frozen=True, slots=True)
class Trained:
    """What a training left in its folder, and its card as a dict."""

    folder: Path
    card: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One training: where it starts and ends, and who is told of it.

    `progress` is called after each step. Where `should_stop` says so after a step, a checkpoint is written and
    `TrainingStoppedError` raised; the same run goes on from there.
    """

    base: str
    folder: Path
    seed: int
    device: str | None = None
    progress: Progress | None = None
    should_stop: Callable[[], bool] | None = None


def start_run(
    base: str,
    out: str | Path,
    *,
    seed: int,
    device: str | None,
    progress: Progress | None,
    should_stop: Callable[[], bool] | None,
    extra: str = "local",
    packages: Iterable[str] = (),
) -> TrainingRun:
    """A run from the model `base` to the folder `out`.

    Raises `MissingExtraError` where a package that training needs is not installed (`packages` are those beside the
    usual ones), `InputError` as `check_base` does and for a bad seed.
    """
    require(*_PACKAGES, *packages, extra=extra)
    return TrainingRun(check_base(base), Path(out), check_seed(seed), device, progress, should_stop)


def finish_run(run: TrainingRun, card: dict[str, Any], text: str) -> Trained:
    """Ends a run: writes its card for programs and for people (`text`), and removes its checkpoints.

    Each checkpoint is several times as large as the model.
    """
    write_card(run.folder, card, text)
    shutil.rmtree(run.folder / CHECKPOINTS, ignore_errors=True)
    return Trained(run.folder, card)


def file_facts(source: Named) -> dict[str, Any]:
    """What a card says of the data's file: its name and its SHA-256."""
    return {"file": Path(source.name).name, "sha256": sha256(source)}


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


def claim_folder(folder: Path, order: dict[str, Any]) -> dict[str, Any] | None:
    """Marks the folder as that of the run that `order` decides (see `run_order`); returns the card of a finished one.

    Raises `InputError` where the folder holds something else, another run, or cannot be written.
    """
    file = folder / RUN_FILE
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
    return read_object(card, advice=_ADVICE) if card.is_file() else None


def finished_run(run: TrainingRun, order: dict[str, Any]) -> Trained | None:
    """The result of the run where its folder holds it already, and logs that; else claims the folder."""
    card = claim_folder(run.folder, order)
    if card is None:
        return None
    logger.info("%s holds the finished run, nothing to do", run.folder)
    return Trained(run.folder, card)


def run_order(
    run: TrainingRun,
    recipe: TrainingRecipe,
    data: Named,
    *,
    dev: Named | None = None,
    shape: Shape | None = None,
    **more: Any,
) -> dict[str, Any]:
    """What decides a run, as its folder keeps it: base, data and how they are read, settings, seed, and what a part
    adds."""
    order = {
        "base": run.base,
        "data_sha256": sha256(data),
        "dev_sha256": None if dev is None else sha256(dev),
        "recipe": asdict(recipe),
        "rate": recipe.rate,
        "seed": run.seed,
        **({} if shape is None or not shape.columns else {"columns": dict(shape.columns.columns)}),
        **more,
    }
    plain: dict[str, Any] = json.loads(json.dumps(order))  # as it is read back: tuples become lists
    return plain


class Named(HasRows, Protocol):
    """Rows with the name that messages give their source."""

    @property
    def name(self) -> str: ...


def sha256(data: Named) -> str:
    """64 hex digits that stand for a file's content; for what is no file (a pipe, a dataset), for that of its rows."""
    if Path(data.name).is_file():
        with Path(data.name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for row in data.rows():
        found.update(json.dumps(row.data, sort_keys=True, default=str).encode() + b"\n")
    return found.hexdigest()


def refuse_leaks(texts: Iterable[str], dev_texts: Iterable[str], *, what: str = "questions") -> None:
    """Raises `InputError` where a text stands in the training and in the dev data: figures would flatter."""
    shared = set(texts) & set(dev_texts)
    if shared:
        raise InputError(
            f"{len(shared)} {what} stand in the training and in the dev data, one is {min(shared)!r}; remove them "
            "from one of the two",
            field="dev",
        )


def write_digests(checkpoint: Path) -> None:
    """Writes the SHA-256 of each file of a checkpoint that is complete into `digests.json` beside them."""
    write_json(checkpoint / DIGESTS_FILE, _digests(checkpoint))


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that is whole; one that was changed on disk is passed over, and a warning says so.

    The Trainer writes its state last: without it a checkpoint was cut off. One of an earlier version has no digests.
    """
    found = [p for p in folder.glob("checkpoint-*") if (p / _STATE_FILE).is_file()]
    for checkpoint in sorted(found, key=lambda p: int(p.name.rpartition("-")[2]), reverse=True):
        if _is_whole(checkpoint):
            return checkpoint
        logger.warning("%s is damaged, and is passed over", checkpoint)
    return None


def _is_whole(checkpoint: Path) -> bool:
    file = checkpoint / DIGESTS_FILE
    if not file.is_file():
        return True
    try:
        return bool(json.loads(file.read_bytes()) == _digests(checkpoint))
    except (OSError, ValueError):
        return False


def _digests(checkpoint: Path) -> dict[str, str]:
    found = {}
    for file in sorted(checkpoint.rglob("*")):
        if file.is_file() and file.stem != Path(DIGESTS_FILE).stem:
            with file.open("rb") as data:
                found[str(file.relative_to(checkpoint))] = hashlib.file_digest(data, "sha256").hexdigest()
    return found
