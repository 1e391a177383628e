"""The recipe of the shipped encoder: several runs, the mean of their weights, the exported files and their card.

Every finished seed lies on disk and is skipped by the next call with the same recipe and data, so that an interrupted
training loses one run at most. Needs the extra `train`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eirene.core.errors import EncoderError, InputError
from eirene.core.extras import require
from eirene.core.logs import get_logger
from eirene.data.line_checksum import sealed_value
from eirene.models.encoder.runtime import Encodes
from recipes.encoder.data import TrainingClaim, read_claims, texts_of
from recipes.folder import CARD_FILE, check_seeds, claim, finished, sha256
from recipes.rows import rows_of
from recipes.train.run import write_json

if TYPE_CHECKING:
    import torch

    from recipes.encoder.fit import EncoderRecipe

logger = get_logger(__name__)

TRAIN_FILE = "topics_train.jsonl"
UNSEEN_FILE = "topics_dev.jsonl"
PAIRS_FILE = "equivalence_dev.jsonl"
SEED_WEIGHTS = "merged.safetensors"

SeedProgress = Callable[[int, int, int, float], None]
"""Called after each step with (seed, step from 1, steps, smoothed loss)."""


@dataclass(frozen=True)
class TrainedEncoder:
    """What a training left in its folder: the files of `load_encoder`, and `training.json` as a dict."""

    folder: Path
    card: dict[str, Any]


def train_encoder(
    data_dir: Path,
    out_dir: Path,
    *,
    seeds: Sequence[int] = (0, 1, 2),
    recipe: EncoderRecipe | None = None,
    base: Path | None = None,
    max_steps: int | None = None,
    progress: SeedProgress | None = None,
) -> TrainedEncoder:
    """Trains one run a seed on `topics_train.jsonl`, averages the weights and exports runs and mean.

    `base` is the folder of all-MiniLM-L6-v2 (default: the package of the extra), verified by SHA-256. The dev files of
    `data_dir`, where there are any, are read to refuse leaks and to measure, never to train or to choose.
    A file of an earlier run that does not fit its checksum is made again. Raises `InputError` on bad data and for a
    folder of something else, `EncoderError` on wrong base weights, a leak or a failed parity check.
    """
    check_seeds(seeds)
    require("torch", "transformers", "peft", "onnx", "safetensors", extra="train")
    from recipes.encoder.data import BASE_NAME, BASE_SHA256, base_folder
    from recipes.encoder.fit import EncoderRecipe

    recipe = EncoderRecipe() if recipe is None else recipe
    claim(out_dir, made_by="recipes.encoder")
    folder = base_folder(base)
    claims = read_claims(data_dir / TRAIN_FILE)
    checked = refuse_leaks(claims, data_dir / UNSEEN_FILE)
    files = [data_dir / name for name in (TRAIN_FILE, UNSEEN_FILE, PAIRS_FILE)]
    card: dict[str, Any] = {
        "base": {"name": BASE_NAME, "sha256": BASE_SHA256},
        "data": {file.name: sha256(file) for file in files if file.is_file()},
        "claims": len(claims),
        "leak_check": checked,
        "recipe": asdict(recipe),
        "max_steps": max_steps,
        "seeds": list(seeds),
    }
    identity = [card["data"][TRAIN_FILE], card["recipe"], max_steps]
    job = _EncoderJob(
        identity=hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest(),
        base=folder,
        claims=claims,
        recipe=recipe,
        max_steps=max_steps,
        data_dir=data_dir,
        out_dir=out_dir,
    )
    card["runs"] = [_run_seed(job, seed, progress) for seed in seeds]
    card["mean"] = _export_mean(job, seeds)
    write_json(out_dir / CARD_FILE, sealed_value(card))
    return TrainedEncoder(out_dir, card)


@dataclass(frozen=True)
class _EncoderJob:
    """What all seeds of one call share. `identity` tells whether a finished seed on disk is of the same job."""

    identity: str
    base: Path
    claims: Sequence[TrainingClaim]
    recipe: EncoderRecipe
    max_steps: int | None
    data_dir: Path
    out_dir: Path


def refuse_leaks(claims: Sequence[TrainingClaim], unseen: Path) -> dict[str, int] | None:
    """The sizes of the check, or None without the file. Raises `EncoderError` where a text stands in both."""
    if not unseen.is_file():
        return None
    kept, known = texts_of(read_claims(unseen)), texts_of(claims)
    shared = kept & known
    if shared:
        raise EncoderError(
            f"{len(shared)} training texts stand in {unseen.name} too, one is {min(shared)!r}: remove them"
        )
    return {"training_texts": len(known), "unseen_texts": len(kept), "shared": 0}


def _run_seed(job: _EncoderJob, seed: int, progress: SeedProgress | None) -> dict[str, Any]:
    """Trains and exports one seed, or returns the card of the same run where it is finished."""
    from safetensors.torch import save_file

    from recipes.encoder.data import load_bert, load_tokenizer
    from recipes.encoder.export import export_encoder
    from recipes.encoder.fit import fit

    folder = job.out_dir / f"seed-{seed}"
    done = finished(folder, job.identity, SEED_WEIGHTS)
    if done is not None:
        logger.info("seed %d is finished, skipped", seed)
        return done
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tokenizer = load_tokenizer(job.base)
    started = time.perf_counter()
    bert, losses = fit(
        load_bert(job.base),
        tokenizer,
        job.claims,
        recipe=job.recipe,
        seed=seed,
        max_steps=job.max_steps,
        progress=None if progress is None else partial(progress, seed),
    )
    seconds = time.perf_counter() - started
    save_file({name: tensor.contiguous() for name, tensor in bert.state_dict().items()}, folder / SEED_WEIGHTS)
    parity = export_encoder(bert, tokenizer, folder)
    card = {
        "seed": seed,
        "run": job.identity,
        "sha256": sha256(folder / SEED_WEIGHTS),
        "steps": len(losses),
        "seconds": round(seconds, 1),
        "first_loss": losses[0],
        "last_loss": sum(losses[-20:]) / len(losses[-20:]),
        "parity": asdict(parity),
        "figures": measure(folder, job.data_dir),
    }
    write_json(folder / CARD_FILE, sealed_value(card))
    return card


def _export_mean(job: _EncoderJob, seeds: Sequence[int]) -> dict[str, Any]:
    from safetensors.torch import load_file

    from recipes.encoder.data import load_bert, load_tokenizer
    from recipes.encoder.export import export_encoder

    bert = load_bert(job.base)
    bert.load_state_dict(mean_weights([load_file(job.out_dir / f"seed-{seed}" / SEED_WEIGHTS) for seed in seeds]))
    parity = export_encoder(bert, load_tokenizer(job.base), job.out_dir)
    return {"parity": asdict(parity), "figures": measure(job.out_dir, job.data_dir)}


def mean_weights(states: Sequence[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """The mean of each float tensor over the runs; other tensors as in the first.

    The runs start from the same weights and stay near them, so that their mean is a model, and a better one than each.
    """
    first = states[0]
    return {
        name: sum((state[name] for state in states[1:]), tensor) / len(states) if tensor.is_floating_point() else tensor
        for name, tensor in first.items()
    }


def measure(folder: Path, data_dir: Path) -> dict[str, float]:
    """ROC AUC over the dev pairs of one claim and side: same argument or not. Empty without the file."""
    from eirene.models.encoder.runtime import load_encoder

    file = data_dir / PAIRS_FILE
    return {"pair_auc": pair_auc(load_encoder(folder), read_pairs(file))} if file.is_file() else {}


@dataclass(frozen=True)
class ArgumentPair:
    """Two texts on the same claim and side, and whether people judged them the same argument."""

    argument: str
    other: str
    equivalent: bool


def read_pairs(file: Path) -> list[ArgumentPair]:
    """The rows of an `equivalence_*.jsonl` file. Raises `InputError` naming the line."""
    return rows_of(
        file,
        lambda row: ArgumentPair(str(row["argument"]), str(row["other"]), bool(row["equivalent"])),
        what="a pair",
    )


def pair_auc(encoder: Encodes, pairs: Sequence[ArgumentPair]) -> float:
    """The chance that an equivalent pair has a higher cosine than another pair; ties count one half.

    Raises `InputError` where one of the two kinds is missing.
    """
    cosines = (encoder.encode([p.argument for p in pairs]) * encoder.encode([p.other for p in pairs])).sum(1)
    same = np.array([p.equivalent for p in pairs], bool)
    if same.all() or not same.any():
        raise InputError("pairs must be of both kinds, equivalent and not")
    wins = cosines[same][:, None] - cosines[~same][None, :]
    return float((wins > 0).mean() + (wins == 0).mean() / 2)
