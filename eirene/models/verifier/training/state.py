"""What a training of the verifier changes, and its checkpoint: a file that is whole, of this run, or not used."""

from __future__ import annotations

import hashlib
import io
import os
from pathlib import Path
from typing import Any

import torch

from eirene.core.logs import get_logger
from eirene.models.verifier.graph import HeadShape, PairReader

logger = get_logger(__name__)

CHECKPOINT = "checkpoint.pt"
_DIGEST = hashlib.sha256().digest_size


class TrainingState:
    """Weights, their running average, the optimiser's moments, the loss of each step so far."""

    def __init__(self, shape: HeadShape, *, learning_rate: float, weight_decay: float) -> None:
        self.shape = shape
        self.model = PairReader(shape)
        self.weights = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=learning_rate, weight_decay=weight_decay)
        self.losses: list[float] = []

    def average(self, keep: float) -> None:
        """Moves the running average towards the weights of now, early on faster than `keep` says."""
        keep = min(keep, len(self.losses) / (len(self.losses) + 10))
        for name, tensor in self.model.state_dict().items():
            self.weights[name].lerp_(tensor, 1.0 - keep)

    def averaged(self) -> PairReader:
        """A model of the average, in evaluation mode. Draws nothing from the random numbers of the training."""
        with torch.random.fork_rng(devices=[]):
            model = PairReader(self.shape)
        model.load_state_dict(self.weights)
        return model.eval()

    def save(self, folder: Path | None) -> None:
        """Writes the checkpoint all at once, its SHA-256 before it: torch notices no flipped bit."""
        if folder is None:
            return
        held = {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "weights": self.weights,
            "losses": self.losses,
            "random": torch.get_rng_state(),
        }
        buffer = io.BytesIO()
        torch.save(held, buffer)
        trial = folder / f".{CHECKPOINT}"
        trial.write_bytes(hashlib.sha256(buffer.getvalue()).digest() + buffer.getvalue())
        os.replace(trial, folder / CHECKPOINT)

    def load(self, folder: Path | None) -> None:
        """Goes on from the checkpoint in the folder; stays at the beginning where there is none, or a damaged one."""
        file = None if folder is None else folder / CHECKPOINT
        if file is None or not file.is_file():
            return
        data = file.read_bytes()
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            logger.warning("%s is damaged, the training begins again", file)
            return
        held: dict[str, Any] = torch.load(io.BytesIO(data[_DIGEST:]), weights_only=True)
        self.model.load_state_dict(held["model"])
        self.optimiser.load_state_dict(held["optimiser"])
        self.weights.update(held["weights"])
        self.losses += held["losses"]
        torch.set_rng_state(held["random"])
