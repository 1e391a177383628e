"""Exports a trained encoder to ONNX with 8-bit weights (quantisation). Needs the packages torch and onnx.

onnxruntime's own dynamic quantisation takes one scale for all activations of a matrix multiplication, so that a text's
vector moves by up to 0.05 in cosine with its neighbours. Here every token's activations have a scale of their own, and
every column of the weights: standard ONNX operators, integer arithmetic inside, a quarter of the size, and near half
the time of float32 on one thread. Embedding tables are stored in 8 bits with a scale per row.
"""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from eirene.core.errors import EncoderError
from eirene.models.encoder.runtime import MODEL_FILE, TOKENIZER_FILE, load_encoder
from recipes.encoder.fit import embed
from recipes.encoder.graph import PackedBert

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
WEIGHT_LEVELS = 127
ACTIVATION_LEVELS = 127
_MIN_QUANTISED = 1024
"""Smaller tensors (biases, layer norms) stay in float32."""


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


@dataclass
class _Rewrite:
    """The graph's new nodes and tensors while its old nodes are read one after another."""

    tensors: dict[str, NDArray[np.float32]]
    """The float matrices that may be replaced, by name."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    added: dict[str, NDArray[Any]] = field(default_factory=dict)
    rows: set[str] = field(default_factory=set)
    """Activations that have been quantised already: query, key and value share theirs."""

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output


def quantise(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same graph with 8-bit embedding tables and matrix multiplications; biases and norms unchanged.

    Expects what `export` makes: activations [tokens, width] with weights as `Gemm` or `MatMul` constants, opset 17.
    """
    import onnx
    from onnx import TensorProto, numpy_helper

    out = onnx.ModelProto()
    out.CopyFrom(model)
    graph = out.graph
    matrices = {t.name: numpy_helper.to_array(t) for t in graph.initializer if len(t.dims) == 2}
    state = _Rewrite({name: array for name, array in matrices.items() if array.size >= _MIN_QUANTISED})
    state.added |= {
        "q.step": np.array(1.0 / ACTIVATION_LEVELS, np.float32),
        "q.one": np.array(1.0, np.float32),
        "q.zero": np.array(128, np.uint8),
        "q.tiny": np.array(1e-9, np.float32),
    }
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0] in state.tensors:
            _lookup(state, node, TensorProto.FLOAT)
        elif node.op_type in {"Gemm", "MatMul"} and node.input[1] in state.tensors:
            _multiply(state, node, TensorProto.FLOAT)
        else:
            state.nodes.append(node)
    used = {name for node in state.nodes for name in node.input}
    kept = [tensor for tensor in graph.initializer if tensor.name in used]
    kept += [numpy_helper.from_array(array, name) for name, array in state.added.items()]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(state.nodes)
    graph.initializer.extend(kept)
    onnx.checker.check_model(out)
    return out


def to_int8(weights: NDArray[np.float32], axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Symmetric 8-bit values and their scales, one for each index of `axis`."""
    scale = np.maximum(np.abs(weights).max(axis=1 - axis, keepdims=True), 1e-12) / WEIGHT_LEVELS
    values = np.clip(np.rint(weights / scale), -WEIGHT_LEVELS, WEIGHT_LEVELS).astype(np.int8)
    return values, scale.astype(np.float32)


def _lookup(state: _Rewrite, node: onnx.NodeProto, float_type: int) -> None:
    name, ids, output = node.input[0], node.input[1], node.output[0]
    if f"{name}.q" not in state.added:
        state.added[f"{name}.q"], state.added[f"{name}.s"] = to_int8(state.tensors[name], axis=0)
    values = state.node("Gather", [f"{name}.q", ids], f"{output}.q", axis=0)
    scales = state.node("Gather", [f"{name}.s", ids], f"{output}.s", axis=0)
    floats = state.node("Cast", [values], f"{output}.f", to=float_type)
    state.node("Mul", [floats, scales], output)


def _multiply(state: _Rewrite, node: onnx.NodeProto, float_type: int) -> None:
    rows, name, output = node.input[0], node.input[1], node.output[0]
    weights = state.tensors[name]
    if any(attribute.name == "transB" and attribute.i for attribute in node.attribute):
        weights = weights.T
    values, scales = to_int8(np.ascontiguousarray(weights), axis=1)
    state.added[f"{output}.w"], state.added[f"{output}.s"] = values, scales[0]
    if rows not in state.rows:
        state.rows.add(rows)
        size = state.node("ReduceMax", [state.node("Abs", [rows], f"{rows}.abs")], f"{rows}.max", axes=[1], keepdims=1)
        step = state.node("Mul", [size, "q.step"], f"{rows}.raw")
        state.node("Max", [step, "q.tiny"], f"{rows}.scale")
        scaled = state.node("Div", [rows, f"{rows}.scale"], f"{rows}.scaled")
        state.node("QuantizeLinear", [scaled, "q.one", "q.zero"], f"{rows}.q")
    product = state.node("MatMulInteger", [f"{rows}.q", f"{output}.w", "q.zero"], f"{output}.int")
    floats = state.node("Cast", [product], f"{output}.float", to=float_type)
    by_row = state.node("Mul", [floats, f"{rows}.scale"], f"{output}.row")
    if node.op_type == "MatMul":
        state.node("Mul", [by_row, f"{output}.s"], output)
    else:
        plain = state.node("Mul", [by_row, f"{output}.s"], f"{output}.plain")
        state.node("Add", [plain, node.input[2]], output)
