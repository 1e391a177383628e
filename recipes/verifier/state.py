"""What a training of the verifier changes, and its checkpoint: a file that is whole, of this run, or not used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors.torch import load as safetensors_load
from safetensors.torch import save as safetensors_save

from eirene.core.logs import get_logger
from recipes.verifier.graph import HeadShape, PairReader

logger = get_logger(__name__)

CHECKPOINT = "checkpoint.safetensors"
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
        """Writes the checkpoint all at once, its SHA-256 before it: nothing else would notice a flipped bit."""
        if folder is None:
            return
        data = safetensors_save(self._tensors())
        trial = folder / f".{CHECKPOINT}"
        trial.write_bytes(hashlib.sha256(data).digest() + data)
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
        held = safetensors_load(data[_DIGEST:])
        self.model.load_state_dict(_under("model.", held))
        self.weights.update(_under("weights.", held))
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _under("optimiser.", held).items():
            number, _, what = name.partition(".")
            moments.setdefault(int(number), {})[what] = tensor
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        self.losses += held["losses"].tolist()
        torch.set_rng_state(held["random"])

    def _tensors(self) -> dict[str, torch.Tensor]:
        """Everything by name, in a form that holds tensors alone: nothing is unpickled from a checkpoint."""
        found = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        found |= {f"weights.{name}": tensor for name, tensor in self.weights.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            found |= {f"optimiser.{number}.{name}": tensor for name, tensor in moments.items()}
        found |= {"losses": torch.tensor(self.losses, dtype=torch.float64), "random": torch.get_rng_state()}
        return {name: tensor.detach().clone().contiguous() for name, tensor in found.items()}


def _under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
