"""The recipe end to end on a tiny model: it learns, exports, resumes and refuses leaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from eirene.core.errors import EncoderError, InputError
from eirene.data.line_checksum import check_value
from eirene.models.encoder import load_encoder

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

if TYPE_CHECKING:
    from transformers import BertModel

from eirene.models.encoder.runtime import WEIGHTS  # noqa: E402
from recipes.encoder import data as base_module  # noqa: E402 - after the skips
from recipes.encoder.export import PROBE_TEXTS, export_encoder, measure_parity  # noqa: E402
from recipes.encoder.fit import EncoderRecipe, fit  # noqa: E402
from recipes.encoder.graph import PackedBert  # noqa: E402
from recipes.encoder.run import mean_weights, train_encoder  # noqa: E402

pytestmark = pytest.mark.slow

SMALL = EncoderRecipe(epochs=2, rank=2, alpha=4)


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=30522,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        attn_implementation="eager",
    )
    bert: BertModel = transformers.BertModel(config, add_pooling_layer=False).eval()
    return bert


@pytest.fixture
def base(bert: BertModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny model as a verified base folder: its own digest stands in for the published one."""
    folder = tmp_path / "base"
    bert.save_pretrained(folder)
    (folder / "tokenizer.json").write_bytes((WEIGHTS / "tokenizer.json").read_bytes())
    from recipes.folder import sha256

    monkeypatch.setattr(base_module, "BASE_SHA256", sha256(folder / "model.safetensors"))
    return folder


def test_packed_equals_the_plain_forward(bert: BertModel) -> None:
    """Against transformers' own forward with mean pooling."""
    ids = torch.randint(1000, 2000, (3, 9))
    mask = torch.tensor([[1] * 9, [1] * 4 + [0] * 5, [1] * 2 + [0] * 7])
    with torch.no_grad():
        hidden = bert(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = (hidden * mask[:, :, None]).sum(1) / mask.sum(1, keepdim=True)
        plain = torch.nn.functional.normalize(pooled)
        packed = PackedBert(bert)(ids, mask)
    assert torch.allclose(plain, packed, atol=1e-5)


def test_export_agrees_with_torch(bert: BertModel, tmp_path: Path) -> None:
    tokenizer = base_module.load_tokenizer(WEIGHTS)
    parity = export_encoder(bert, tokenizer, tmp_path / "out")
    assert parity.min_cosine > 0.97
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["model.int8.onnx", "tokenizer.json"]
    assert measure_parity(bert, tokenizer, tmp_path / "out", PROBE_TEXTS) == parity


def test_a_bad_export_is_refused(bert: BertModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recipes.encoder.export.MIN_COSINE", 1.1)
    with pytest.raises(EncoderError, match="differs from torch"):
        export_encoder(bert, base_module.load_tokenizer(WEIGHTS), tmp_path / "out")
    assert not (tmp_path / "out" / "model.int8.onnx").exists()


def test_training_writes_runs_mean_and_card(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int, int]] = []
    out = tmp_path / "out"
    trained = train_encoder(
        topics_dir,
        out,
        seeds=(0, 1),
        recipe=SMALL,
        base=base,
        progress=lambda seed, step, steps, loss: seen.append((seed, step, steps)),
    )
    assert seen == [(0, 1, 2), (0, 2, 2), (1, 1, 2), (1, 2, 2)]
    card = check_value(json.loads((out / "training.json").read_text(encoding="utf-8")))
    assert card == json.loads(json.dumps(trained.card))
    assert [run["seed"] for run in card["runs"]] == [0, 1]
    assert all(np.isfinite(run["last_loss"]) for run in card["runs"])
    assert card["leak_check"]["shared"] == 0
    assert 0 <= card["mean"]["figures"]["pair_auc"] <= 1
    assert load_encoder(out, threads=1).encode(["pupils need rest"]).shape == (1, 32)


def test_finished_seeds_are_not_trained_again(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    first = train_encoder(topics_dir, tmp_path / "out", seeds=(0,), recipe=SMALL, base=base)
    steps: list[int] = []
    again = train_encoder(
        topics_dir,
        tmp_path / "out",
        seeds=(0, 1),
        recipe=SMALL,
        base=base,
        progress=lambda seed, *_: steps.append(seed),
    )
    assert set(steps) == {1}
    assert again.card["runs"][0] == first.card["runs"][0]


def test_damaged_weights_are_trained_again(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    """A finished seed is believed by its card's checksum and its weights' digest."""
    out = tmp_path / "out"
    first = train_encoder(topics_dir, out, seeds=(0,), recipe=SMALL, base=base)
    for name in ("merged.safetensors", "training.json"):
        file = out / "seed-0" / name
        data = bytearray(file.read_bytes())
        data[-40] ^= 1
        file.write_bytes(data)
        again = train_encoder(topics_dir, out, seeds=(0,), recipe=SMALL, base=base)
        assert again.card["runs"][0]["sha256"] == first.card["runs"][0]["sha256"]
        assert file.read_bytes() != data


def test_a_folder_of_something_else_is_left_as_it_is(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    """Also where it has a folder of a seed's name."""
    mine = tmp_path / "out" / "seed-0" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    with pytest.raises(InputError, match="holds something else"):
        train_encoder(topics_dir, tmp_path / "out", seeds=(0,), recipe=SMALL, base=base)
    assert mine.read_text() == "mine"


def test_a_leak_is_refused(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    rows = (topics_dir / "topics_train.jsonl").read_text(encoding="utf-8").splitlines()
    (topics_dir / "topics_dev.jsonl").write_text(rows[0] + "\n", encoding="utf-8")
    with pytest.raises(EncoderError, match="stand in topics_dev"):
        train_encoder(topics_dir, tmp_path / "out", seeds=(0,), recipe=SMALL, base=base)


def test_wrong_base_weights_are_refused(base: Path, topics_dir: Path, tmp_path: Path) -> None:
    (base / "model.safetensors").write_bytes(b"other weights")
    with pytest.raises(EncoderError, match="SHA-256"):
        train_encoder(topics_dir, tmp_path / "out", base=base)


@pytest.mark.parametrize("seeds", [(), (1, 1)])
def test_seeds_must_be_distinct(seeds: tuple[int, ...], topics_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="distinct"):
        train_encoder(topics_dir, tmp_path / "out", seeds=seeds)


def test_the_same_seed_gives_the_same_weights(base: Path, topics_dir: Path) -> None:
    from recipes.encoder.data import read_claims

    claims, tokenizer = read_claims(topics_dir / "topics_train.jsonl"), base_module.load_tokenizer(base)
    one, two = (
        fit(base_module.load_bert(base), tokenizer, claims, recipe=SMALL, seed=3)[0].state_dict() for _ in range(2)
    )
    assert all(torch.equal(one[name], two[name]) for name in one)


def test_the_mean_is_taken_tensor_by_tensor() -> None:
    states = [
        {"w": torch.tensor([1.0, 2.0]), "n": torch.tensor(7)},
        {"w": torch.tensor([3.0, 6.0]), "n": torch.tensor(7)},
    ]
    mean = mean_weights(states)
    assert mean["w"].tolist() == [2.0, 4.0]
    assert mean["n"].item() == 7
