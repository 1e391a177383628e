"""Vectors of tokens: what `Encoder.tokens` promises, and that sentence vectors stay as they are beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.errors import EncoderError
from eirene.models.encoder import Encoder, load_encoder
from eirene.models.encoder.runtime import TokenLayers
from tests.rows import each

LONG = "The museum by the river is open, and free for all. " * 60
TEXTS = [
    "Otters hold hands while they sleep.",
    "In 1901 a firm from Leeds built the bridge.",
    "🙂 emoji, عربى, and a NUL \0 inside",
    "\ud800 half a surrogate pair \udfff",
    "它太贵了，而且没有用。",
    "[SEP] [CLS] are plain text",
    LONG,
]
BLANK = ["", " ", "\n\t", "\u200b"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(threads=1)


def bits(found: list[TokenLayers]) -> list[bytes]:
    return [t.ids.tobytes() + t.spans.tobytes() + t.vectors.tobytes() for t in found]


@each("text", [*TEXTS, *BLANK])
def test_every_token_has_an_id_a_span_and_a_row(encoder: Encoder, text: str) -> None:
    (found,) = encoder.tokens([text])
    tokens = len(found.ids)
    assert found.ids.shape == (tokens,) and found.spans.shape == (tokens, 2)
    assert found.vectors.shape == (tokens, 768)
    assert (found.ids.dtype, found.spans.dtype, found.vectors.dtype) == (np.int32, np.int32, np.float16)
    assert np.isfinite(found.vectors).all()
    assert ((found.spans >= 0) & (found.spans <= len(text))).all()


@each("blank", BLANK)
def test_a_blank_text_has_no_tokens(encoder: Encoder, blank: str) -> None:
    assert len(encoder.tokens([blank])[0].ids) == 0


def test_spans_point_at_the_words(encoder: Encoder) -> None:
    text = "Otters  hold\nhands."
    (found,) = encoder.tokens([text])
    assert "".join(text[a:b] for a, b in found.spans) == "Ottersholdhands."


def test_nothing_of_a_text_over_256_tokens_is_dropped(encoder: Encoder) -> None:
    (found,) = encoder.tokens([LONG])
    assert len(found.ids) > 600
    assert LONG[found.spans[-1, 0] : found.spans[-1, 1]] == "."
    assert found.spans[-1, 1] == len(LONG.rstrip())
    assert (np.diff(found.spans[:, 0]) > 0).all()


def test_the_same_word_has_another_vector_in_another_sentence(encoder: Encoder) -> None:
    river, money = encoder.tokens(["the bank of the river", "the bank gave a loan"])
    assert river.ids[1] == money.ids[1]
    assert not np.array_equal(river.vectors[1], money.vectors[1])


def test_rows_are_the_same_from_the_cache_and_not() -> None:
    """Asked for twice, after `encode`, before it, alone or among others."""
    fresh = load_encoder(threads=1, cached_texts=0)
    first = bits(fresh.tokens(TEXTS))
    assert bits(fresh.tokens(TEXTS)) == first
    assert [bits(fresh.tokens([text]))[0] for text in TEXTS] == first
    after = load_encoder(threads=1)
    after.tokens(["begin"])
    after.encode(TEXTS)
    assert bits(after.tokens([*reversed(TEXTS), *TEXTS]))[len(TEXTS) :] == first


def test_sentence_vectors_are_the_same_to_the_last_bit_before_and_after() -> None:
    plain = load_encoder(threads=1).encode(TEXTS).tobytes()
    reading = load_encoder(threads=1, cached_texts=0)
    assert reading.encode(TEXTS).tobytes() == plain
    reading.tokens(TEXTS)
    assert reading.encode(TEXTS).tobytes() == plain
    keeping = load_encoder(threads=1)
    keeping.tokens(TEXTS)
    assert keeping.encode(TEXTS).tobytes() == plain


@settings(max_examples=25)
@given(st.lists(st.text(max_size=60), max_size=5))
def test_a_text_is_read_as_it_is_alone(encoder: Encoder, texts: list[str]) -> None:
    encoder._token_cache = None
    together = bits(encoder.tokens(texts))
    encoder._token_cache = None  # forgets them
    assert [bits(encoder.tokens([text]))[0] for text in texts] == together


def test_one_string_is_refused(encoder: Encoder) -> None:
    with pytest.raises(TypeError, match=r"pass \[text\]"):
        encoder.tokens("a text")


def test_no_texts_give_nothing(encoder: Encoder) -> None:
    assert encoder.tokens([]) == []


def test_an_encoder_without_these_layers_still_encodes_and_says_so(tmp_path: Path) -> None:
    """One of another architecture, such as users may train or export themselves."""
    pytest.importorskip("onnx")
    other = _foreign(tmp_path)
    assert other.encode(["A text."]).shape == (1, 8)
    with pytest.raises(EncoderError, match="gives no vectors of tokens"):
        other.tokens(["A text."])


def _foreign(folder: Path) -> Encoder:
    import onnx
    from onnx import TensorProto, helper

    from eirene.models.encoder.runtime import MODEL_FILE, TOKENIZER_FILE, WEIGHTS

    rows = helper.make_tensor("rows", TensorProto.FLOAT, [30522, 8], np.ones((30522, 8), np.float32).ravel())
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["found"]),
        helper.make_node("ReduceMean", ["found"], ["vectors"], axes=[1], keepdims=0),
    ]
    inputs = [helper.make_tensor_value_info(n, TensorProto.INT64, ["n", "t"]) for n in ("input_ids", "attention_mask")]
    output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["n", 8])
    graph = helper.make_graph(nodes, "other", inputs, [output], [rows])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / MODEL_FILE)
    (folder / TOKENIZER_FILE).write_bytes((WEIGHTS / TOKENIZER_FILE).read_bytes())
    return load_encoder(folder, threads=1)
