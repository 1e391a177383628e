"""The shipped encoder: what `Encoder` promises about every text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from eirene.alignment import load_constants
from eirene.core.errors import EncoderError
from eirene.models.encoder import Encoder, load_encoder, runtime
from eirene.models.encoder.runtime import (
    MODEL_FILE,
    SHIPPED_DIGEST,
    TOKENIZER_FILE,
    WEIGHTS,
    cut_windows,
    default_threads,
)
from tests.rows import each

TEXTS = [
    "Parents know what is best for their child.",
    "Critics reply that the state has to protect children.",
    "Too costly",
    "它太贵了，而且没有用。",
    "🙂 emoji, عربى, and a NUL \0 inside",
]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(threads=1)


def fresh(texts: list[str], threads: int = 1) -> np.ndarray:
    """The vectors without help of a cache."""
    return load_encoder(threads=threads).encode(texts)


def bits(vectors: np.ndarray) -> bytes:
    return vectors.tobytes()


def test_rows_are_float32_of_length_one(encoder: Encoder) -> None:
    vectors = encoder.encode(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)


def test_no_texts_give_no_rows(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, 384)


@each("blank", ["", " ", "\n\t", "\u200b"])
def test_a_blank_text_is_the_zero_vector(encoder: Encoder, blank: str) -> None:
    """It says nothing, so that it is like nothing: cosine 0 with every text."""
    assert not encoder.encode([blank, TEXTS[0]])[0].any()


def test_one_string_is_refused(encoder: Encoder) -> None:
    with pytest.raises(TypeError, match="pass \\[text\\]"):
        encoder.encode("a text")


def test_threads_do_not_change_the_bits() -> None:
    assert bits(fresh(TEXTS, threads=1)) == bits(fresh(TEXTS, threads=2))


def test_a_vector_does_not_depend_on_its_neighbours_to_the_last_bit() -> None:
    """Alone, among texts of its length or beside far longer ones, and of any length, also when cut into windows."""
    texts = [*TEXTS, *(("a word of many " * 90)[:length] for length in range(3, 1300, 61))]
    encoder = load_encoder(threads=1, cached_texts=0)
    alone = np.vstack([encoder.encode([text]) for text in texts])
    assert bits(encoder.encode(texts)) == bits(alone)
    assert bits(encoder.encode([*texts, "one more and again " * 99])[:-1]) == bits(alone)
    assert bits(encoder.encode([text for text in texts for _ in "ab"])[::2]) == bits(alone)


def test_cached_and_repeated_texts_are_equal(encoder: Encoder) -> None:
    first = encoder.encode(TEXTS)
    assert np.array_equal(encoder.encode([*TEXTS, *TEXTS]), np.vstack([first, first]))


def test_callers_cannot_spoil_the_cache(encoder: Encoder) -> None:
    before = encoder.encode(TEXTS[:1]).copy()
    encoder.encode(TEXTS[:1])[:] = 0
    assert np.array_equal(encoder.encode(TEXTS[:1]), before)


def test_the_cache_is_bounded() -> None:
    small = load_encoder(threads=1, cached_texts=3)
    small.encode([f"text number {number}" for number in range(9)])
    assert len(small._cache) == 3


def test_the_end_of_a_long_text_counts(encoder: Encoder) -> None:
    """Nothing is cut off silently: two texts that differ after 256 tokens differ."""
    start = "The museum is open and free for all. " * 60
    one, two, head = encoder.encode([start + "Taxes are too high. " * 60, start + "Wolves are shy. " * 60, start])
    assert one @ two < 0.9
    assert one @ head > 0.5


def test_unusual_text_is_encoded(encoder: Encoder) -> None:
    vectors = encoder.encode(["\ud800 broken", "[SEP] [CLS] [MASK]", "x" * 5000])
    assert np.isfinite(vectors).all()


def test_the_marks_of_the_model_are_plain_text(encoder: Encoder) -> None:
    ids = encoder._tokenizer.encode("[SEP]").ids
    assert len(ids) > 3


def test_paraphrases_are_closer_than_other_arguments(encoder: Encoder) -> None:
    vectors = encoder.encode(
        [
            "Vaccination is a duty towards those who cannot be vaccinated.",
            "Whoever gets the jab protects people who are too ill to get it.",
            "Nobody may force a medical treatment on a person's body.",
        ]
    )
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_the_digest_names_the_files(encoder: Encoder) -> None:
    assert encoder.digest == load_encoder(threads=2).digest
    assert len(encoder.digest) == 12


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"model\.int8\.onnx"):
        load_encoder(tmp_path)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "model.int8.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}", encoding="utf-8")
    with pytest.raises(EncoderError, match="cannot be read"):
        load_encoder(tmp_path)


def test_shipped_files_are_those_that_were_shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One flipped bit of the weights would give vectors like any others; a folder of one's own holds what it likes."""
    assert load_constants().encoder == SHIPPED_DIGEST == load_encoder().digest
    data = bytearray((WEIGHTS / MODEL_FILE).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / MODEL_FILE).write_bytes(data)
    (tmp_path / TOKENIZER_FILE).write_bytes((WEIGHTS / TOKENIZER_FILE).read_bytes())
    monkeypatch.setattr(runtime, "WEIGHTS", tmp_path)
    with pytest.raises(EncoderError, match=r"is not the one that ships .* reinstall"):
        load_encoder()
    load_encoder(tmp_path)


def test_weights_that_are_no_numbers_are_refused(tmp_path: Path) -> None:
    """NaN would become the zero vector, which is like nothing: every text would say nothing."""
    onnx = pytest.importorskip("onnx")
    model = onnx.load(WEIGHTS / MODEL_FILE)
    scale = next(t for t in model.graph.initializer if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 1)
    spoilt = np.full_like(onnx.numpy_helper.to_array(scale), np.nan)
    scale.CopyFrom(onnx.numpy_helper.from_array(spoilt, scale.name))
    onnx.save(model, tmp_path / MODEL_FILE)
    (tmp_path / TOKENIZER_FILE).write_bytes((WEIGHTS / TOKENIZER_FILE).read_bytes())
    with pytest.raises(EncoderError, match="weights are damaged"):
        load_encoder(tmp_path)


@pytest.mark.parametrize(("value", "expected"), [("3", 3), ("0", None), ("many", None), ("", None)])
def test_threads_from_the_environment(monkeypatch: pytest.MonkeyPatch, value: str, expected: int | None) -> None:
    monkeypatch.delenv("EIRENE_THREADS", raising=False)
    usual = default_threads()
    assert 1 <= usual <= 4
    monkeypatch.setenv("EIRENE_THREADS", value)
    assert default_threads() == (usual if expected is None else expected)


def test_importing_loads_no_heavy_package() -> None:
    code = (
        "import sys, eirene.models.encoder;"
        "print([m for m in ('onnxruntime', 'tokenizers', 'torch', 'transformers', 'peft', 'onnx') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@each("length", [1, 5, 6, 7, 12, 13, 100])
def test_windows_lose_nothing_and_are_even(length: int) -> None:
    windows = cut_windows([101, *range(1000, 1000 + length), 102], max_tokens=8)
    bodies = [window[1:-1] for window in windows]
    assert [token for body in bodies for token in body] == list(range(1000, 1000 + length))
    assert all(window[0] == 101 and window[-1] == 102 and len(window) <= 8 for window in windows)
    assert max(map(len, bodies)) - min(map(len, bodies)) <= 1


def test_a_blank_text_has_no_window() -> None:
    assert cut_windows([101, 102]) == []
