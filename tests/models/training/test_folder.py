"""A run's folder: whose it is, what may be started from, and what its card is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.data import ColumnMap, Shape
from eirene.data.json_rows import JsonBytes
from eirene.models.training import TrainingRecipe
from eirene.models.training.folder import RUN_FILE, TrainingRun, check_base, claim_folder, run_order
from eirene.models.training.recipe import CARD_FILE, epoch_means, logged, write_card, write_json

RUN = TrainingRun("base", Path("out"), seed=3)
ORDER = run_order(RUN, TrainingRecipe(lora_targets=("q_proj",)), JsonBytes("rows.jsonl", b"{}"))


def test_a_new_folder_is_claimed_and_then_known_again(tmp_path: Path) -> None:
    assert claim_folder(tmp_path / "out", ORDER) is None
    assert claim_folder(tmp_path / "out", ORDER) is None  # not finished: it goes on
    write_json(tmp_path / "out" / CARD_FILE, {"done": 1})
    assert claim_folder(tmp_path / "out", ORDER) == {"done": 1}


def test_a_run_that_was_killed_over_its_first_file_can_begin_again(tmp_path: Path) -> None:
    (tmp_path / "run.tmp").write_text('{"ba')
    assert claim_folder(tmp_path, ORDER) is None
    assert (tmp_path / RUN_FILE).is_file()


def test_a_folder_of_another_run_is_refused_and_what_differs_is_named(tmp_path: Path) -> None:
    claim_folder(tmp_path / "out", ORDER)
    with pytest.raises(InputError, match=r"other data or settings \(base, seed\); name a new folder"):
        claim_folder(tmp_path / "out", {**ORDER, "seed": 4, "base": "other"})


@pytest.mark.parametrize("damage", ["{", "[]", ""])
def test_a_damaged_run_file_is_an_input_error(damage: str, tmp_path: Path) -> None:
    (tmp_path / RUN_FILE).write_text(damage)
    with pytest.raises(InputError, match="name a new folder"):
        claim_folder(tmp_path, ORDER)


def test_a_card_that_was_changed_is_refused(tmp_path: Path) -> None:
    """By its checksum, however the file is laid out; a card of an earlier version has none."""
    claim_folder(tmp_path / "out", ORDER)
    write_card(tmp_path / "out", {"loss": 0.25}, "")
    card = tmp_path / "out" / CARD_FILE
    assert claim_folder(tmp_path / "out", ORDER) == {"loss": 0.25}
    card.write_text(card.read_text().replace("0.25", "0.15"))
    with pytest.raises(InputError, match=r"card\.json: does not fit its checksum"):
        claim_folder(tmp_path / "out", ORDER)


def test_a_file_or_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    for place in (tmp_path, tmp_path / "mine"):
        with pytest.raises(InputError, match="holds something else"):
            claim_folder(place, ORDER)
    with pytest.raises(InputError, match="cannot be written"):
        claim_folder(tmp_path / "mine" / "out", ORDER)
    assert (tmp_path / "mine").read_text() == "mine"


def test_the_order_of_a_run_is_plain_json_with_everything_that_decides_it() -> None:
    assert ORDER["recipe"]["lora_targets"] == ["q_proj"]
    assert (ORDER["base"], ORDER["seed"], ORDER["rate"], len(ORDER["data_sha256"])) == ("base", 3, 2e-4, 64)


def test_training_starts_from_a_whole_model(tmp_path: Path) -> None:
    """A folder by its whole path, an id as it is, with or without `hf:`; an adapter on top of one would not load."""
    assert check_base(f"hf:{tmp_path}") == str(tmp_path)
    assert check_base("owner/name") == check_base("hf:owner/name") == "owner/name"
    with pytest.raises(InputError, match="merge the two first"):
        check_base("hf:owner/name+adapter")
    with pytest.raises(InputError, match="settings of its own"):
        check_base("hf:owner/name?dtype=bfloat16")
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "owner/name"}')
    with pytest.raises(InputError, match="training starts from a whole model"):
        check_base(str(tmp_path))


def test_curves_are_means_by_epoch() -> None:
    log = [
        {"loss": 4.0, "epoch": 0.5},
        {"loss": 2.0, "epoch": 1.0},
        {"eval_loss": 1.5, "epoch": 1.0},
        {"loss": 1.0, "epoch": 1.5},
    ]
    assert epoch_means(log) == [3.0, 1.0]
    assert epoch_means(log, "accuracy") == []
    assert logged(log, "eval_loss") == [1.5]


@pytest.mark.parametrize(
    "bad",
    [
        {"warmup": -1.0}, {"warmup": float("nan")}, {"weight_decay": float("inf")}, {"lora_dropout": 1.0},
        {"lora_targets": ()}, {"lora_targets": ("q_proj", " ")}, {"schedule": "square"}, {"precision": "int8"},
        {"max_steps": 0}, {"learning_rate": float("nan")}, {"method": "half"}, {"batch_size": 4, "micro_batch": 3},
    ],
)  # fmt: skip
def test_settings_out_of_range_are_input_errors(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=list(bad)[-1]):
        TrainingRecipe(**bad)


def test_rows_read_in_another_way_or_held_against_others_are_another_run() -> None:
    """The same bytes under another map of columns teach something else."""
    rows, dev = JsonBytes("rows.jsonl", b"{}"), JsonBytes("dev.jsonl", b'{"id": "a"}')
    recipe = TrainingRecipe(lora_targets=("q_proj",))
    mapped = run_order(RUN, recipe, rows, shape=Shape(ColumnMap({"answer": "text"})))
    assert ORDER["dev_sha256"] is None and run_order(RUN, recipe, rows, dev=dev)["dev_sha256"] is not None
    assert mapped == {**ORDER, "columns": {"answer": "text"}}
    assert run_order(RUN, recipe, rows, shape=Shape()) == ORDER
