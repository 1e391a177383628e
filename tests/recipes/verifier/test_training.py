"""`train_verifier` end to end: what it leaves, what it does not do again, what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rows import each

pytest.importorskip("torch")
pytest.importorskip("onnx")

from eirene.core.errors import EncoderError, InputError
from eirene.data.line_checksum import check_value
from eirene.models.encoder import Encoder
from eirene.models.verifier.runtime import MODEL_FILE, PremiseClaim, load_verifier
from recipes.verifier.data import VerifierRow, read_rows
from recipes.verifier.fit import VerifierRecipe
from recipes.verifier.graph import HeadShape
from recipes.verifier.run import TrainedVerifier, VerifierStep, train_verifier
from tests.recipes.verifier.verifier_rows import rows_of, write_data, write_rows

pytestmark = pytest.mark.slow

SMALL = VerifierRecipe(epochs=2, batch=8, edits=0.0, shape=HeadShape(width=16, heads=2, layers=1))
Train = Callable[..., TrainedVerifier]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all of these tests: each part of it is made once."""
    return tmp_path_factory.mktemp("vectors")


@pytest.fixture
def train(data: Path, vectors: Path, tmp_path: Path) -> Train:
    def call(out: str = "out", **options: Any) -> TrainedVerifier:
        return train_verifier(data, tmp_path / out, **{"recipe": SMALL, "cache_dir": vectors, "workers": 1, **options})

    return call


def mean_support(rows: list[VerifierRow] | Any, supported: np.ndarray) -> dict[str, Any]:
    assert len(rows) == len(supported) and supported.min() >= 0 and supported.max() <= 1
    return {"mean": float(supported.mean()), "n": len(rows), "of": {"first": float(supported[0]), "none": None}}


def test_a_training_leaves_its_head_and_its_card(train: Train, tmp_path: Path, encoder: Encoder) -> None:
    seen: list[VerifierStep] = []
    trained = train(seeds=(3, 1), progress=seen.append, measure=mean_support)
    steps = [(step.seed, step.done, step.total) for step in seen if step.seed is not None]
    assert steps == [(seed, n, 4) for seed in (3, 1) for n in range(1, 5)]
    assert all(step.loss is not None for step in seen if step.seed is not None)
    card = check_value(json.loads((trained.folder / "training.json").read_text(encoding="utf-8")))
    assert card == json.loads(json.dumps(trained.card))
    assert card["encoder"] == encoder.digest
    assert (card["rows"]["train"], card["rows"]["kept"], card["rows"]["dev"]) == (16, 16, 16)
    assert card["sources"] == {"bump": 8, "own": 8}
    assert card["leak_check"] == {"training_pairs": 16, "dev_pairs": 16, "shared": 0}
    assert sorted(card["data"]) == ["dev.jsonl", "train.jsonl"]
    assert card["recipe"]["shape"]["width"] == 16
    assert [run["seed"] for run in card["runs"]] == card["seeds"] == [3, 1]
    for run in card["runs"]:
        assert run["steps"] == 4 and run["first_loss"] > 0 and run["last_loss"] > 0 and run["seconds"] >= 0
        assert 0.1 < run["temperature"] < 8
        assert run["parity"]["pairs"] == 16 and run["parity"]["most_apart"] < 1e-3


def test_the_head_of_the_seed_that_is_named_first_ships(train: Train, encoder: Encoder) -> None:
    folder = train(seeds=(3, 1)).folder
    heads = {seed: (folder / f"seed-{seed}" / MODEL_FILE).read_bytes() for seed in (3, 1)}
    assert (folder / MODEL_FILE).read_bytes() == heads[3] != heads[1]
    read = load_verifier(encoder, folder).read([PremiseClaim(("Rain fell.",), "It rained.")])
    assert read.shape == (1, 3) and read.sum() == pytest.approx(1.0, abs=1e-5)


def test_the_figures_are_those_of_the_exported_head(train: Train, data: Path, encoder: Encoder) -> None:
    """Temperature and all, for pairs read alone as the product reads them."""
    trained = train(measure=lambda rows, supported: {"supported": [float(p) for p in supported]})
    rows = read_rows(data / "dev.jsonl")
    read = load_verifier(encoder, trained.folder).read([PremiseClaim(row.premise, row.claim) for row in rows])
    assert list(read[:, 0]) == pytest.approx(trained.card["runs"][0]["figures"]["supported"], abs=1e-3)


def test_finished_seeds_are_not_trained_again(train: Train) -> None:
    first = train(seeds=(0,))
    seen: list[VerifierStep] = []
    again = train(seeds=(0, 1), progress=seen.append)
    assert {step.seed for step in seen} == {1}
    assert again.card["runs"][0] == first.card["runs"][0]
    assert again.card["seeds"] == [0, 1]


@pytest.mark.parametrize(
    "other",
    [
        {"recipe": replace(SMALL, margin_weight=3.0)},
        {"max_steps": 1},
        {"recipe": replace(SMALL, shape=HeadShape(width=8, heads=2, layers=1))},
    ],
)
def test_other_settings_are_trained_anew(other: dict[str, Any], train: Train) -> None:
    first = train()
    again = train(**other)
    assert again.card["identity"] != first.card["identity"]
    assert again.card["runs"][0]["sha256"] != first.card["runs"][0]["sha256"]


def test_other_data_are_trained_anew(train: Train, data: Path) -> None:
    first = train(max_steps=1)
    write_rows(data / "dev.jsonl", rows_of(dev=True)[:8])
    again = train(max_steps=1)
    assert again.card["identity"] != first.card["identity"]
    write_rows(data / "train.jsonl", [{**row, "label": "unsupported"} for row in rows_of()])
    assert train(max_steps=1).card["runs"][0]["sha256"] != again.card["runs"][0]["sha256"]


def _flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-40] ^= 1
    file.write_bytes(content)


def test_a_damaged_head_or_card_is_made_again(train: Train) -> None:
    first = train()
    for name in (MODEL_FILE, "training.json"):
        _flipped(first.folder / "seed-0" / name)
        again = train()
        assert again.card["runs"][0]["sha256"] == first.card["runs"][0]["sha256"]
        assert (first.folder / MODEL_FILE).read_bytes() == (first.folder / "seed-0" / MODEL_FILE).read_bytes()


def test_without_dev_rows_the_temperature_is_1(train: Train, data: Path) -> None:
    (data / "dev.jsonl").unlink()
    card = train(max_steps=1, measure=mean_support).card
    assert (card["rows"]["dev"], card["leak_check"]) == (0, None)
    assert (card["runs"][0]["temperature"], card["runs"][0]["figures"]) == (1.0, {})


def test_rows_of_our_own_are_trained_on_beside_those_of_the_data(train: Train, data: Path) -> None:
    argument = {"id": "a", "text": "Animals suffer.", "paraphrases": [{"pid": 1, "text": "Cages hurt animals."}]}
    topic = {"claim_id": 1, "claim": "Zoos should close", "pro": [argument], "con": []}
    write_rows(data / "topics_train.jsonl", [topic])
    card = train(max_steps=1, recipe=replace(SMALL, edits=1.0)).card
    assert card["sources"]["own_edits"] > 0 and card["sources"]["perspectives"] > 0
    assert card["rows"]["own"] == sum(card["sources"].values()) - 16
    assert "topics_train.jsonl" in card["data"]
    assert "perspectives" not in train("without", max_steps=1, recipe=replace(SMALL, arguments=0)).card["sources"]


def test_a_folder_of_something_else_is_left_as_it_is(train: Train, tmp_path: Path) -> None:
    """Also where it has a folder of a seed's name, or is that of another training."""
    mine = tmp_path / "out" / "seed-0" / "notes.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    for made_by in (None, '{"made_by": "recipes.encoder"}', "{"):
        if made_by is not None:
            (tmp_path / "out" / "run.json").write_text(made_by)
        with pytest.raises(InputError, match="holds something else"):
            train()
    assert mine.read_text() == "mine"


def test_a_folder_of_a_call_that_was_killed_over_its_first_file_is_taken(train: Train, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.tmp").write_text('{"ma')
    assert train(max_steps=1).card["runs"]


def test_a_file_cannot_be_the_folder_nor_the_cache(train: Train, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a folder"):
        train("file")
    with pytest.raises(InputError, match="cannot be used as a folder"):
        train(cache_dir=tmp_path / "file")


def test_a_leak_is_refused_before_anything_is_made(train: Train, data: Path, tmp_path: Path) -> None:
    write_rows(data / "dev.jsonl", [*rows_of(dev=True), rows_of()[5]])
    with pytest.raises(EncoderError, match=r"1 training pairs stand in dev\.jsonl too"):
        train()
    assert not (tmp_path / "out").exists()


@each(
    "options, said",
    [
        ({"seeds": ()}, "distinct and at least one"),
        ({"seeds": (1, 1)}, "distinct and at least one"),
        ({"seeds": (-1,)}, "integer from 0"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"recipe": replace(SMALL, epochs=0)}, "epochs must be at least 1"),
        ({"recipe": replace(SMALL, batch=0)}, "batch must be at least 1"),
        ({"recipe": replace(SMALL, edits=1.5)}, "edits must be a share"),
    ],
)
def test_bad_settings_are_input_errors(options: dict[str, Any], said: str, train: Train) -> None:
    with pytest.raises(InputError, match=said):
        train(**options)


def test_rows_that_the_mixture_leaves_none_of_are_an_input_error(train: Train, data: Path) -> None:
    """Deterministic: of these rows of a thinned source none is drawn."""
    from recipes.verifier.data import thinned

    rows = [{**rows_of()[0], "claim": f"A firm built {n} bridges.", "source": "breaking_nli", "meta": {}}
            for n in range(40)]  # fmt: skip
    file = write_rows(data / "train.jsonl", rows)
    left_out = [row for row, read in zip(rows, read_rows(file), strict=True) if not thinned([read])]
    write_rows(file, left_out)
    with pytest.raises(InputError, match="the mixture leaves none of its rows"):
        train()
