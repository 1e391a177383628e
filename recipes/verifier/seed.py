"""One seed of a verifier's training in its folder: the head, its temperature, the exported file and its card."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.logs import get_logger
from eirene.data.line_checksum import sealed_value
from eirene.models.verifier.runtime import MODEL_FILE
from recipes.folder import CARD_FILE, finished, sha256
from recipes.train.run import write_json
from recipes.verifier.cache import CachedPair, HasPairs
from recipes.verifier.data import VerifierRow
from recipes.verifier.export import export_head
from recipes.verifier.fit import Progress, VerifierRecipe, fit, probabilities
from recipes.verifier.temperature import fit_temperature, tempered

logger = get_logger(__name__)

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


def run_seed(job: VerifierJob, seed: int, folder: Path, progress: Progress | None) -> dict[str, Any]:
    """Trains and exports one seed, or returns the card of the same run where it is finished and whole."""
    done = finished(folder, job.identity, MODEL_FILE)
    if done is not None:
        logger.info("seed %d is finished, skipped", seed)
        return done
    started = time.perf_counter()
    head, losses = fit(
        job.train.rows, job.train.cache, recipe=job.recipe, seed=seed, max_steps=job.max_steps, progress=progress
    )
    seconds = time.perf_counter() - started
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
        "sha256": sha256(folder / MODEL_FILE),
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
