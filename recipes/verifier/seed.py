"""One seed of a verifier's training in its folder: the head, its temperature, the exported file and its card."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.logs import get_logger
from eirene.data.line_checksum import check_value, sealed_value
from eirene.models.training.run import write_json
from eirene.models.verifier.runtime import MODEL_FILE
from recipes.verifier.cache import CachedPair, HasPairs
from recipes.verifier.data import VerifierRow
from recipes.verifier.export import export_head
from recipes.verifier.fit import Progress, VerifierRecipe, fit, probabilities
from recipes.verifier.graph import PairReader
from recipes.verifier.temperature import fit_temperature, tempered

logger = get_logger(__name__)

CARD_FILE = "training.json"
RUN_FILE = "run.json"
_PROBES = 32
"""Pairs on which an exported head is compared with torch."""
_LAST_STEPS = 20

Measure = Callable[[Sequence[VerifierRow], NDArray[np.float32]], dict[str, Any]]
"""From the dev rows and P(supported) of each to figures."""


@dataclass(frozen=True)
class CachedRows:
    """Rows with their vectors."""

    rows: Sequence[VerifierRow]
    cache: HasPairs

    def probes(self) -> list[CachedPair]:
        """Some pairs from all over the rows that have tokens on both sides."""
        readable = np.flatnonzero(self.cache.lengths[: len(self.rows)].all(1))
        return [self.cache[int(n)] for n in readable[:: max(1, len(readable) // _PROBES)][:_PROBES]]


@dataclass(frozen=True)
class VerifierJob:
    """What all seeds of one call share. `identity` tells whether what lies on disk is of the same job."""

    identity: str
    train: CachedRows
    dev: CachedRows | None
    recipe: VerifierRecipe
    max_steps: int | None
    measure: Measure | None
    should_stop: Callable[[], bool]


def run_seed(job: VerifierJob, seed: int, folder: Path, progress: Progress | None) -> dict[str, Any]:
    """Trains and exports one seed, or returns the card of the same run where it is finished.

    A run that was stopped goes on at its checkpoint. An exported file that is damaged is made from it again.
    """
    done = _finished(folder, job.identity)
    if done is not None:
        logger.info("seed %d is finished, skipped", seed)
        return done
    head, losses, seconds = _fitted(job, seed, folder, progress)
    temperature, figures = 1.0, {}
    if job.dev is not None:
        read = probabilities(head, job.dev.cache, len(job.dev.rows))
        temperature = fit_temperature(job.dev.rows, read)
        if job.measure is not None:
            figures = job.measure(job.dev.rows, tempered(read, temperature)[:, 0])
    probes = (job.dev or job.train).probes()
    apart = export_head(head, folder, temperature=temperature, probes=probes)
    card = {
        "seed": seed,
        "run": job.identity,
        "head": sha256(folder / MODEL_FILE),
        "steps": len(losses),
        "seconds": round(seconds, 1),
        "first_loss": losses[0],
        "last_loss": sum(losses[-_LAST_STEPS:]) / len(losses[-_LAST_STEPS:]),
        "temperature": temperature,
        "parity": {"pairs": len(probes), "most_apart": apart},
        "figures": figures,
    }
    write_json(folder / CARD_FILE, sealed_value(card))
    return card


def _fitted(
    job: VerifierJob, seed: int, folder: Path, progress: Progress | None
) -> tuple[PairReader, list[float], float]:
    """The head, the loss of each step, and the seconds that all calls took which were not killed."""
    seconds = _begun(folder, job.identity)
    started = time.perf_counter()
    try:
        head, losses = fit(
            job.train.rows,
            job.train.cache,
            recipe=job.recipe,
            seed=seed,
            folder=folder,
            max_steps=job.max_steps,
            progress=progress,
            should_stop=job.should_stop,
        )
    finally:
        seconds += time.perf_counter() - started
        write_json(folder / RUN_FILE, {"run": job.identity, "seconds": seconds})
    return head, losses, seconds


def _begun(folder: Path, identity: str) -> float:
    """The seconds that went into the same run so far; what is there of another one is removed."""
    try:
        begun = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        if begun["run"] == identity:
            return float(begun["seconds"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_json(folder / RUN_FILE, {"run": identity, "seconds": 0.0})
    return 0.0


def _finished(folder: Path, identity: str) -> dict[str, Any] | None:
    file = folder / CARD_FILE
    if not file.is_file():
        return None
    try:
        card: dict[str, Any] = check_value(json.loads(file.read_text(encoding="utf-8")))
        is_whole = card["head"] == sha256(folder / MODEL_FILE)
    except (OSError, ValueError, KeyError):
        is_whole = False
    if not is_whole:
        logger.warning("%s is damaged, and is made again", folder)
        return None
    return card if card["run"] == identity else None


def sha256(file: Path) -> str:
    """The hexadecimal SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()
