"""The recipe of the shipped verifier: vectors cached, a head a seed, its temperature, the exported file and its card.

Every finished seed lies on disk and is skipped by the next call with the same recipe and data. Needs the extra `train`.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.data.line_checksum import sealed_value
from eirene.models.verifier.runtime import MODEL_FILE
from recipes.encoder.data import read_claims
from recipes.folder import CARD_FILE, check_seeds, claim, make, sha256
from recipes.train.run import write_json
from recipes.verifier.data import MIXTURE, VerifierRow, read_rows, refuse_leaks, thinned
from recipes.verifier.own import OwnRows, own_rows

if TYPE_CHECKING:
    from recipes.verifier.fit import VerifierRecipe
    from recipes.verifier.seed import CachedRows, Measure

TRAIN_FILE = "train.jsonl"
DEV_FILE = "dev.jsonl"
TOPICS_FILE = "topics_train.jsonl"
CACHE_FOLDER = "vectors"


@dataclass(frozen=True, slots=True)
class VerifierStep:
    """Where a training is: `done` of `total` steps of a seed, or where `seed` is None, of the chunks of vectors.

    `loss` is smoothed; None without a seed.
    """

    seed: int | None
    done: int
    total: int
    loss: float | None = None


Progress = Callable[[VerifierStep], None]


@dataclass(frozen=True)
class TrainedVerifier:
    """What a training left in its folder: the file of `load_verifier`, and `training.json` as a dict."""

    folder: Path
    card: dict[str, Any]


def train_verifier(
    data_dir: Path,
    out_dir: Path,
    *,
    seeds: Sequence[int] = (0,),
    recipe: VerifierRecipe | None = None,
    cache_dir: Path | None = None,
    max_steps: int | None = None,
    workers: int = 2,
    progress: Progress | None = None,
    measure: Measure | None = None,
) -> TrainedVerifier:
    """Trains one head a seed on `train.jsonl`, thinned by `MIXTURE`, with rows of our own beside it, and exports it.

    These are made by rule, and of the arguments in `topics_train.jsonl` where there is one (see `own_rows`). The head
    of the seed that is named first ships: heads that began apart cannot be averaged. The other seeds tell how
    far its figures vary. `dev.jsonl`, where there is one, is read to refuse leaks, to fit the temperature and to
    `measure`, never to train. `cache_dir` (default: a folder in `out_dir`) takes the vectors, about 80 kB a row, which
    other runs on the same rows share; `workers` processes make them.

    Raises `InputError` on bad data or settings and for a folder of something else, `EncoderError` on a leak or a failed
    parity check.
    """
    check_seeds(seeds)
    _check({"max_steps": max_steps, "workers": workers})
    require("torch", "onnx", extra="train")
    from recipes.verifier.fit import VerifierRecipe
    from recipes.verifier.seed import VerifierJob, run_seed

    recipe = VerifierRecipe() if recipe is None else recipe
    _check({"epochs": recipe.epochs, "batch": recipe.batch})
    if not 0.0 <= recipe.edits <= 1.0:
        raise InputError(f"edits must be a share in [0, 1], got {recipe.edits}", field="edits")
    rows = _read(data_dir, recipe)
    claim(out_dir, made_by="recipes.verifier")
    card = _described(rows, data_dir, recipe, max_steps)
    cache_dir = out_dir / CACHE_FOLDER if cache_dir is None else cache_dir
    train = _cached([rows.own.given, rows.own.made], cache_dir, workers, progress)
    dev = _cached([rows.dev], cache_dir, workers, progress) if rows.dev else None
    job = VerifierJob(card["identity"], train, dev, recipe, max_steps, measure)
    card["seeds"] = list(seeds)
    card["runs"] = [run_seed(job, seed, _seed_folder(out_dir, seed), _told(seed, progress)) for seed in seeds]
    _ship(_seed_folder(out_dir, seeds[0]), out_dir)
    write_json(out_dir / CARD_FILE, sealed_value(card))
    return TrainedVerifier(out_dir, card)


def _check(counts: Mapping[str, int | None]) -> None:
    for name, count in counts.items():
        if count is not None and count < 1:
            raise InputError(f"{name} must be at least 1, got {count}", field=name)


@dataclass(frozen=True)
class _VerifierRows:
    """How many rows the training file has, those of them that are trained on with our own, and the dev rows."""

    train: int
    own: OwnRows
    dev: list[VerifierRow]
    leak_check: dict[str, int] | None


def _read(data_dir: Path, recipe: VerifierRecipe) -> _VerifierRows:
    train = read_rows(data_dir / TRAIN_FILE)
    dev = read_rows(data_dir / DEV_FILE) if (data_dir / DEV_FILE).exists() else []
    checked = refuse_leaks(train, dev, name=DEV_FILE) if dev else None
    kept = thinned(train)
    if not kept:
        raise InputError("the mixture leaves none of its rows", where=str(data_dir / TRAIN_FILE))
    topics = data_dir / TOPICS_FILE
    claims = read_claims(topics) if recipe.arguments and topics.exists() else []
    own = own_rows(kept, claims, edits=recipe.edits, arguments=recipe.arguments)
    return _VerifierRows(len(train), own, dev, checked)


def _described(rows: _VerifierRows, data_dir: Path, recipe: VerifierRecipe, max_steps: int | None) -> dict[str, Any]:
    """The part of the card that is known before. `identity` is of everything that decides a seed's head and card."""
    from eirene.models.encoder import load_encoder
    from recipes.verifier.cache import VERSION

    names = [TRAIN_FILE, *([DEV_FILE] if rows.dev else []), TOPICS_FILE]
    trained = [*rows.own.given, *rows.own.made]
    card: dict[str, Any] = {
        "encoder": load_encoder(threads=1).digest,
        "data": {name: sha256(data_dir / name) for name in names if (data_dir / name).is_file()},
        "rows": {
            "train": rows.train, "kept": len(rows.own.given), "own": len(rows.own.made), "dev": len(rows.dev),
            "digest": hashlib.sha256(json.dumps([astuple(row) for row in trained]).encode()).hexdigest(),
        },
        "sources": dict(sorted(Counter(row.source for row in trained).items())),
        "mixture": dict(MIXTURE),
        "leak_check": rows.leak_check,
        "recipe": asdict(recipe),
        "max_steps": max_steps,
    }  # fmt: skip
    decides = [
        VERSION,
        *(card[name] for name in ("encoder", "rows", "recipe", "max_steps")),
        card["data"].get(DEV_FILE),
    ]
    card["identity"] = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()
    return card


def _cached(parts: Sequence[list[VerifierRow]], folder: Path, workers: int, progress: Progress | None) -> CachedRows:
    """The rows of the parts with their vectors, each part in a folder of its own: one that changes costs no other."""
    from recipes.verifier.cache import JoinedPairs, cached_pairs
    from recipes.verifier.seed import CachedRows

    make(folder)
    told = None if progress is None else lambda done, total: progress(VerifierStep(None, done, total))
    pairs = [cached_pairs(rows, folder, workers=workers, progress=told) for rows in parts if rows]
    return CachedRows([row for rows in parts for row in rows], JoinedPairs(pairs))


def _told(seed: int, progress: Progress | None) -> Callable[[int, int, float], None] | None:
    if progress is None:
        return None
    return lambda done, total, loss: progress(VerifierStep(seed, done, total, loss))


def _seed_folder(out_dir: Path, seed: int) -> Path:
    return out_dir / f"seed-{seed}"


def _ship(seed_folder: Path, out_dir: Path) -> None:
    trial = out_dir / f".{MODEL_FILE}"
    shutil.copyfile(seed_folder / MODEL_FILE, trial)
    os.replace(trial, out_dir / MODEL_FILE)
