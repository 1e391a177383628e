"""Exports a trained head to ONNX, with its temperature, and checks it against torch. Needs torch and onnx."""

from __future__ import annotations

import io
import os
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn

from eirene.core.errors import EncoderError
from eirene.models.verifier.runtime import INPUTS, MODEL_FILE, run_head
from recipes.verifier.cache import CachedPair
from recipes.verifier.fit import collate
from recipes.verifier.graph import PairBatch, PairReader, PairSide

OPSET = 17
MOST_APART = 1e-3
"""Between a probability of torch and one of the exported head."""


class _OnePair(nn.Module):
    """The head for one pair without padding: probabilities [1, 3]."""

    def __init__(self, head: PairReader, temperature: float) -> None:
        super().__init__()
        self.head, self.temperature = head, temperature

    def forward(
        self,
        claim: torch.Tensor,
        claim_flags: torch.Tensor,
        premise: torch.Tensor,
        premise_flags: torch.Tensor,
        links: torch.Tensor,
    ) -> torch.Tensor:
        said = PairSide(claim, claim_flags, torch.ones_like(claim[..., 0]))
        given = PairSide(premise, premise_flags, torch.ones_like(premise[..., 0]))
        logits = self.head(PairBatch(said, given, links))
        return torch.softmax(logits / self.temperature, dim=1)


def export_head(head: PairReader, folder: Path, *, temperature: float, probes: list[CachedPair]) -> float:
    """Writes `MODEL_FILE` into the folder, all at once; gives the largest difference in a probability over `probes`.

    Raises `EncoderError`, and leaves the folder as it was, where that is more than `MOST_APART`.
    """
    module = _OnePair(head, temperature).eval()
    example = _arguments(probes[0])
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter that is recommended instead needs a further package
        torch.onnx.export(
            module,
            example,
            buffer,  # type: ignore[arg-type]  # a file object is taken; the annotation forgets it
            input_names=list(INPUTS),
            output_names=["probabilities"],
            dynamic_axes={
                "claim": {1: "claim_tokens"},
                "claim_flags": {1: "claim_tokens"},
                "premise": {1: "premise_tokens"},
                "premise_flags": {1: "premise_tokens"},
                "links": {1: "claim_tokens", 2: "premise_tokens"},
            },
            opset_version=OPSET,
            dynamo=False,
        )
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / f".{MODEL_FILE}"
    trial.write_bytes(buffer.getvalue())
    apart = _apart(module, trial, probes)
    if not apart <= MOST_APART:
        trial.unlink()
        raise EncoderError(f"the exported head differs from torch by {apart:.4f} in a probability, wanted {MOST_APART}")
    os.replace(trial, folder / MODEL_FILE)
    return apart


def _arguments(pair: CachedPair) -> tuple[torch.Tensor, ...]:
    claim, premise, links = collate([pair])
    return claim.vectors, claim.flags, premise.vectors, premise.flags, links


@torch.no_grad()
def _apart(module: nn.Module, file: Path, probes: list[CachedPair]) -> float:
    import onnxruntime

    session = onnxruntime.InferenceSession(file.read_bytes(), providers=["CPUExecutionProvider"])
    worst = 0.0
    for pair in probes:
        arguments = _arguments(pair)
        wanted = module(*arguments).numpy()
        got = run_head(session, {name: tensor.numpy() for name, tensor in zip(INPUTS, arguments, strict=True)})
        worst = max(worst, float(np.abs(got - wanted[0]).max()))
    return worst
