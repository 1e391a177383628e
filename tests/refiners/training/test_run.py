"""Tuning a tiny Llama on preference pairs: what is learnt, what is left behind, and what an interruption costs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.run import refine
from eirene.core.errors import BackendError, InputError, MissingExtraError, TrainingStoppedError
from eirene.core.records import Item, Mode
from eirene.core.usage import Meter
from eirene.data.json_rows import read_source
from eirene.data.line_checksum import check_value
from eirene.models.local.model import LocalModel, load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.training import Step
from eirene.refiners.base import RefineTask
from eirene.refiners.model import LocalRefiner
from eirene.refiners.training import RefinerRecipe, train_refiner
from eirene.refiners.training.measure import rank, summarise
from eirene.refiners.training.pairs import read_pairs, split_pairs
from eirene.refiners.training.run import markdown
from tests.preference_rows import ROWS, encoded, write
from tests.tiny_llama import make_llama

QUICK = RefinerRecipe(epochs=4, batch_size=4, learning_rate=5e-2, lora_rank=4, lora_alpha=8, held_out=0.25)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), texts=map(str, ROWS), hidden=16, layers=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "pairs.jsonl")


@pytest.fixture(scope="module")
def tuned(base: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A finished run that the tests look at."""
    folder = tmp_path_factory.mktemp("tuned") / "out"
    return train_refiner(str(data), folder, base=str(base), recipe=QUICK, device="cpu")


def adapter_bytes(folder: Path) -> bytes:
    return b"".join((folder / name).read_bytes() for name in ("adapter_model.safetensors", "adapter_config.json"))


def test_the_preferred_replies_are_raised_and_more_on_the_way(tuned: Any) -> None:
    """Accuracy on the training pairs rises from nothing to all, the loss falls from ln 2, the held-out pairs follow."""
    figures = tuned.card["figures"]
    assert figures["train_accuracy"][-1] == 1.0 > figures["train_accuracy"][0]
    assert figures["train_loss"][-1] < 0.5 < figures["train_loss"][0] <= 0.6932
    held = figures["held_out"]
    assert held["before"]["loss"] == 0.6931
    assert held["after"]["loss"] < 0.6
    assert held["after"]["reward_accuracy"] == {"value": 1.0, "low": 0.3424, "high": 1.0}
    assert held["after"]["reward_margin"] > 0.3
    # Our own measurement against what TRL measured after the last epoch.
    assert figures["held_out_loss"][-1] == pytest.approx(held["after"]["loss"], abs=1e-3)


def test_likelihoods_before_and_after_are_those_of_the_models_on_disk(tuned: Any, base: Path, data: Path) -> None:
    """Ranked by the adapter as `hf:` loads it and by the base model alone: the figures that the card has."""
    _, held_out = split_pairs(read_pairs(read_source(str(data))), QUICK.held_out, seed=0)
    keys = {pair.key for pair in held_out}
    held = [pair for pair in encoded(base) if pair.key in keys]
    model, reference = (load_local(f"hf:{spec}", device="cpu").model for spec in (tuned.folder, base))
    rows = rank(model, held, at_once=3, filler=0, reference=reference)
    assert summarise(rows, beta=0.1) == tuned.card["figures"]["held_out"]


def test_the_same_seed_gives_the_same_adapter_to_the_byte(tuned: Any, base: Path, data: Path, tmp_path: Path) -> None:
    again = train_refiner(str(data), tmp_path / "out", base=str(base), recipe=QUICK, device="cpu")
    assert adapter_bytes(again.folder) == adapter_bytes(tuned.folder)
    assert again.card["figures"]["held_out"] == tuned.card["figures"]["held_out"]
    other = train_refiner(str(data), tmp_path / "other", base=str(base), recipe=QUICK, seed=1, device="cpu")
    assert adapter_bytes(other.folder) != adapter_bytes(tuned.folder)


def test_a_stopped_run_goes_on_to_the_same_bytes_and_the_same_figures(
    tuned: Any, base: Path, data: Path, tmp_path: Path
) -> None:
    steps: list[Step] = []
    arguments: dict[str, Any] = {"base": str(base), "recipe": QUICK, "device": "cpu", "progress": steps.append}
    with pytest.raises(TrainingStoppedError, match="stopped at step 4 of 8"):
        train_refiner(str(data), tmp_path / "out", should_stop=lambda: len(steps) >= 3, **arguments)
    resumed = train_refiner(str(data), tmp_path / "out", **arguments)
    assert [s.step for s in steps] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert adapter_bytes(resumed.folder) == adapter_bytes(tuned.folder)
    ours, theirs = resumed.card["figures"], tuned.card["figures"]
    assert ours["resumed_at_step"] == 4
    for name in ("held_out", "train_loss", "train_accuracy", "held_out_loss", "steps"):
        assert ours[name] == theirs[name]
    assert not (tmp_path / "out" / "checkpoints").exists()


def test_a_finished_run_is_not_trained_again(tuned: Any, base: Path, data: Path) -> None:
    steps: list[Step] = []
    again = train_refiner(str(data), tuned.folder, base=str(base), recipe=QUICK, device="cpu", progress=steps.append)
    assert (again.card, steps) == (tuned.card, [])


def test_the_folder_holds_an_adapter_its_prompt_and_a_card(tuned: Any, base: Path, data: Path) -> None:
    names = {p.name for p in tuned.folder.iterdir()}
    assert names == {
        "README.md", "adapter_config.json", "adapter_model.safetensors", "card.json", "eirene_prompt.json", "run.json",
        "tokenizer.json", "tokenizer_config.json",
    }  # fmt: skip
    card = check_value(json.loads((tuned.folder / "card.json").read_text()))
    assert card == tuned.card
    assert card["data"]["train"] == {"pairs": 6, "questions": 6, "longer_preferred": 6}
    assert (card["data"]["rows"], card["data"]["dropped"], card["data"]["held_out"]["pairs"]) == (8, {}, 2)
    prompt = json.loads((tuned.folder / "eirene_prompt.json").read_text())
    assert card["prompt"] == {"name": "refine_improve", "digest": prompt["digest"], "layout": "instruct"}
    assert prompt["role"] == "refiner"
    assert card["versions"]["trl"]
    assert card["figures"]["tokens_per_second"] > 0
    text = (tuned.folder / "README.md").read_text()
    assert text == markdown(card)
    assert card["data"]["sha256"] in text
    assert "`refine_improve`" in text
    tokenizer = json.loads((tuned.folder / "tokenizer_config.json").read_text())
    assert "pad_token" not in tokenizer  # TRL gives its copy one; the model's own stays as it was


def test_hf_refines_with_the_adapter_and_asks_in_the_prompt_that_it_carries(tuned: Any, base: Path) -> None:
    """In the mode of the prompt, in its words of that day; in other modes, and for critiques, in today's."""
    file = tuned.folder / "eirene_prompt.json"
    before = file.read_text()
    item = {"question": "is it 3?", "answer": "not enough 3", "perspectives": [{"name": "pro", "arguments": ["it is"]}]}
    backend = f"hf:{base}+{tuned.folder}"
    asked = {}
    try:
        for words in ("", "of that day "):
            carried = check_value(json.loads(before))
            file.write_text(json.dumps({**carried, "user": carried["user"].replace("Improve", f"{words}Improve")}))
            model = load_local(backend, device="cpu")
            for mode in ("improve", "generic"):
                asked[words, mode] = shown(model, mode)
            record = refine(item, backend=f"{backend}?device=cpu", mode="improve", max_rounds=1)
            assert (record.backend, record.status) == (backend, "kept")
            assert (record.answer, record.error) == ("not enough 3", None)
            assert record.usage.calls >= 1
            again = refine(
                item, backend=f"{backend}?device=cpu", mode="fine-grained", samples=3,
                backend_options={"structured": "text"},
            )  # fmt: skip
            assert again.status == "abstained"  # an untrained critic says nothing usable; the prompt was not in its way
    finally:
        file.write_text(before)
    assert "of that day Improve" in asked["of that day ", "improve"]
    assert asked["", "generic"] == asked["of that day ", "generic"]


def shown(model: LocalModel, mode: Mode) -> str:
    """What a refiner shows the model in a mode; what it says to that does not matter here."""
    seen: list[str] = []
    sample = model.sample

    async def keeping(ids: Sequence[int], *arguments: Any, **more: Any) -> Any:
        seen.append(str(model.tokenizer.decode(list(ids))))
        return await sample(ids, *arguments, **more)

    model.sample = keeping  # type: ignore[method-assign]  # a spy on one object, for one call
    item = Item(question="is it 3?", answer="not enough 3")
    refiner = LocalRefiner(model, sampling=LocalSampling(temperature=0.0, max_new_tokens=3))
    with contextlib.suppress(BackendError):  # three tokens end nothing
        asyncio.run(refiner.refine(RefineTask(item, item.answer, mode, None, (), seed=0), meter=Meter()))
    model.sample = sample  # type: ignore[method-assign]  # as above
    return seen[0]


def test_all_weights_can_be_tuned_too(base: Path, data: Path, tmp_path: Path) -> None:
    recipe = RefinerRecipe(method="full", epochs=2, batch_size=4, learning_rate=3e-3, held_out=0.25)
    card = train_refiner(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu").card
    held = card["figures"]["held_out"]
    assert held["before"]["loss"] == 0.6931 > held["after"]["loss"]
    assert card["figures"]["held_out_loss"][-1] == pytest.approx(held["after"]["loss"], abs=1e-3)
    assert load_local(f"hf:{tmp_path / 'out'}", device="cpu").name == f"hf:{tmp_path / 'out'}"


def test_memory_is_saved_without_changing_what_is_learnt(tuned: Any, base: Path, data: Path, tmp_path: Path) -> None:
    """Parts of a batch and recomputed activations: the same curve as the whole batch, up to rounding."""
    recipe = replace(QUICK, micro_batch=2, gradient_checkpointing=True)
    card = train_refiner(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu").card
    assert card["figures"]["train_loss"] == pytest.approx(tuned.card["figures"]["train_loss"], abs=0.02)


def test_bf16_computes_the_same_less_exactly(tuned: Any, base: Path, data: Path, tmp_path: Path) -> None:
    recipe = replace(QUICK, precision="bf16", dtype="bfloat16")
    figures = train_refiner(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu").card["figures"]
    assert figures["precision"] == "bf16"
    exact = tuned.card["figures"]["train_loss"]
    assert figures["train_loss"] != exact
    assert figures["train_loss"] == pytest.approx(exact, abs=0.1)


def test_what_is_left_out_is_counted_in_the_card_and_warned_of(
    base: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = [
        {**ROWS[0], "question": "same?", "rejected_response": ROWS[0]["preferred_response"]},
        {**ROWS[0], "question": "empty?", "rejected_response": ""},
        {**ROWS[0], "question": "long?", "preferred_response": "reasons " * 900},
    ]
    data = write(tmp_path / "pairs.jsonl", ROWS + odd)
    recipe = replace(QUICK, epochs=1, held_out=0.0)
    card = train_refiner(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu").card
    assert card["data"]["dropped"] == {"a side is empty": 1, "both sides are the same": 1, "longer than max_tokens": 1}
    assert (card["data"]["rows"], card["data"]["train"]["pairs"]) == (11, 8)
    assert card["figures"]["held_out"] is None
    assert "3 of 11 pairs are left out: 1 because a side is empty" in caplog.text
    text = (tmp_path / "out" / "README.md").read_text()
    assert "left out: 1, longer than max_tokens" in text
    assert "not measured: nothing was held out" in text


@pytest.mark.parametrize(
    ("rows", "settings", "said"),
    [
        (
            [{**ROWS[0], "rejected_response": ""}],
            {},
            "none of the 1 pairs can be learnt from: 1 because a side is empty",
        ),
        (ROWS[:1], {}, r"held_out = 0\.25 of 1 question leaves none to train on"),
        (ROWS, {"max_tokens": 20}, "pairs to train on are longer than max_tokens = 20"),
        (ROWS, {"lora_targets": ("c_attn",)}, "no layer c_attn"),
        (ROWS, {"learning_rate": 1e30}, "is not a number; lower the learning rate"),
    ],
)
def test_a_run_that_cannot_be_is_an_input_error(
    rows: list[dict[str, Any]], settings: dict[str, Any], said: str, base: Path, tmp_path: Path
) -> None:
    data = write(tmp_path / "pairs.jsonl", rows)
    recipe = replace(QUICK, **settings)
    with pytest.raises(InputError, match=said):
        train_refiner(str(data), tmp_path / "out", base=str(base), recipe=recipe, device="cpu")


@pytest.mark.parametrize(
    "bad",
    [{"beta": 0.0}, {"beta": float("nan")}, {"held_out": 1.0}, {"held_out": -0.1}, {"prompt": "x"}, {"layout": "x"}],
)
def test_settings_out_of_range_are_input_errors(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(bad))):
        RefinerRecipe(**bad)


def test_the_defaults_are_the_authors() -> None:
    """The LoRA command in the README of UKPLab/arxiv2024-lfqa-hallucination; its script's batches are 4 times 4."""
    r = RefinerRecipe()
    assert (r.method, r.lora_rank, r.lora_alpha, r.epochs, r.rate, r.weight_decay, r.warmup, r.schedule, r.beta) == (
        "lora", 256, 128, 5, 5e-5, 0.0, 0.1, "cosine", 0.1,
    )  # fmt: skip
    assert (r.batch_size, r.max_tokens, r.lora_targets) == (16, 1024, ("q_proj", "k_proj", "v_proj"))


def test_a_missing_package_names_its_extra(
    base: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "trl", None)  # what Python itself keeps for a module that is not to be had
    with pytest.raises(MissingExtraError, match=r"pip install 'eirene\[train\]'"):
        train_refiner(str(data), tmp_path / "out", base=str(base), device="cpu")
