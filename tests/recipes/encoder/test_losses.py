"""The losses against hand computations, and their direction."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from recipes.encoder.fit import contrastive, coverage_ranking, hallucination_ranking  # noqa: E402 - after the skip
from tests.rows import each  # noqa: E402

GOOD = torch.tensor([[0.9, 0.1, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 0.9]])
OWNER = torch.tensor([0, 1, 2])
ONE_CLAIM = torch.tensor([0, 0, 0])


def test_contrastive_by_hand() -> None:
    """Two arguments, one unit of the first: log(1 + exp(-(1 - 0) / 1)) towards the argument, 0 from it."""
    cosines = torch.tensor([[1.0], [0.0]])
    assert contrastive(cosines, torch.tensor([0]), 1.0).item() == pytest.approx(math.log(1 + math.exp(-1.0)) / 2)


def test_hallucination_by_hand() -> None:
    """Units with 0.9 given and 0.1 or 0.0 withheld; temperature 1; nine pairs."""
    expected = (6 * math.log(1 + math.exp(-0.8)) + 3 * math.log(1 + math.exp(-0.9))) / 9
    assert hallucination_ranking(GOOD, OWNER, ONE_CLAIM, 1.0).item() == pytest.approx(expected, rel=1e-5)


@each("loss", [coverage_ranking, hallucination_ranking])
def test_the_right_alignment_is_cheaper(loss: object) -> None:
    assert callable(loss)
    assert loss(GOOD, OWNER, ONE_CLAIM, 0.1) < loss(GOOD, OWNER.roll(1), ONE_CLAIM, 0.1)


@each("loss", [coverage_ranking, hallucination_ranking])
def test_claims_of_one_argument_cost_nothing_and_are_finite(loss: object) -> None:
    assert callable(loss)
    value = loss(GOOD.clone().requires_grad_(), OWNER, torch.tensor([0, 1, 2]), 0.1)
    value.backward()
    assert value.item() == 0.0
