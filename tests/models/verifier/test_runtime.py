"""The exported head: parity with torch, what a pair gives alone and among others, and files that are no verifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from eirene.core.errors import EncoderError  # noqa: E402 - after the skips
from eirene.models.encoder import Encoder, load_encoder  # noqa: E402
from eirene.models.verifier import runtime  # noqa: E402
from eirene.models.verifier.runtime import MODEL_FILE, PremiseClaim, Verifier, load_verifier  # noqa: E402
from recipes.verifier.cache import CachedPair, cached_pairs  # noqa: E402
from recipes.verifier.data import read_rows  # noqa: E402
from recipes.verifier.export import export_head  # noqa: E402
from recipes.verifier.fit import probabilities  # noqa: E402
from recipes.verifier.graph import HeadShape, PairReader  # noqa: E402
from recipes.verifier.temperature import tempered  # noqa: E402
from tests.recipes.verifier.verifier_rows import rows_of, write_rows  # noqa: E402
from tests.rows import each  # noqa: E402

SHAPE = HeadShape(width=16, heads=2, layers=2)
ODD = ["", " ", "\u200b", "🙂", "\0", "\ud800", "它太贵了。", "x" * 3000, "word " * 400, "[SEP]", "_"]


def head_of(seed: int, shape: HeadShape = SHAPE) -> PairReader:
    torch.manual_seed(seed)
    return PairReader(shape).eval()


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> list[CachedPair]:
    folder = tmp_path_factory.mktemp("cache")
    rows = read_rows(write_rows(folder / "train.jsonl", rows_of()))
    cache = cached_pairs(rows, folder, workers=1)
    return [cache[n] for n in range(len(rows))]


@pytest.fixture(scope="module")
def folder(probes: list[CachedPair], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("head")
    export_head(head_of(0), out, temperature=1.5, probes=probes)
    return out


@pytest.fixture(scope="module")
def verifier(encoder: Encoder, folder: Path) -> Verifier:
    return load_verifier(encoder, folder)


def pair_in(row: dict[str, Any]) -> PremiseClaim:
    premise = row["premise"]
    return PremiseClaim((premise,) if isinstance(premise, str) else tuple(premise), row["claim"])


PAIRS = [pair_in(row) for row in rows_of()]


def test_the_exported_head_agrees_with_torch(verifier: Verifier, tmp_path: Path) -> None:
    """From the texts on, with the temperature, in batches with padding and without."""
    rows = read_rows(write_rows(tmp_path / "train.jsonl", rows_of()))
    cache = cached_pairs(rows, tmp_path, workers=1)
    wanted = tempered(probabilities(head_of(0), cache, len(rows)), 1.5)
    assert verifier.read(PAIRS) == pytest.approx(wanted, abs=1e-4)


def test_export_tells_how_far_it_is_apart_and_leaves_one_file(probes: list[CachedPair], tmp_path: Path) -> None:
    assert export_head(head_of(1), tmp_path / "out", temperature=1.0, probes=probes) < 1e-4
    assert [file.name for file in (tmp_path / "out").iterdir()] == [MODEL_FILE]


def test_a_bad_export_is_refused_and_the_one_before_it_stays(
    probes: list[CachedPair], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_head(head_of(1), tmp_path, temperature=1.0, probes=probes)
    before = (tmp_path / MODEL_FILE).read_bytes()
    monkeypatch.setattr("recipes.verifier.export.MOST_APART", -1.0)
    with pytest.raises(EncoderError, match="differs from torch"):
        export_head(head_of(2), tmp_path, temperature=1.0, probes=probes)
    assert (tmp_path / MODEL_FILE).read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [MODEL_FILE]


def test_a_pair_is_read_the_same_alone_and_among_others(encoder: Encoder, folder: Path) -> None:
    """To the last bit; from the memory of pairs too, in another order and beside itself."""
    alone = np.vstack([load_verifier(encoder, folder).read([pair]) for pair in PAIRS])
    verifier = load_verifier(load_encoder(threads=1), folder)
    assert verifier.read(PAIRS[::-1])[::-1].tobytes() == alone.tobytes()
    assert verifier.read(PAIRS).tobytes() == alone.tobytes()
    assert verifier.read([*PAIRS, *PAIRS])[len(PAIRS) :].tobytes() == alone.tobytes()


def test_callers_cannot_spoil_what_is_kept(verifier: Verifier) -> None:
    before = verifier.read(PAIRS[:1]).copy()
    verifier.read(PAIRS[:1])[:] = 0
    assert np.array_equal(verifier.read(PAIRS[:1]), before)


def test_no_pairs_give_no_rows(verifier: Verifier) -> None:
    assert verifier.read([]).shape == (0, 3)


@each("text", ODD)
def test_odd_texts_are_read_on_both_sides(text: str, verifier: Verifier) -> None:
    plain = "Otters hold hands."
    read = verifier.read(
        [PremiseClaim((text,), plain), PremiseClaim((plain,), text), PremiseClaim((text, plain), plain)]
    )
    assert np.isfinite(read).all()
    assert read.sum(1) == pytest.approx(np.ones(3), abs=1e-5)


@each("blank", ["", " ", "\n", "\u200b"])
def test_without_a_word_nothing_is_supported(blank: str, verifier: Verifier) -> None:
    pairs = [PremiseClaim((blank,), "It rained."), PremiseClaim(("It rained.",), blank), PremiseClaim((), "It rained.")]
    assert verifier.read(pairs).tolist() == [[0.0, 1.0, 0.0]] * 3


def test_a_blank_sentence_in_a_premise_changes_nothing(verifier: Verifier) -> None:
    plain, with_blank = ("Rain fell.", "Cats slept."), ("Rain fell.", " ", "Cats slept.")
    one, other = verifier.read([PremiseClaim(premise, "It rained.") for premise in (plain, with_blank)])
    assert np.array_equal(one, other)


@settings(max_examples=40)
@given(st.lists(st.text(max_size=50), min_size=1, max_size=3), st.text(max_size=50))
def test_every_pair_gives_probabilities(verifier: Verifier, premise: list[str], claim: str) -> None:
    (read,) = verifier.read([PremiseClaim(tuple(premise), claim)])
    assert read.min() >= 0 and read.sum() == pytest.approx(1.0, abs=1e-5)


def test_a_higher_temperature_is_less_sure(probes: list[CachedPair], encoder: Encoder, tmp_path: Path) -> None:
    read = {}
    for temperature in (0.5, 1.0, 4.0):
        export_head(head_of(3), tmp_path / str(temperature), temperature=temperature, probes=probes)
        read[temperature] = load_verifier(encoder, tmp_path / str(temperature)).read(PAIRS)
    assert (read[0.5].max(1) > read[1.0].max(1)).all() and (read[1.0].max(1) > read[4.0].max(1)).all()
    assert tempered(read[1.0], 4.0) == pytest.approx(read[4.0], abs=1e-4)


def _missing(file: Path) -> None:
    file.unlink()


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _foreign(file: Path) -> None:
    from eirene.models.encoder.runtime import MODEL_FILE, WEIGHTS

    file.write_bytes((WEIGHTS / MODEL_FILE).read_bytes())


def _no_model(file: Path) -> None:
    file.write_text("<html>404</html>")


def _damaged(file: Path) -> None:
    """A weight that is no number."""
    model = onnx.load(str(file))
    tensor = max(model.graph.initializer, key=lambda t: len(t.raw_data))
    tensor.raw_data = np.full(len(tensor.raw_data) // 4, math.nan, np.float32).tobytes()
    onnx.save(model, str(file))


@each("spoil, said", [
        (_missing, "no verifier file"), (_cut, "cannot be read"), (_empty, "cannot be read"),
        (_foreign, "its inputs are"), (_no_model, "cannot be read"), (_damaged, "a probability is no number"),
    ],)  # fmt: skip
def test_a_file_that_is_not_a_verifier_is_one_clear_error(
    spoil: Callable[[Path], None], said: str, folder: Path, encoder: Encoder, tmp_path: Path
) -> None:
    file = tmp_path / MODEL_FILE
    file.write_bytes((folder / MODEL_FILE).read_bytes())
    spoil(file)
    with pytest.raises(EncoderError, match=said) as caught:
        load_verifier(encoder, tmp_path)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


class _OtherEncoder:
    """The shipped one under another digest."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.digest = "0123456789ab"
        self.encode, self.tokens = encoder.encode, encoder.tokens


@pytest.fixture
def shipped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The tiny head stands in for the shipped one."""
    import hashlib

    digest = hashlib.sha256((folder / MODEL_FILE).read_bytes()).hexdigest()[:12]
    monkeypatch.setattr(runtime, "WEIGHTS", folder)
    monkeypatch.setattr(runtime, "SHIPPED_DIGEST", digest)
    return digest


@pytest.mark.usefixtures("shipped")
def test_the_shipped_head_on_another_encoder_is_one_clear_error(encoder: Encoder) -> None:
    with pytest.raises(EncoderError, match="got encoder 0123456789ab: train one for it"):
        load_verifier(_OtherEncoder(encoder))


def test_the_shipped_head_is_known_by_its_digest(
    shipped: str, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_verifier(encoder).digest == shipped
    monkeypatch.setattr(runtime, "SHIPPED_DIGEST", "0" * 12)
    with pytest.raises(EncoderError, match=f"is not the one that ships .digest {shipped}.; reinstall"):
        load_verifier(encoder)
