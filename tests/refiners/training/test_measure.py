"""The figures of preference tuning, and that TRL computes what DPO says: against numbers worked out by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from statsmodels.stats.proportion import proportion_confint

from eirene.models.local.checkpoint import load_tokenizer
from eirene.models.local.model import load_local
from eirene.models.training.examples import EncodedExample
from eirene.models.training.folder import TrainingRun
from eirene.refiners.training.examples import RefinerRecipe, collate_pairs, columns
from eirene.refiners.training.fit import make_trainer, quiet_trl
from eirene.refiners.training.measure import RankedPair, rank, summarise, wilson
from tests.preference_rows import ROWS, encoded
from tests.tiny_llama import make_llama


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), texts=map(str, ROWS), hidden=16, layers=1)


def log_p(model: Any, example: EncodedExample) -> float:
    """The log-probability of a reply: the sum over its own tokens, the end token included, the prompt left out."""
    with torch.no_grad():
        logits = model(torch.tensor([list(example.ids)])).logits[0].tolist()
    total = 0.0
    for at in range(example.n_prompt, len(example.ids)):
        row = logits[at - 1]
        total += row[example.ids[at]] - math.log(sum(math.exp(v) for v in row))
    return total


@pytest.mark.parametrize("method", ["lora", "full"])
def test_trl_computes_the_dpo_loss_of_the_paper(method: Literal["lora", "full"], base: Path, tmp_path: Path) -> None:
    """Rafailov et al. 2023, eq. 7, by hand on one batch of three pairs, of a model that has moved.

    -log sigmoid(beta * ((log p(chosen) - log ref(chosen)) - (log p(rejected) - log ref(rejected)))), mean over pairs.
    """
    pairs, beta = encoded(base)[:3], 0.3
    recipe = RefinerRecipe(method=method, batch_size=3, lora_rank=4, lora_alpha=8, beta=beta)
    run = TrainingRun(str(base), tmp_path, seed=0, device="cpu")
    trainer: Any = make_trainer(pairs, [], run, recipe=recipe, tokenizer=load_tokenizer(str(base)), device="cpu")
    noise = torch.Generator().manual_seed(1)
    with torch.no_grad(), quiet_trl():
        for p in trainer.model.parameters():
            p.add_(p.requires_grad * 0.05 * torch.randn(p.shape, generator=noise))
        loss = trainer.compute_loss(trainer.model, collate_pairs([columns(p) for p in pairs], filler=0)).item()
    reference = load_local(f"hf:{base}", device="cpu").model
    by_hand = []
    for pair in pairs:
        chosen, rejected = (log_p(trainer.model, e) - log_p(reference, e) for e in (pair.chosen, pair.rejected))
        by_hand.append(math.log1p(math.exp(-beta * (chosen - rejected))))
    assert abs(sum(by_hand) / 3 - math.log(2)) > 1e-3  # it has moved: the check can fail
    assert loss == pytest.approx(sum(by_hand) / 3, abs=1e-4)


def test_under_lora_the_reference_is_the_model_with_its_adapter_off(base: Path, tmp_path: Path) -> None:
    """No second copy, of the model or of the adapter."""
    run = TrainingRun(str(base), tmp_path, seed=0, device="cpu")
    trainer: Any = make_trainer(
        encoded(base), [], run, recipe=RefinerRecipe(lora_rank=4), tokenizer=load_tokenizer(str(base)), device="cpu"
    )
    assert trainer.ref_model is None
    assert list(trainer.model.peft_config) == ["default"]


def test_a_row_holds_the_log_likelihoods_of_both_replies_by_both_models(base: Path, tmp_path: Path) -> None:
    """Batched and padded here, one by one and by hand there."""
    model = load_local(f"hf:{make_llama(tmp_path, texts=map(str, ROWS), hidden=16, layers=1, seed=5)}", device="cpu")
    reference = load_local(f"hf:{base}", device="cpu")
    pairs = encoded(base)[:3]
    for pair, row in zip(pairs, rank(model.model, pairs, at_once=2, filler=0, reference=reference.model), strict=True):
        by_hand = [log_p(m.model, side) for m in (model, reference) for side in (pair.chosen, pair.rejected)]
        assert [row.chosen, row.rejected, row.chosen_before, row.rejected_before] == pytest.approx(by_hand, abs=1e-3)
        assert (row.key, row.n_chosen) == (pair.key, len(pair.chosen.ids) - pair.chosen.n_prompt)


def test_figures_are_functions_of_the_rows() -> None:
    """By hand: rewards 0.1 * (2, -1, 0), losses ln(1 + e^-r); two questions make the interval that of two."""
    rows = [
        RankedPair("a", -8.0, -12.0, -10.0, -12.0, 5, 4),  # raised by 2; likelier before and after; longer
        RankedPair("a", -11.0, -10.0, -10.0, -10.0, 4, 4),  # sunk by 1; a tie before, less likely after; as long
        RankedPair("b", -20.0, -10.0, -20.0, -10.0, 5, 10),  # as it was; less likely, -4 against -1 per token; shorter
    ]
    found = summarise(rows, beta=0.1)
    assert (found["pairs"], found["questions"]) == (3, 2)
    expected = sum(math.log(1 + math.exp(-r)) for r in (0.2, -0.1, 0.0)) / 3
    assert found["after"]["loss"] == pytest.approx(expected, abs=1e-4)
    assert found["after"]["reward_margin"] == pytest.approx(0.1 / 3, abs=1e-4)
    value = {name: found["after"][name]["value"] for name in ("reward_accuracy", "preference_accuracy")}
    assert value == {"reward_accuracy": 0.5, "preference_accuracy": 0.3333}
    assert found["before"]["preference_accuracy"]["value"] == 0.5
    assert found["before"]["preference_accuracy_per_token"]["value"] == pytest.approx(0.5)
    assert found["longer_preferred"]["value"] == 0.5


def test_the_interval_is_wilsons() -> None:
    """statsmodels' proportion_confint(method="wilson") is the other implementation."""
    for hits, n in ((0, 3), (3, 3), (31, 49), (1, 2)):
        assert wilson(hits / n, n) == pytest.approx(proportion_confint(hits, n, method="wilson"), abs=1e-6)
