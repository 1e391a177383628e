"""A trained encoder as the files that the runtime reads. Needs the packages torch and onnx."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from eirene.core.errors import EncoderError
from eirene.models.encoder.graph import PackedBert
from eirene.models.encoder.runtime import MODEL_FILE, TOKENIZER_FILE, load_encoder
from eirene.models.encoder.training.fit import embed
from eirene.models.encoder.training.quantise import quantise

if TYPE_CHECKING:
    import onnx
    import tokenizers
    from transformers import BertModel

OPSET = 17

MIN_COSINE = 0.97
"""Least cosine between a text's float32 and int8 vectors."""

MAX_COSINE_ERROR = 0.05
"""Largest change of the cosine of any two texts."""

PROBE_TEXTS = (
    "Parents have the right to decide what is best for their child.",
    "Critics reply that the state must not interfere with families.",
    "It costs too much.",
    "The death penalty can produce irreversible miscarriages of justice, and it does not deter crime.",
    "Vaccination protects those who cannot be vaccinated themselves.",
    "People disagree about this.",
    "Nuclear power stations take decades to build; wind and sun can be used within a year.",
    "School uniforms",
)
"""Texts for the parity check where none are given; written for this project."""


@dataclass(frozen=True)
class Parity:
    """How far the exported vectors are from torch's: over texts, and over all pairs of texts."""

    texts: int
    max_abs: float
    min_cosine: float
    max_cosine_error: float


def export_encoder(
    bert: BertModel, tokenizer: tokenizers.Tokenizer, folder: Path, *, texts: Sequence[str] = PROBE_TEXTS
) -> Parity:
    """Writes `model.int8.onnx` and `tokenizer.json` into the folder, each all at once, and checks them.

    Raises `EncoderError`, with the folder untouched, where the int8 vectors are too far from torch's on `texts`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    trial = folder / ".export"
    trial.mkdir(exist_ok=True)
    (trial / MODEL_FILE).write_bytes(quantise(to_onnx(bert)).SerializeToString())
    (trial / TOKENIZER_FILE).write_text(tokenizer.to_str(), encoding="utf-8")
    parity = measure_parity(bert, tokenizer, trial, texts)
    if parity.min_cosine < MIN_COSINE or parity.max_cosine_error > MAX_COSINE_ERROR:
        raise EncoderError(
            f"int8 export differs from torch: {parity}; wanted min_cosine >= {MIN_COSINE}"
            f" and max_cosine_error <= {MAX_COSINE_ERROR} (files left in {trial})"
        )
    for name in (MODEL_FILE, TOKENIZER_FILE):
        os.replace(trial / name, folder / name)
    trial.rmdir()
    return parity


def to_onnx(bert: BertModel) -> onnx.ModelProto:
    """The float32 graph: inputs `input_ids` and `attention_mask`, int64 [n, tokens]; output `embedding` [n, width]."""
    import onnx

    module = PackedBert(bert).eval()
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    ids = torch.arange(15).reshape(3, 5) % bert.config.vocab_size
    buffer = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        # The exporter that is recommended instead needs a further package and keeps no operator set below 18.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module,
            (ids, mask),
            buffer,  # type: ignore[arg-type]  # a file object is taken; the annotation forgets it
            input_names=["input_ids", "attention_mask"],
            output_names=["embedding"],
            dynamic_axes={
                "input_ids": {0: "texts", 1: "tokens"},
                "attention_mask": {0: "texts", 1: "tokens"},
                "embedding": {0: "texts"},
            },
            opset_version=OPSET,
            dynamo=False,
        )
    model: onnx.ModelProto = onnx.load_from_string(buffer.getvalue())
    return model


def measure_parity(bert: BertModel, tokenizer: tokenizers.Tokenizer, folder: Path, texts: Sequence[str]) -> Parity:
    """The encoder in the folder beside torch in float32, on the same texts."""
    with torch.no_grad():
        wanted = embed(PackedBert(bert).eval(), tokenizer, texts).numpy()
    got = load_encoder(folder, threads=1).encode(texts)
    return Parity(
        texts=len(texts),
        max_abs=float(np.abs(got - wanted).max()),
        min_cosine=float((got * wanted).sum(1).min()),
        max_cosine_error=float(np.abs(got @ got.T - wanted @ wanted.T).max()),
    )
