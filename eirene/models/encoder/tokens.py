"""Token vectors of a text, read out of the encoder's hidden layers in the run that gives the sentence vector.

The shipped graph has one output. Two of its inner values become outputs when it is opened, by what protocol buffers say
of joined messages: fields that repeat are added up. The file stays as it is, and so does every sentence vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

LAYERS = ("/LayerNorm_4/LayerNormalization_output_0", "/LayerNorm_12/LayerNormalization_output_0")
"""What layers 2 and 6 give, by their names in the graph; each [tokens of the run, width], real tokens only."""

_GRAPH = 7  # ModelProto.graph
_OUTPUT = 12  # GraphProto.output
_NAME = 1  # ValueInfoProto.name


@dataclass(frozen=True, slots=True, eq=False)
class TokenLayers:
    """The t tokens of a text, without the marks at its ends.

    `ids`: int32 [t]. `spans`: character offsets into the text, int32 [t, 2]. `vectors`: float16 [t, 2 * width], the
    layers of `LAYERS` side by side.
    """

    ids: NDArray[np.int32]
    spans: NDArray[np.int32]
    vectors: NDArray[np.float16]


class ReadsTokens(Protocol):
    """An encoder that gives the vectors of tokens too."""

    @property
    def digest(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def tokens(self, texts: Sequence[str]) -> list[TokenLayers]: ...


def with_outputs(model: bytes, names: Sequence[str] = LAYERS) -> bytes:
    """The serialised ONNX model with inner values as further outputs; a name that it lacks fails when it is opened."""
    outputs = b"".join(_field(_OUTPUT, _field(_NAME, name.encode())) for name in names)
    return model + _field(_GRAPH, outputs)


def _field(number: int, body: bytes) -> bytes:
    """A length-delimited field of a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
